"""A virtual day of the governor: E4's simulated system under a load that is another one every minute.

Beside what the governor reached stands what the best limit that never changes would have reached (found by trying
them all), what the best limit of each load would have, and what no limit would, all of them and in the 10 minutes in
which the governor cost most against it. Counts changes of the held limit against changes of the
load and the loads under which it changed more than once (oscillation would be many), and the minutes whose state,
inferred from the network alone, is the true one for most of them.
Prints a table; judges nothing. Not part of `make bench`: a virtual minute costs 0.6 s of a CPU, nearly all of it for
the equilibrium of the simulated system in each of its steps, so that a day takes a quarter of an hour on a quiet core.

Run: python benchmarks/accuracy/govern_day.py [--minutes 240] [--limits 97] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from keisoku.subjects.system.govern.governor import Command, GovernorSettings, Phase, govern
from keisoku.subjects.system.govern.inference import Inference
from keisoku.subjects.system.objective import Goal, Objective
from keisoku.subjects.system.search.candidate import Candidates, Limit
from keisoku.subjects.system.simulated.model import e4
from keisoku.subjects.system.simulated.system import SimulatedSystem

LOADS: tuple[dict[str, int], ...] = (
    {},
    {"fast": 100},
    {"fast": 3000},
    {f"slow{number}": 20 for number in range(1, 5)},
    {"slow2": 0, "slow3": 0, "slow4": 0},
    {"fast": 20, **{f"slow{number}": 2 for number in range(1, 5)}},
)
MINUTE = 60
"""Intervals of a second."""
SPACE = Candidates(100e6, 10e9)


@dataclass
class Minute:
    """What one minute of one load came to."""

    load: int
    """Index of LOADS."""
    requests: float = 0.0
    searched: int = 0
    """Intervals spent looking and searching."""
    moves: int = 0
    """Changes of the limit that is held."""
    hits: int = 0
    """Intervals whose state was inferred rightly."""
    held: Limit = None
    """At its end."""


def steps(minutes: int, seed: int) -> list[int]:
    """Loads at random, each another one than the one before."""
    random = np.random.default_rng(seed)
    loads = [int(random.integers(len(LOADS)))]
    while len(loads) < minutes:
        loads.append((loads[-1] + 1 + int(random.integers(len(LOADS) - 1))) % len(LOADS))
    return loads


def governed(loads: list[int], seed: int) -> Iterator[Minute]:
    """Runs the governor through minutes of loads (indices of LOADS)."""
    system, judge = SimulatedSystem(e4(), seed), Inference()
    loop = govern(Objective(Goal.SUM_REQUESTS), SPACE, GovernorSettings(), ("fast",))
    command: Command = next(loop)
    held: Limit = None
    for load in loads:
        system.change(e4().with_connections(LOADS[load]))
        minute = Minute(load)
        for _ in range(MINUTE):
            system.limit({"fast": command.limit})
            at = system.run(1)
            judge.observe(at)
            minute.hits += system.truth is not None and system.truth.whole is judge.whole.state
            minute.requests += at.requests_per_second
            if command.phase is not Phase.HOLD:
                minute.searched += 1
            elif command.limit != held:
                held, minute.moves = command.limit, minute.moves + 1
            command = loop.send(at)
        minute.held = held
        yield minute


def ungoverned(loads: list[int], seed: int) -> list[float]:
    """Requests/s in each minute of the same system without a limit."""
    system = SimulatedSystem(e4(), seed)
    rates = []
    for load in loads:
        system.change(e4().with_connections(LOADS[load]))
        rates.append(system.run(MINUTE).requests_per_second)
    return rates


def oracles(loads: list[int], limits: int) -> tuple[Limit, float, float]:
    """The best limit that never changes and its requests/s over all minutes, and those of each load's own best."""
    tried = Candidates(SPACE.floor_bps, SPACE.line_bps, limits).limits
    rates = np.asarray([[_steady(load, limit) for limit in tried] for load in range(len(LOADS))])
    mean = rates[loads].mean(axis=0)
    best = int(np.argmax(mean))
    return tried[best], float(mean[best]), float(rates.max(axis=1)[loads].mean())


def worst_ten(day: list[Minute], without: list[float]) -> float:
    """What the governor cost against no limit in the 10 minutes in which it cost most, in percent; negative: gained."""
    reached = np.convolve([minute.requests / MINUTE for minute in day], np.ones(10), "valid")
    return float(100 * (1 - reached / np.convolve(without, np.ones(10), "valid")).max())


def _steady(load: int, limit: Limit) -> float:
    model = e4().with_connections(LOADS[load])
    system = SimulatedSystem(replace(model, server=replace(model.server, unsteady=0.0)))
    system.limit({"fast": limit})
    system.run(5)
    return system.run(5).requests_per_second


def main() -> None:
    """Prints the day."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=int, default=240)
    options.add_argument("--limits", type=int, default=97, help="that the oracles try, and no limit")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    loads = steps(chosen.minutes, chosen.seed)
    day = []
    for minute in governed(loads, chosen.seed):
        day.append(minute)
        if len(day) % MINUTE == 0:
            print(f"{len(day)} of {chosen.minutes} minutes", file=sys.stderr, flush=True)
    limit, static, each = oracles(loads, chosen.limits)
    without = ungoverned(loads, chosen.seed)
    seconds = MINUTE * len(day)
    reached = sum(minute.requests for minute in day) / seconds
    name = "none" if limit is None else f"{limit / 1e6:,.0f} Mb/s"
    print("| | requests/s | the governor to it |\n|---|---|---|")
    print(f"| governor | {reached:,.0f} | |")
    for what, rate in (
        (f"best limit that never changes ({name})", static),
        ("best limit of each load", each),
        ("no limit", float(np.mean(without))),
    ):
        print(f"| {what} | {rate:,.0f} | {100 * (reached / rate - 1):+.1f} % |")
    print(f"| no limit, the worst 10 minutes | | {-worst_ten(day, without):+.2f} % |")
    moves = sum(minute.moves for minute in day)
    print(
        f"\n{len(day)} minutes, another load in each: {moves} changes of the held limit, {moves / len(day):.2f} a load,"
        f" more than one under {sum(minute.moves > 1 for minute in day)} loads;"
        f" {100 * sum(minute.searched for minute in day) / seconds:.1f} % of the time spent looking and searching;"
        f" the state was right in {100 * sum(minute.hits > MINUTE / 2 for minute in day) / len(day):.1f} % of the"
        " minutes."
    )


if __name__ == "__main__":
    main()
