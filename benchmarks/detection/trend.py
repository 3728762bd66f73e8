"""How often `keisoku trend` finds a change, and how often it gives a false alarm, in series of runs.

Run it by itself: `python benchmarks/detection/trend.py [--series 1000] [--first 0]`. The figure of a run is 1 with
noise of 2 %; from the middle of the series, or from its last runs, it is lower by the change. `normal` and `heavy`
(Student's t with 3 degrees of freedom) are independent; `disturbed` has one run in ten at -20 %; `drifting` is a random
walk of 0.5 % a run besides, which is against what the method assumes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.e_divisive import changes

NOISE = 0.02
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
NOISES: dict[str, Draw] = {
    "normal": lambda chance, runs: chance.normal(0, NOISE, runs),
    "heavy": lambda chance, runs: NOISE * chance.standard_t(3, runs) / 3**0.5,
    "disturbed": lambda chance, runs: chance.normal(0, NOISE, runs) - 0.2 * (chance.random(runs) < 0.1),
    "drifting": lambda chance, runs: chance.normal(0, NOISE, runs) + np.cumsum(chance.normal(0, 0.005, runs)),
}
CASES = ((20, 10), (40, 20), (40, 5), (40, 3), (100, 10))
"""Runs, and how many of them follow the change."""
CHANGES = (0.0, 0.02, 0.05, 0.1)


def found(name: str, runs: int, after: int, change: float, seed: int) -> bool:
    """Whether the last change that is found lies within two runs of the true one; any, where there is none."""
    series = 1 + NOISES[name](np.random.default_rng(seed), runs)
    series[runs - after :] -= change
    said = changes(list(series))
    return bool(said) if change == 0 else bool(said) and abs(said[-1] - (runs - after)) <= 2


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
            counts = [sum(found(name, runs, after, change, seed) for seed in seeds) for change in CHANGES]
            print(f"| {name} | {runs} | {after} | {' | '.join(map(str, counts))} |", flush=True)


if __name__ == "__main__":
    main()
