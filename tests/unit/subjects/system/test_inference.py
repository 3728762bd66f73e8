"""What bounds a client, from counters written by hand; and when a change is one."""

import numpy as np
import pytest

from keisoku.subjects.system.govern.change_watch import ChangeWatch
from keisoku.subjects.system.govern.governor import GovernorSettings, Phase, govern
from keisoku.subjects.system.govern.inference import Inference
from keisoku.subjects.system.govern.seen_load import seen_load
from keisoku.subjects.system.objective import Goal, Objective
from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.search.candidate import Candidates
from keisoku.subjects.system.state import State, whole


def view(completed, answering_s, open_connections, queued=0.0, limit=None, reopened=0, name="a"):
    """Of a second; answers of 10 kbit each."""
    return ClientView(
        name, 1e9, limit, completed * 1250, queued * 1250, completed, reopened, completed, open_connections,
        completed * answering_s, 0.1,
    )  # fmt: skip


def learnt():
    """Light load, then all that the client can ask for, then a server at its best with few connections."""
    inference = Inference()
    inference.observe(Observation(1.0, (view(100, 0.001, 0.1),)))
    inference.observe(Observation(1.0, (view(20_000, 0.002, 40),)))
    inference.observe(Observation(1.0, (view(10_000, 0.01, 100),)))
    return inference


@pytest.mark.parametrize(
    ("seen", "state", "reason"),
    [
        (view(0, 0, 0), State.IDLE, "0% of its highest observed rate"),
        (view(50, 0.001, 0.05), State.IDLE, "50 requests/s"),
        (view(15_000, 0.002, 30), State.CLIENT_BOUND, "no more than 15,000 requests/s"),
        (view(4_990, 0.002, 200, queued=190, limit=50e6), State.NETWORK_BOUND, "100% of 50 Mb/s"),
        (view(10_500, 0.02, 210), State.SERVER_BOUND, "no higher rate was observed"),
        (view(9_000, 0.1, 900), State.OVERLOADED, "did 10,000 with fewer"),
        (view(10_000, 0.1, 1000, reopened=100), State.OVERLOADED, "1.0% of SYNs"),
    ],
)
def test_states_by_hand(seen, state, reason):
    found = learnt().observe(Observation(1.0, (seen,)))["a"]
    assert found.state is state and reason in found.why


def test_kept_connections_and_datagrams_are_judged_by_their_bytes():
    def carried(name, megabits, line_bps, passed):
        sent, before = round(megabits * 1e6 / 8), round(passed * 1e6 / 8)
        return ClientView(name, line_bps, None, sent, 0.0, 0, 0, 0, 8.0, 0.0, None, before, 100e6)

    inference = Inference()
    wasted = Observation(1.0, (carried("a", 19.8, 20e6, 97), carried("b", 21, 75e6, 97)))
    states = inference.observe(wasted)
    assert states["a"].state is State.NETWORK_BOUND and "99% of 20 Mb/s" in states["a"].why
    assert states["b"].state is State.NETWORK_BOUND and "97% of 100 Mb/s" in states["b"].why
    assert inference.whole.state is State.NETWORK_BOUND and inference.whole.why.startswith("b:")
    states = inference.observe(Observation(1.0, (carried("a", 0.1, 20e6, 31), carried("b", 30, 75e6, 31))))
    assert [states[name].state for name in "ab"] == [State.IDLE, State.CLIENT_BOUND]


def test_nothing_seen_is_idle_from_the_first_interval():
    assert Inference().observe(Observation(1.0, (view(0, 0, 0),)))["a"].state is State.IDLE


@pytest.mark.parametrize("seed", range(5))
def test_steady_figures_are_no_change(seed):
    random = np.random.default_rng(seed)
    watch = ChangeWatch(["a", "b"])
    assert not any(watch.tell(0.05 * random.standard_normal(2)) for _ in range(1000))


@pytest.mark.parametrize("seed", range(5))
def test_step_is_noticed_within_ten_intervals_and_named(seed):
    random = np.random.default_rng(seed)
    watch = ChangeWatch(["a", "b"])
    for _ in range(50):
        assert watch.tell(0.02 * random.standard_normal(2)) is None
    told = [watch.tell(0.02 * random.standard_normal(2) - [0, 0.2]) for _ in range(10)]
    assert "b" in told


@pytest.mark.parametrize("at", range(2, 9))
def test_step_in_the_reference_itself_is_noticed(at):
    random = np.random.default_rng(at)
    watch = ChangeWatch(["a", "b"])
    told = [watch.tell(0.02 * random.standard_normal(2) + [0.5 * (row >= at), 0]) for row in range(20)]
    assert "a" in told


