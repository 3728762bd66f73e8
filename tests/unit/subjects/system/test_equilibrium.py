"""The equilibrium of a closed network against exact mean value analysis (Reiser and Lavenberg 1980)."""

import numpy as np
import pytest

from keisoku.errors import PlanError
from keisoku.subjects.system.search.sweep import limit_sweep
from keisoku.subjects.system.simulated.equilibrium import solve
from keisoku.subjects.system.simulated.model import ClientModel, ServerModel, SystemModel


def exact(customers, demands, pause_s):
    """Requests/s of a closed network with one class, and the customers at each of its queues."""
    queues = np.zeros(len(demands))
    for n in range(1, customers + 1):
        times = np.asarray(demands) * (1 + queues)
        rate = n / (pause_s + times.sum())
        queues = rate * times
    return rate, queues


@pytest.mark.parametrize("connections", [1, 2, 5, 20, 100, 500])
@pytest.mark.parametrize("limit", [None, 100e6, 20e6])
@pytest.mark.parametrize("pause_s", [0.0, 0.05])
def test_one_client_against_the_exact_solution(connections, limit, pause_s):
    client = ClientModel("a", connections, 1e9, 10_000, work_s=0.4e-3, pause_s=pause_s, round_trip_s=0.1e-3)
    model = SystemModel(ServerModel(request_s=1e-3, crowd=1e9), (client,))
    demands = (1e-3, client.answer_bits / client.capacity_bps(limit), 0.4e-3)
    rate, queues = exact(connections, demands, pause_s + 0.2e-3)
    zero = np.zeros(1)
    flow = solve(model, {"a": limit}, np.asarray([float(connections)]), (zero, zero, zero), 0.0, 0.0)
    # Bard and Schweitzer: a few per cent, worst where two stations are about as slow.
    assert flow.rates[0] == pytest.approx(rate, rel=0.06)
    assert flow.at_server[0] == pytest.approx(queues[0], rel=0.15, abs=0.06 * connections)


def test_clients_alike_get_alike_and_nobody_is_served_who_is_not_there():
    clients = tuple(ClientModel(name, 50, 1e9, 1000) for name in "abc")
    model = SystemModel(ServerModel(request_s=1e-4), clients)
    present = np.asarray([50.0, 50.0, 0.0])
    flow = solve(model, {}, present, (np.zeros(3), np.zeros(3), np.zeros(3)), 0.0, 0.0)
    assert flow.rates[0] == pytest.approx(flow.rates[1]) and flow.rates[2] == 0
    assert flow.at_server.sum() <= 100.01


def test_crowding_and_dropped_syns_cost_the_server_what_they_are_said_to():
    client = ClientModel("a", 1000, 10e9, 100)
    present, zero = np.asarray([1000.0]), np.zeros(1)

    def rate(crowd, dropped):
        model = SystemModel(ServerModel(request_s=1e-4, crowd=crowd, syn_s=1e-5), (client,))
        return solve(model, {}, present, (zero, zero, zero), 0.0, dropped).rates[0]

    assert rate(1e9, 0.0) == pytest.approx(10_000, rel=0.01)
    assert rate(1000.0, 0.0) == pytest.approx(5_000, rel=0.02), "a thousand connections at a crowd of a thousand"
    assert rate(1e9, 20_000.0) == pytest.approx(8_000, rel=0.01), "a fifth of its time goes to SYNs"


def test_sweep_tries_every_limit_in_random_order_and_keeps_theirs():
    limits = [1e6, 2e6, None]
    sweep = limit_sweep(limits, 4, seed=3)
    order, asked = [], next(sweep)
    while True:
        order.append(asked.limit)
        try:
            asked = sweep.send(0.0 if asked.limit is None else asked.limit / 1e6 + 0.1 * (len(order) % 2))
        except StopIteration as end:
            points = end.value
            break
    assert [point.limit for point in points] == limits and all(point.evaluations == 4 for point in points)
    assert sorted(order, key=str) == sorted(limits * 4, key=str) and order != limits * 4
    assert points[2].mean == 0 and points[2].error == 0
    assert 1 <= points[0].mean <= 1.1 and 2 <= points[1].mean <= 2.1
    with pytest.raises(PlanError):
        next(limit_sweep([], 1))
