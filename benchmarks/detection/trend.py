"""How often `keisoku trend` finds a change, and how often it gives a false alarm, in series of runs.

Run it by itself: `python benchmarks/detection/trend.py [--series 1000] [--first 0]`. The figure of a run is 1 with
noise of 2 %; from the middle of the series, or from its last runs, it is lower by the change. `normal` and `heavy`
(Student's t with 3 degrees of freedom) are independent; `disturbed` has one run in ten at -20 %; `drifting` is a random
walk of 0.5 % a run besides; in `autocorrelated`, half of what a run is off passes to the next (AR(1)). Each cell is
what E-divisive alone finds, and what is left where drift is told from steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.drift import steps_beside_drift
from keisoku.ground.statistics.e_divisive import changes

NOISE = 0.02
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def _autocorrelated(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """AR(1) with a correlation of 0.5 from run to run, and the standard deviation of the steps."""
    values = steps.copy()
    for run in range(1, len(values)):
        values[run] = 0.5 * values[run - 1] + 0.75**0.5 * steps[run]
    return values


NOISES: dict[str, Draw] = {
    "normal": lambda chance, runs: chance.normal(0, NOISE, runs),
    "drifting": lambda chance, runs: chance.normal(0, NOISE, runs) + np.cumsum(chance.normal(0, 0.005, runs)),
    "heavy": lambda chance, runs: NOISE * chance.standard_t(3, runs) / 3**0.5,
    "autocorrelated": lambda chance, runs: _autocorrelated(chance.normal(0, NOISE, runs)),
    "disturbed": lambda chance, runs: chance.normal(0, NOISE, runs) - 0.2 * (chance.random(runs) < 0.1),
}
CASES = ((20, 10), (40, 20), (40, 5), (40, 3), (100, 10))
"""Runs, and how many of them follow the change."""
CHANGES = (0.0, 0.02, 0.05, 0.1)


def found(name: str, runs: int, after: int, change: float, seed: int) -> tuple[bool, bool]:
    """Whether the last change that is found lies within two runs of the true one; any, where there is none.

    First by E-divisive alone, then where drift is told from steps.
    """
    series = 1 + NOISES[name](np.random.default_rng(seed), runs)
    series[runs - after :] -= change
    candidates = changes(list(series))
    before, now = (
        bool(said) and (change == 0 or abs(said[-1] - (runs - after)) <= 2)
        for said in (candidates, steps_beside_drift(list(series), candidates))
    )
    return before, now


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    asked = parser.parse_args()
    heads = [
        "noise",
        "runs",
        "after the change",
        *(f"-{100 * change:g} %" if change else "no change" for change in CHANGES),
    ]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for name in NOISES:
        for runs, after in CASES:
            seeds = range(asked.first, asked.first + asked.series)
            counts = [
                [sum(side) for side in zip(*(found(name, runs, after, change, seed) for seed in seeds), strict=True)]
                for change in CHANGES
            ]
            cells = " | ".join(f"{before}, {now}" for before, now in counts)
            print(f"| {name} | {runs} | {after} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
