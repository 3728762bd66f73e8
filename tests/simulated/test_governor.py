"""The governor and what it infers, on simulated systems whose truth is known."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from keisoku.subjects.system.govern.governor import Command, GovernorSettings, Phase, _hold, govern
from keisoku.subjects.system.govern.inference import Inference
from keisoku.subjects.system.govern.seen_load import SeenLoad, seen_load
from keisoku.subjects.system.objective import Goal, Objective
from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.search.candidate import Candidates
from keisoku.subjects.system.search.search import SearchSettings, limit_search
from keisoku.subjects.system.simulated.model import e4
from keisoku.subjects.system.simulated.system import SimulatedSystem

SPACE = Candidates(100e6, 10e9)
FEW = {"slow2": 0, "slow3": 0, "slow4": 0}


def governed(minutes, seed, interval_s=1):
    """Runs a governor through minutes of the loads; requests/s, commands and the last of them, by minute."""
    system = SimulatedSystem(e4(), seed)
    governor = govern(Objective(Goal.SUM_REQUESTS), SPACE, GovernorSettings(), ("fast",))
    command = next(governor)
    found = []
    for load in minutes:
        system.change(e4().with_connections(load))
        done, commands = [], []
        for _ in range(60):
            system.limit({"fast": command.limit})
            at = system.run(interval_s)
            done.append(at.requests_per_second)
            commands.append(command)
            command = governor.send(at)
        found.append((float(np.mean(done[-10:])), commands))
    return found


def test_search_finds_the_limit_of_e4_and_confirms_it():
    system, objective = SimulatedSystem(e4(), 2), Objective(Goal.SUM_REQUESTS)
    search = limit_search(SPACE, SearchSettings(seed=2))
    asked = next(search)
    while True:
        system.limit({"fast": asked.limit})
        system.run(1)
        try:
            asked = search.send(objective.score(system.run(1)))
        except StopIteration as end:
            found = end.value
            break
    assert found.limit == pytest.approx(420e6, rel=0.05)
    assert found.gain.lower > 0.05


def static(load, limit, seed=1):
    system = SimulatedSystem(e4().with_connections(load), seed)
    system.limit({"fast": limit})
    system.run(3)
    return system.run(5).requests_per_second


def test_load_steps_are_followed_and_a_known_load_needs_no_search():
    minutes = governed([{}, {}, FEW, FEW, {}], 1)
    commands = [command for _, each in minutes for command in each]
    assert all(command.limit is None or command.limit >= SPACE.floor_bps for command in commands)
    assert (
        minutes[1][1][-1].phase is Phase.HOLD
        and minutes[3][1][-1].phase is Phase.HOLD
        and minutes[4][1][-1].phase is Phase.HOLD
    )
    best = max(static({}, limit) for limit in (380e6, 400e6, 420e6, 440e6, None))
    # A search of 16 evaluations ends where another per cent or two is all that it believes is left.
    assert minutes[4][0] > 0.95 * best
    assert minutes[4][0] > 1.05 * static({}, None)
    phases = Counter(command.phase for command in minutes[4][1])
    assert phases[Phase.SEARCH] == 0, "this load was searched in the first minute"
    noticed = next(i for i, command in enumerate(minutes[4][1]) if command.phase is not Phase.HOLD)
    held = [command.limit for command in minutes[4][1][noticed:] if command.phase is Phase.HOLD]
    assert len(set(held)) == 1, "it oscillates"


def stepped(at, intervals):
    """The phases of a governor that searches while the load changes in interval `at`, and its last command."""
    system, loop = SimulatedSystem(e4(), 3), govern(Objective(Goal.SUM_REQUESTS), SPACE, GovernorSettings(), ("fast",))
    command, phases = next(loop), []
    for interval in range(intervals):
        if interval == at:
            system.change(e4().with_connections(FEW))
        phases.append(command.phase)
        system.limit({"fast": command.limit})
        command = loop.send(system.run(1))
    return phases, command


@pytest.mark.parametrize(
    "after", [-1, 0, 2, *(pytest.param(other, marks=pytest.mark.long) for other in (-6, -3, 1, 4))]
)
def test_load_that_changes_as_the_search_ends_is_not_mistaken_for_the_one_that_was_searched(after):
    searched = stepped(None, 60)[0].index(Phase.HOLD)
    phases, last = stepped(searched + after, searched + after + 20)
    assert phases[searched + after :].count(Phase.LOOK) >= 4, "what load it is was not looked at"
    assert last.limit is None or last.phase is not Phase.HOLD, "a limit is held that was found for another load"


def interval(requests):
    return Observation(1.0, (ClientView("a", 1e9, None, 100 * requests, 0.0, requests, 0, requests, 1.0, 1.0, 0.1),))


def held_until_noticed(expected, shown):
    """Intervals until the governor no longer holds a limit; None if it holds it to the end."""
    loop = _hold(Objective(), GovernorSettings(), Command(1e8, Phase.HOLD, ""), 10.0, expected)
    next(loop)
    for number, requests in enumerate(shown):
        try:
            loop.send(interval(requests))
        except StopIteration:
            return number
    return None


def test_change_within_the_first_intervals_of_holding_is_noticed():
    before = seen_load([interval(requests) for requests in (10_000, 10_100, 9_900)])
    # The first interval settles. The next three scatter so much that they are like any load; all later ones are alike.
    assert held_until_noticed(before, [10_000, 10_000, *[7_500] * 30]) <= 8
    assert held_until_noticed(before, [10_000, 10_000, *[9_900, 10_050] * 30]) is None


def test_load_that_scatters_is_not_any_load():
    few, many = SeenLoad((5.0,), 0.0), SeenLoad((8.0,), 2.0)
    assert not few.alike(many) and many.alike(SeenLoad((8.3,), 0.0))


def shuffled(random):
    """E4's system under any load: connections and pauses of every client at random."""

    def of(client):
        numbers = (0, 1, 20, 200, 500, 1000, 1500) if client.name == "fast" else (0, 1, 10, 50, 100, 200)
        pauses = (0, 0, 0, 0, 0.01, 0.1, 1.0)
        return replace(client, connections=int(random.choice(numbers)), pause_s=float(random.choice(pauses)))

    return replace(e4(), clients=tuple(of(client) for client in e4().clients))


@pytest.mark.parametrize("seed", [11, 12])
def test_states_are_inferred_without_asking_a_host(seed):
    random = np.random.default_rng(seed)
    system, inference = SimulatedSystem(e4(), seed), Inference()
    right, right_whole = [], []
    for interval in range(100):
        system.change(shuffled(random))
        system.limit(
            {
                client.name: float(np.exp(random.uniform(np.log(20e6), np.log(client.line_bps))))
                for client in system.model.clients
                if random.random() < 0.5
            }
        )
        system.run(0.2)
        found = inference.observe(system.run(0.5))
        if interval >= 20:  # what is usual has to be learnt first
            assert system.truth is not None
            right += [system.truth.state(name) is one.state for name, one in found.items()]
            right_whole.append(system.truth.whole is inference.whole.state)
            assert all(one.why for one in found.values())
    assert np.mean(right_whole) >= 0.9
    assert np.mean(right) >= 0.85
