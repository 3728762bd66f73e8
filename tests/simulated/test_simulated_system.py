"""The simulated system does what queueing theory and E4 say it does."""

from dataclasses import replace

import numpy as np
import pytest

from keisoku.subjects.system.govern.inference import Inference
from keisoku.subjects.system.simulated.model import ClientModel, ServerModel, SystemModel, e4
from keisoku.subjects.system.simulated.system import SimulatedSystem
from keisoku.subjects.system.state import State


def observed(model, limits=(), seconds=5, settle=5, seed=1):
    system = SimulatedSystem(model, seed)
    system.limit(dict(limits))
    system.run(settle)
    return system.run(seconds), system.truth


def steady(model):
    return replace(model, server=replace(model.server, unsteady=0.0))


def test_total_of_e4_has_its_maximum_at_420_mbps():
    totals = {}
    for limit in (200, 380, 400, 420, 440, 600, None):
        at, _ = observed(e4(), {"fast": limit and limit * 1e6}, seconds=5)
        totals[limit] = at.requests_per_second
    assert max(totals, key=totals.__getitem__) == 420
    assert totals[420] > 1.08 * totals[None]
    rising = [totals[limit] for limit in (200, 380, 400, 420)]
    assert rising == sorted(rising)


def test_neither_part_of_e4_is_at_its_own_best_where_the_total_is():
    parts = {}
    for limit in (100e6, 420e6, None):
        at, _ = observed(steady(e4()), {"fast": limit}, seconds=5)
        parts[limit] = (at.clients[0].completed, sum(client.completed for client in at.clients[1:]))
    assert parts[None][0] > parts[420e6][0] > parts[100e6][0]
    assert parts[None][1] < 0.7 * parts[420e6][1]


def test_single_connection_takes_its_times_one_after_another():
    client = ClientModel("a", 1, 1e9, 10_000, work_s=2e-3, pause_s=3e-3, round_trip_s=0.5e-3)
    at, _ = observed(steady(SystemModel(ServerModel(request_s=1e-3, crowd=1e9), (client,))), seconds=200)
    cycle_s = 2e-3 + 3e-3 + 2 * 0.5e-3 + 1e-3 + client.answer_bits / 1e9
    assert at.requests_per_second == pytest.approx(1 / cycle_s, rel=0.03)


def test_many_connections_are_bound_by_the_slowest_station():
    client = ClientModel("a", 64, 1e9, 10_000)
    at, truth = observed(steady(SystemModel(ServerModel(request_s=1e-3, crowd=1e9), (client,))), seconds=20)
    assert at.requests_per_second == pytest.approx(1000, rel=0.03)
    assert truth.state("a") is State.SERVER_BOUND
    at, truth = observed(steady(SystemModel(ServerModel(request_s=1e-6), (client,))), {"a": 10e6}, seconds=20)
    assert at.bits_per_second == pytest.approx(10e6, rel=0.03)
    assert truth.state("a") is State.NETWORK_BOUND


def test_accept_queue_that_overflows_drops_syns_and_they_come_again():
    client = ClientModel("a", 400, 1e9, 1000)
    server = ServerModel(request_s=1e-4, crowd=1e9, slots=64, backlog=128)
    at, truth = observed(steady(SystemModel(server, (client,))), seconds=20, settle=20)
    assert truth.syns_dropped > 0.005 and at.clients[0].reopened > 0
    assert truth.state("a") is State.OVERLOADED
    assert at.clients[0].p99_s > 1, "one in a hundred waits for a retransmission of 1 s"
    roomy = replace(server, backlog=511)
    at, truth = observed(steady(SystemModel(roomy, (client,))), seconds=20, settle=20)
    assert truth.syns_dropped == 0 and at.clients[0].reopened == 0


@pytest.mark.parametrize("seed", range(3))
def test_connections_are_never_lost_or_made(seed):
    system = SimulatedSystem(e4(fast_connections=2000), seed)
    for limit in (None, 300e6, 50e6, None):
        system.limit({"fast": limit})
        at = system.run(2)
        truth = system.truth
        assert truth is not None
        for client, view in zip(system.model.clients, at.clients, strict=True):
            assert truth.clients[client.name].at_client > -1e-6
            assert view.open_connections <= client.connections + 1e-6
            assert view.sent_bytes * 8 / 2 <= 1.05 * client.capacity_bps(system.limits.get(client.name))


def test_same_seed_shows_the_same():
    first, second = (observed(e4(), {"fast": 5e8}, seed=7)[0] for _ in range(2))
    assert first == second
    assert observed(e4(), {"fast": 5e8}, seed=8)[0] != first


def test_change_of_load_shows_at_once():
    system = SimulatedSystem(e4(), 1)
    before = system.run(5).clients[0].completed
    system.change(e4().with_connections({"fast": 1}))
    assert system.run(5).clients[0].completed < before / 4
    assert system.truth is not None and np.isfinite(system.truth.server_busy)


def test_link_of_the_server_is_shared_by_all():
    clients = tuple(ClientModel(name, 50, 10e9, 1_000_000) for name in ("a", "b"))
    at, truth = observed(steady(SystemModel(ServerModel(request_s=1e-6), clients)), seconds=20)
    assert at.bits_per_second == pytest.approx(10e9, rel=0.02)
    assert truth.whole is State.NETWORK_BOUND
    inference = Inference()
    inference.observe(at)
    assert inference.whole.state is State.NETWORK_BOUND and "all clients share" in inference.whole.why
