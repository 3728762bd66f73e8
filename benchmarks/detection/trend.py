"""How often `keisoku trend` finds a step, and how often it gives a false alarm, beside jumpavg and E-divisive.

Run it by itself: `python benchmarks/detection/trend.py --peers FOLDER [--series 1000] [--first 0]`, with the FOLDER of
`pip install --no-deps --target FOLDER jumpavg signal-processing-algorithms structlog 'more-itertools<9'`. The figure of
a run is 1 with noise of 2 %; from the middle of the series, or from its last runs, it is lower by 5 %.
`normal` and `heavy` (Student's t with 3 degrees of freedom) are independent; `disturbed` has one run in ten at -20 %;
`drifting` is a random walk of 0.5 % a run besides, and `wandering` one of 1 %; `sloping` falls by 0.2 % a run; in
`autocorrelated`, half of what a run is off passes to the next (AR(1)). Each cell has keisoku, jumpavg and E-divisive
(MongoDB's, where shuffled runs divide as well in at most 1 % of cases), and at last what is attainable: the most
powerful test that knows the noise, the drift and the size of the step, but not its place, and gives a false alarm in
5 % of the drifting series (Neyman and Pearson, On the problem of the most efficient tests of statistical hypotheses,
1933).

`--published FILE` judges series of a JSON file, {"name": [values, …], …}, instead.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.local_level import LEAST, series_changes

NOISE, WALK, STEP = 0.02, 0.005, 0.05
Values = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Values]
Judge = Callable[[Sequence[float]], list[int]]


def _walking(step: float) -> Draw:
    return lambda chance, runs: chance.normal(0, NOISE, runs) + np.cumsum(chance.normal(0, step, runs))


def _autocorrelated(steps: Values) -> Values:
    """AR(1) with a correlation of 0.5 from run to run, and the standard deviation of the steps."""
    values = steps.copy()
    for run in range(1, len(values)):
        values[run] = 0.5 * values[run - 1] + 0.75**0.5 * steps[run]
    return values


NOISES: dict[str, Draw] = {
    "normal": lambda chance, runs: chance.normal(0, NOISE, runs),
    "heavy": lambda chance, runs: NOISE * chance.standard_t(3, runs) / 3**0.5,
    "disturbed": lambda chance, runs: chance.normal(0, NOISE, runs) - 0.2 * (chance.random(runs) < 0.1),
    "drifting": _walking(WALK),
    "wandering": _walking(2 * WALK),
    "sloping": lambda chance, runs: chance.normal(0, NOISE, runs) - 0.002 * np.arange(runs),
    "autocorrelated": lambda chance, runs: _autocorrelated(chance.normal(0, NOISE, runs)),
}
CASES = ((20, 10), (20, 3), (40, 20), (40, 5), (40, 3), (100, 50), (100, 10))
"""Runs, and how many of them follow the step."""


def keisoku(values: Sequence[float]) -> list[int]:
    """First runs after the steps that `keisoku trend` tells."""
    return [step.place for step in series_changes(values).steps]


def jumpavg(values: Sequence[float]) -> list[int]:
    """First runs of the groups that CSIT's trending makes, but for the first one."""
    from jumpavg import classify

    return list(accumulate(len(group.run_list) for group in classify(list(values))))[:-1]


def e_divisive(values: Sequence[float]) -> list[int]:
    """First runs after the changes that E-divisive finds."""
    from signal_processing_algorithms.energy_statistics.energy_statistics import e_divisive as divided

    np.random.seed(1)
    return sorted(int(place) for place in divided(list(values), 0.01, 399))


JUDGES: tuple[Judge, ...] = (keisoku, jumpavg, e_divisive)


def found(judge: Judge, name: str, runs: int, after: int, seed: int) -> bool:
    """Whether the last step that is found lies within two runs of the true one; any, if `after` is 0 and none is."""
    series = 1 + NOISES[name](np.random.default_rng(seed), runs)
    series[runs - after :] -= STEP
    said = judge(list(series))
    return bool(said) and (not after or abs(said[-1] - (runs - after)) <= 2)