def test_one_stall_is_no_change():
    watch = ChangeWatch(["a"])
    for _ in range(20):
        assert watch.tell([1.0]) is None
    assert watch.tell([-9.0]) is None
    assert all(watch.tell([1.0]) is None for _ in range(20))


SPACE = Candidates(10e6, 1e9)


def waste(limit, other):
    """Mb/s of a client that sends 500 Mb/s to a link of 100 behind one of 600 that it shares, and of another client."""
    sent = 500.0 if limit is None else min(500.0, limit / 1e6)
    return min(100.0, sent), min(500 * other, 600 - sent)


def run(intervals, seed=1):
    """A governor over that system; the other client asks for as much as each interval says."""
    random = np.random.default_rng(seed)
    governor = govern(Objective(Goal.SUM_BYTES), SPACE, GovernorSettings())
    command, given = next(governor), []
    for other in intervals:
        given.append(command)
        noise = np.exp(0.02 * random.standard_normal(2))
        rates = [round(rate * 1e6 / 10e3) for rate in np.asarray(waste(command.limit, other)) * noise]
        views = (view(rates[0], 0.001, 1, name="a"), view(rates[1], 0.001, 1, name="b"))
        command = governor.send(Observation(1.0, views))
    return given


def test_limit_is_found_and_held_without_end():
    given = run([1.0] * 1800)
    held = {command.limit for command in given[120:] if command.phase is Phase.HOLD}
    assert len(held) == 1 and 80e6 < next(iter(held)) < 125e6
    assert "it gains" in given[119].why or "searched before" in given[119].why
    assert not any(command.phase is Phase.SEARCH for command in given[120:])


def test_new_load_is_looked_at_and_searched():
    given = run([1.0] * 200 + [0.02] * 200)
    after = given[200:]
    assert Phase.LOOK in {command.phase for command in after[:20]}
    assert Phase.SEARCH in {command.phase for command in after[:30]}
    assert after[-1].phase is Phase.HOLD
    # The other client asks for little, so there is nothing to gain from limiting the first.
    assert after[-1].limit is None or after[-1].limit > 80e6


def test_never_below_the_floor():
    assert all(command.limit is None or command.limit >= 10e6 for command in run([1.0] * 100 + [0.3] * 100))


def test_no_search_where_nobody_waits_once_it_is_known_what_waiting_looks_like():
    governor = govern(Objective(Goal.SUM_REQUESTS), SPACE, GovernorSettings())
    command, given = next(governor), []
    for interval in range(200):
        heavy = interval < 100
        # Under the heavy load answers are quick only with a limit; under the light one nobody waits.
        slow = heavy and (command.limit is None or command.limit > 100e6)
        views = [
            view(5000 if slow or not heavy else 8000, 0.05 if slow else 0.001, 250 if slow else 5, name=name)
            for name in "ab"
        ]
        given.append(command)
        command = governor.send(Observation(1.0, tuple(views)))
    assert any(command.phase is Phase.SEARCH for command in given[:20])
    assert given[99].limit is not None and given[99].phase is Phase.HOLD
    assert not any(command.phase is Phase.SEARCH for command in given[100:])
    assert given[-1].limit is None and "only reduce rates" in given[-1].why
    assert given[-1].states["a"].state is State.CLIENT_BOUND


def test_whole_is_bound_by_the_server_if_any_client_is():
    assert whole([(State.CLIENT_BOUND, 1e6), (State.OVERLOADED, 1.0)]) is State.OVERLOADED
    assert whole([(State.NETWORK_BOUND, 10.0), (State.CLIENT_BOUND, 1.0), (State.IDLE, 50.0)]) is State.NETWORK_BOUND
    assert whole([(State.IDLE, 0.0)]) is State.IDLE and whole([]) is State.IDLE


def test_load_is_recognised_as_well_as_it_is_known():
    def load(*numbers):
        return seen_load([Observation(1.0, (view(number, 0.001, 1),)) for number in numbers])

    assert load(10_000, 10_100, 9_900).alike(load(10_050, 10_060, 10_070))
    assert not load(10_000, 10_100, 9_900).alike(load(12_000, 12_100, 11_900))
    assert load(10_000, 12_000, 8_000).alike(load(11_000, 12_100, 11_900)), "too unsteady to tell"
    assert load(0, 1, 0).alike(load(2, 0, 1)), "a request more or less is no other load"


def test_loads_of_datagrams_are_told_apart_by_their_bytes():
    def load(*megabits):
        views = (ClientView("a", 1e9, None, round(m * 1e6 / 8), 0.0, 0, 0, 0, 0.0, 0.0, None) for m in megabits)
        return seen_load([Observation(1.0, (one,)) for one in views])

    assert load(90, 91, 89).alike(load(90, 90, 92))
    assert not load(90, 91, 89).alike(load(45, 46, 44))
    assert load(0, 0.1, 0).alike(load(0.1, 0, 0.1))
