"""How often `keisoku ab` finds a slowdown, and how often it gives a false alarm, in virtual time.

Run it by itself: `python benchmarks/detection/paired.py [--comparisons 1000] [--budget SECONDS] [RECORDED.json …]`.
Each comparison draws the figures of runs, orders the sides as the command does, and is judged by the command's rule.

Three kinds of noise. `mixture`: 5 % log-normal, a drift of up to 10 % with waves of 3 %, and one run in ten that is
disturbed by -30 %. The constants of `statistics/spending.py` were chosen on it. `bursts`: heavy tails (Student's
t with 3 degrees of freedom), a random walk, and disturbances that last for several runs; nothing was chosen on it.
`recorded`: runs that were measured, in a file {"name": {"seconds": 2.5, "values": […]}}, drawn in blocks of successive
runs, so that their drift remains.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.paired import Differences, Judgement, Rule, judge
from keisoku.running.measurement.side_runs import order

BUDGET_S = 600.0
RUN_S = 2.5
"""Of a run whose time was not recorded."""
SLOWDOWNS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.08)
BLOCK = 12
"""Successive runs that are drawn together from a recording."""
Logs = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Logs]


def mixture(chance: np.random.Generator, runs: int) -> Logs:
    """Logarithms of the figures of successive runs of one device."""
    time = np.arange(runs)
    logs = chance.normal(0, 0.05, runs) + np.where(chance.random(runs) < 0.1, math.log(0.7), 0.0)
    logs += chance.uniform(-0.1, 0.1) * time / runs
    return logs + 0.03 * np.sin(2 * np.pi * (time / chance.uniform(10, 80) + chance.random()))


def bursts(chance: np.random.Generator, runs: int) -> Logs:
    """Disturbances begin at one run in thirty and last for up to seven."""
    logs = 0.035 * chance.standard_t(3, runs) + np.cumsum(chance.normal(0, 0.01, runs))
    disturbed = np.zeros(runs, dtype=bool)
    for start in np.flatnonzero(chance.random(runs) < 1 / 30):
        disturbed[start : start + chance.integers(1, 8)] = True
    return logs - np.where(disturbed, chance.exponential(0.3, runs), 0.0)


def recorded(values: Sequence[float]) -> Noise:
    """Blocks of the recording, one after the other."""
    logs = np.log(values)

    def noise(chance: np.random.Generator, runs: int) -> Logs:
        starts = chance.integers(0, len(logs), -(-runs // BLOCK))
        places = (starts[:, None] + np.arange(min(BLOCK, len(logs)))).ravel() % len(logs)
        return np.asarray(logs[places[:runs]])

    return noise


def compared(noise: Noise, slowdown: float, pairs: int, seed: int, rule: Rule) -> Judgement:
    """One comparison of A and of B, which is so much slower."""
    logs = noise(np.random.default_rng(seed), 2 * pairs).reshape(pairs, 2)
    first = np.array([order(seed, pair)[0] == "a" for pair in range(1, pairs + 1)])
    apart = np.where(first, logs[:, 1] - logs[:, 0], logs[:, 0] - logs[:, 1]) + math.log1p(-slowdown)
    return judge(Differences(apart, apart, 0.0, True, 1.0), [(pair + 1) / pairs for pair in range(pairs)], rule)


def table(name: str, noise: Noise, pairs: int, comparisons: int) -> str:
    """Rows of Markdown, one for each slowdown."""
    rows = []
    for slowdown in SLOWDOWNS:
        found = [compared(noise, slowdown, pairs, seed, Rule("higher")) for seed in range(comparisons)]
        verdicts = [each.verdict for each in found]
        covered = sum(each.shown[0] <= -slowdown <= each.shown[1] for each in found)
        needed = [each.pairs for each in found if each.verdict == "worse"]
        median = f"{statistics.median(needed):.0f}" if needed else ""
        rows.append(
            f"| {name} | {pairs} | {100 * slowdown:g} % | {verdicts.count('worse')} | {verdicts.count('better')} "
            f"| {median} | {covered} |"
        )
        print(rows[-1], flush=True)
    return "\n".join(rows)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=1000)
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds")
    parser.add_argument("recorded", nargs="*", type=Path)
    asked = parser.parse_args()
    print(f"| noise | pairs at most | slowdown | worse, of {asked.comparisons} | better | pairs needed | covered |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    pairs = round(asked.budget / RUN_S / 2)
    for name, noise in (("mixture", mixture), ("bursts", bursts)):
        table(name, noise, pairs, asked.comparisons)
    for path in asked.recorded:
        for name, series in json.loads(path.read_text()).items():
            most = round(asked.budget / series.get("seconds", RUN_S) / 2)
            table(f"recorded: {name}", recorded(series["values"]), most, asked.comparisons)


if __name__ == "__main__":
    main()