def evidence(series: Values, drifts: bool) -> tuple[Values, NDArray[np.int64]]:
    """Logarithm of the likelihood ratio of the known step at any place to the known walk, and the likeliest place."""
    runs = series.shape[1]
    run = np.arange(runs)
    places = run[LEAST : runs - LEAST + 1]

    def likelihoods(walk: float) -> tuple[Values, Values, Values]:
        covariance = np.eye(runs) + walk * np.minimum.outer(run, run)
        inverse = np.linalg.inv(covariance)
        level = inverse.sum(axis=1)
        apart = inverse - np.outer(level, level) / level.sum()
        constant = np.linalg.slogdet(covariance)[1] + np.log(level.sum())
        steps = apart @ (run[:, None] >= places)
        plain = -(np.einsum("si,ij,sj->s", series, apart, series) / NOISE**2 + constant) / 2
        return plain, series @ steps / NOISE, np.diagonal((run[:, None] >= places).T @ steps)

    size = STEP / NOISE
    known, _, _ = likelihoods((WALK / NOISE) ** 2)
    plain, shown, squares = likelihoods((WALK / NOISE) ** 2 if drifts else 0.0)
    each = np.logaddexp(size * shown, -size * shown) - size**2 * squares / 2
    most = each.max(axis=1)
    total = most + np.log(np.exp(each - most[:, None]).mean(axis=1)) - np.log(2)
    return plain + total - known, places[each.argmax(axis=1)]


@lru_cache
def _bar(runs: int, drifts: bool) -> float:
    """The evidence that 5 % of drifting series exceed."""
    drawn = [NOISES["drifting"](np.random.default_rng([1, seed]), runs) for seed in range(4000)]
    return float(np.quantile(evidence(np.array(drawn), drifts)[0], 0.95))


def attainable(name: str, runs: int, after: int, seeds: range) -> str:
    """How many of these series the most powerful test finds."""
    if name not in ("normal", "drifting") or not after:
        return "–"
    series = np.array([NOISES[name](np.random.default_rng(seed), runs) for seed in seeds])
    series[:, runs - after :] -= STEP
    seen, places = evidence(series, name == "drifting")
    return str(int(((seen > _bar(runs, name == "drifting")) & (abs(places - (runs - after)) <= 2)).sum()))


def published(path: Path) -> None:
    """Prints what each finds in the series of a file."""
    print("| series | runs | keisoku | jumpavg | E-divisive |\n|" + " --- |" * 5)
    for name, values in json.loads(path.read_text(encoding="utf-8")).items():
        told = series_changes(values)
        steps = [
            f"{step.place} ({100 * step.size / told.level[step.place - 1]:+.1f} ± "
            f"{100 * step.half / abs(told.level[step.place - 1]):.1f} %)"
            for step in told.steps
        ]
        if told.drift:
            drift, start = told.drift, abs(told.level[told.drift.first])
            change = f"{100 * drift.size / start:+.1f} ± {100 * drift.half / start:.1f} %"
            steps.append(f"drift from {drift.first} to {drift.last}: {change}")
        others = (", ".join(map(str, judge(values))) or "none" for judge in (jumpavg, e_divisive))
        print(f"| {name} | {len(values)} | {', '.join(steps) or 'none'} | {' | '.join(others)} |", flush=True)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, required=True, help="folder of the packages that it is compared with")
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--noise", choices=NOISES, action="append", help="only these (default: all)")
    parser.add_argument("--published", type=Path, help="JSON file of series to judge instead")
    asked = parser.parse_args()
    sys.path.append(str(asked.peers))
    if asked.published:
        published(asked.published)
        return
    seeds = range(asked.first, asked.first + asked.series)
    print("| noise | runs | after the step | no step | step of -5 % |\n|" + " --- |" * 5)
    for name in asked.noise or NOISES:
        alarms: dict[int, str] = {}
        for runs, after in CASES:
            if runs not in alarms:
                counts = [sum(found(judge, name, runs, 0, seed) for seed in seeds) for judge in JUDGES]
                alarms[runs] = ", ".join(map(str, counts))
            hits = [str(sum(found(judge, name, runs, after, seed) for seed in seeds)) for judge in JUDGES]
            hits.append(attainable(name, runs, after, seeds))
            print(f"| {name} | {runs} | {after} | {alarms[runs]} | {', '.join(hits)} |", flush=True)


if __name__ == "__main__":
    main()
