"""How often the interval of `--repeat` contains the truth, by the number of repetitions and the kind of noise.

Run it by itself: `python benchmarks/accuracy/repeated.py [SETS]`. A set is one run with --repeat N; `mixture` is the
noise of `paired.py`. The truth is the median of all the runs that could have been made in the same stretch of time:
what a host does at another time, no repetition now can tell.
"""

from __future__ import annotations

import math
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "detection"))

from paired import Logs, mixture

from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import combined

COUNTS = (2, 3, 5, 6, 8, 10, 20)
FINE = 200
"""Further runs between two repetitions, which are not measured: they have the same drift, and tell the truth."""


def normal(chance: np.random.Generator, runs: int) -> Logs:
    """5 %."""
    return chance.normal(0, 0.05, runs)


def heavy(chance: np.random.Generator, runs: int) -> Logs:
    """Student's t with 3 degrees of freedom."""
    return np.asarray(0.035 * chance.standard_t(3, runs))


def drift(chance: np.random.Generator, runs: int) -> Logs:
    """5 %, and a drift of up to 20 % from the first to the last run."""
    return np.asarray(normal(chance, runs) + chance.uniform(-0.2, 0.2) * np.linspace(0, 1, runs))


NOISES = {"normal": normal, "heavy": heavy, "drift": drift, "mixture": mixture}


def main() -> None:
    """Prints the table."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| noise | repetitions | covered | half the width, median |")
    print("| --- | --- | --- | --- |")
    for name, noise in NOISES.items():
        for count in COUNTS:
            chance = np.random.default_rng(count)
            covered, widths = 0, []
            for _ in range(sets):
                every = noise(chance, count * FINE)
                logs, truth = every[chance.integers(0, FINE) :: FINE], float(np.median(every))
                found = combined([Quantity(value=math.exp(value), unit="frames/s") for value in logs])
                low, high = found.bounds or (math.nan, math.nan)
                covered += low <= math.exp(truth) <= high
                widths.append((high - low) / 2)
            print(f"| {name} | {count} | {100 * covered / sets:.1f} % | {100 * statistics.median(widths):.1f} % |")


if __name__ == "__main__":
    main()
