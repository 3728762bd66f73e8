"""How often the shown interval of 95 % contains the mean where netperf's rule decided the number of trials.

Run it by itself: `python benchmarks/accuracy/stopping.py [SETS]`. A set is the trials of one cell of `stream tcp`:
single trials scatter by a share of their mean, until the rule (99 % within ± 2.5 %, 3 to 30 trials) ends them. `plain`
is Student's interval of 95 % of what was stopped, `shown` the one that a result has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from keisoku.ground.statistics.uncertainty import half_width
from keisoku.subjects.stream.confidence import Confidence

SCATTER = (0.0005, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1)
Draw = Callable[[np.random.Generator, int], np.ndarray]
NOISES: dict[str, Draw] = {
    "normal": lambda chance, count: chance.normal(size=count),
    "uniform": lambda chance, count: chance.uniform(-np.sqrt(3), np.sqrt(3), size=count),
    "heavy (Student's t, 4)": lambda chance, count: chance.standard_t(4, size=count) / np.sqrt(2),
    "skewed (gamma, 2)": lambda chance, count: (2 - chance.gamma(2, size=count)) / np.sqrt(2),
}


def coverage(rule: Confidence, noise: Draw, scatter: float, sets: int, seed: int) -> tuple[float, float, float]:
    """Shares of sets whose interval contains the mean: plain, shown; and the mean number of trials."""
    chance = np.random.default_rng(seed)
    plain = shown = runs = 0
    for _ in range(sets):
        every = (1 + scatter * noise(chance, rule.most)).tolist()
        count = next(count for count in range(rule.least, rule.most + 1) if rule.settled(every[:count]))
        values = every[:count]
        error = abs(sum(values) / count - 1)
        plain += error <= half_width(values)
        shown += error <= half_width(values, rule.student_level(values))
        runs += count
    return plain / sets, shown / sets, runs / sets


def main() -> None:
    """Prints the table."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| noise | scatter of a trial | trials, mean | plain | shown |")
    print("| --- | --- | --- | --- | --- |")
    for seed, (name, noise) in enumerate(NOISES.items(), 31):
        for scatter in SCATTER:
            plain, shown, runs = coverage(Confidence(), noise, scatter, sets, seed)
            print(f"| {name} | {100 * scatter:g} % | {runs:.1f} | {100 * plain:.1f} % | {100 * shown:.1f} % |")


if __name__ == "__main__":
    main()
