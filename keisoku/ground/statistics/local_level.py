"""Steps and a drift in a series of runs: the local level model.

The level of the runs is a random walk, with a slope or without one, seen with noise (Harvey, Forecasting, Structural
Time Series Models and the Kalman Filter, 1989, section 2.3), and steps are added to it. A step is told from the drift
by a Bayes factor: how much more probable the runs are with a step somewhere than without one, whatever the noise and
the drift are. A step is taken to be larger than the noise (a non-local prior: Johnson and Rossell, On the use of non-
local prior densities in Bayesian hypothesis tests, 2010), since a drift explains smaller ones as well. No I/O.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.difference import ROUNDING
from keisoku.ground.statistics.distribution import student_quantile
from keisoku.ground.statistics.uncertainty import CONFIDENCE

Values = NDArray[np.float64]
Places = NDArray[np.int64]

LEAST = 3
"""Runs on each side of a step."""
_DRIFTS = {
    (0.006, 0.0): 0.04,
    (0.02, 0.0): 0.10,
    (0.0625, 0.0): 0.25,
    (0.2, 0.0): 0.18,
    (0.6, 0.0): 0.08,
    (2.0, 0.0): 0.05,
    (0.006, 0.003): 0.15,
    (0.006, 0.03): 0.15,
}
"""Variances of the walk from run to run, and of the slope of a drift that goes one way, by that of the noise, and the
probability of both. Without a step, every series drifts at least a little."""
_STEADY = 0.5
"""Probability that a series with a step does not drift besides."""
_WITH_STEPS = {(0.0, 0.0): _STEADY, **{drift: (1 - _STEADY) * chance for drift, chance in _DRIFTS.items()}}
"""Probability of each drift in a series with a step."""
_SIZES = {2.5: 0.6, 4.0: 0.3, 8.0: 0.1}
"""Size of a step, in standard deviations of the noise, and its probability."""
_STEP, _BUMP = 0.85, 2.5
"""Logarithm of the Bayes factor of a step, and of two that are seen only together, from which on they are told.

These, and the probabilities above, were chosen on other series than those of docs/how-we-know/comparisons.md, so that 4
to 5 of 100 series of 20, 40 and 100 runs that drift by 0.5 % a run under noise of 2 % have a step.
"""
_DRIFT = 1.0
"""Logarithm of the Bayes factor of a drift, from which on it is told."""
_OUTLIER = 3.0
"""Runs further from their neighbours, or from their stretch, than this many standard deviations count as if they were
so far."""
_NEIGHBOURS = 3
"""Runs on each side that an outlier is seen by."""
_TO_DEVIATION = 1.4826
"""Factor from the median of absolute deviations to the standard deviation, for a normal distribution."""
_AMONG_NEIGHBOURS = 1.2
"""Factor to the deviation from a level, of that from the median of a run and its neighbours."""
_FLOOR = 1e-9
"""Least share of squares that is left, so that runs that are all the same have a likelihood."""


@dataclass(frozen=True)
class Step:
    """A step of the level, in the unit of the runs."""

    place: int
    """Index of the first run after it."""
    earliest: int
    latest: int
    """`place` lies between these in 95 % of cases, if there is a step."""
    size: float
    half: float
    """Half the width of the interval of 95 % of `size`."""


@dataclass(frozen=True)
class Drift:
    """How far the level wanders beside the steps, in the unit of the runs: from its lowest to its highest run, or
    back."""

    first: int
    last: int
    """Indices of these two runs."""
    size: float
    half: float
    """Half the width of the interval of 95 % of `size`."""


@dataclass(frozen=True)
class SeriesChanges:
    """What changed in a series of runs."""

    steps: list[Step]
    drift: Drift | None
    """None: the runs do not show one."""
    level: list[float]
    """The level at each run, in the unit of the runs."""


def series_changes(values: Sequence[float]) -> SeriesChanges:
    """The steps and the drift of finite values of any unit."""
    numbers = np.asarray(values, dtype=np.float64)
    most = float(np.abs(numbers).max(initial=0.0))
    if len(numbers) < 2 * LEAST or not most or np.ptp(numbers / most) <= ROUNDING:
        return SeriesChanges([], None, [float(np.median(numbers))] * len(numbers) if len(numbers) else [])
    numbers = numbers / most
    kept: list[int] = []
    while added := _added(numbers, kept):
        kept = sorted([*kept, *added])
    if len(kept) > 1:
        for place in kept.copy():  # seen beside the others, a step can lie elsewhere, or be none
            rest = [other for other in kept if other != place]
            kept = sorted([*rest, *_added(numbers, rest, together=False)])
    model = _Model(_tamed(numbers, kept), kept)
    steps = []
    for place, column in zip(kept, np.eye(len(kept) + 1)[1:], strict=True):
        size, half = model.stated(column, np.zeros(len(numbers)))
        steps.append(Step(place, *_reach(numbers, kept, place), most * size, most * half))
    level, wander = model.level()
    if not model.drifts:
        return SeriesChanges(steps, None, list(most * level))
    first, last = sorted((int(np.argmin(wander)), int(np.argmax(wander))))
    run = np.arange(len(numbers))
    size, half = model.stated(np.zeros(len(kept) + 1), (run == last) * 1.0 - (run == first))
    return SeriesChanges(steps, Drift(first, last, most * size, most * half), list(most * (level + wander)))


def _added(numbers: Values, kept: Sequence[int], together: bool = True) -> list[int]:
    """The step that the runs show most clearly besides those that are kept, or two, if they are clear enough."""
    model = _Model(_tamed(numbers, kept), kept)
    looked = [(_STEP, _places(len(numbers), kept))]
    if together:
        looked.append((_BUMP, _bumps(len(numbers), kept)))
    for bar, (places, chances) in looked:
        if len(places):
            each = model.with_steps(places) + np.log(chances)
            if _total(each) - model.without >= bar:
                return [int(place) for place in places[int(np.argmax(each))]]
    return []


def _reach(numbers: Values, kept: Sequence[int], place: int) -> tuple[int, int]:
    """Between which runs a step lies in 95 % of cases, beside the other ones."""
    rest = [other for other in kept if other != place]
    places, chances = _places(len(numbers), rest)
    near = np.searchsorted(rest, places[:, 0]) == np.searchsorted(rest, place)
    each = _Model(_tamed(numbers, kept), rest).with_steps(places[near]) + np.log(chances[near])
    below = np.cumsum(np.exp(each - _total(each)))
    low, high = np.searchsorted(below, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    found = places[near, 0]
    return min(int(found[low]), place), max(int(found[min(high, len(found) - 1)]), place)


def _places(count: int, kept: Sequence[int]) -> tuple[Places, Values]:
    """Where a step can be, and the probability of each place: less where there are few runs on a side."""
    found = [
        (place, math.sqrt((place - first) * (end - place)))
        for first, end in pairwise([0, *kept, count])
        for place in range(first + LEAST, end - LEAST + 1)
    ]
    weights = np.array([weight for _, weight in found])
    return np.array([[place] for place, _ in found], dtype=np.int64), weights / weights.sum()


def _bumps(count: int, kept: Sequence[int]) -> tuple[Places, Values]:
    """Where the level can change and come back, and the probability of each pair of places."""
    found = []
    for first, end in pairwise([0, *kept, count]):
        starts, ends = np.triu_indices(max(end - first - 3 * LEAST + 1, 0))
        found.append(np.stack([starts + first + LEAST, ends + first + 2 * LEAST], axis=1))
    places = np.concatenate(found)
    return places, np.full(len(places), 1 / max(len(places), 1))


def _tamed(numbers: Values, cuts: Sequence[int]) -> Values:
    """The runs without outliers: none is far from the median of its neighbours, and then of its stretch."""
    bounds = [0, *cuts, len(numbers)]
    around = [
        float(np.median(numbers[max(first, run - _NEIGHBOURS) : min(end, run + _NEIGHBOURS + 1)]))
        for first, end in pairwise(bounds)
        for run in range(first, end)
    ]
    numbers = _clipped(numbers, np.array(around), _AMONG_NEIGHBOURS)
    middle = [np.full(len(part), np.median(part)) for part in np.split(numbers, list(cuts))]
    return _clipped(numbers, np.concatenate(middle), 1)


def _clipped(numbers: Values, middle: Values, factor: float) -> Values:
    reach = _OUTLIER * factor * _TO_DEVIATION * float(np.median(np.abs(numbers - middle)))
    return numbers if reach <= ROUNDING else np.clip(numbers, middle - reach, middle + reach)


class _Model:
    """A series with given steps: its likelihood with each drift, and with further steps."""

    def __init__(self, series: Values, cuts: Sequence[int]) -> None:
        self.series = series
        self.count = len(series)
        self.design = (np.arange(self.count)[:, None] >= np.array([0, *cuts])[None, :]).astype(np.float64)
        self.freedom = self.count - self.design.shape[1]
        self.given = [self._given(drift) for drift in _WITH_STEPS]
        likelihoods = np.array([given.likelihood for given in self.given])
        drifting = likelihoods[1:] + np.log([*_DRIFTS.values()])
        self.without = float(_total(drifting))
        self.drifts = self.without - likelihoods[0] >= _DRIFT
        self.drifting = [*zip(self.given[1:], np.exp(drifting - self.without), strict=True)]
        """Each drift with its probability; an interval allows for one even where the runs do not show it."""

    def _given(self, drift: tuple[float, float]) -> _Given:
        covariance, inverse, volume = _covariance(self.count, *drift)
        normal = self.design.T @ inverse @ self.design
        fitting = np.asarray(np.linalg.solve(normal, self.design.T @ inverse), dtype=np.float64)
        apart = inverse - inverse @ self.design @ fitting
        left = float(self.series @ apart @ self.series) + _FLOOR * float(self.series @ self.series)
        volume += float(np.linalg.slogdet(normal)[1])
        likelihood = -(volume + self.freedom * math.log(left)) / 2
        return _Given(_WITH_STEPS[drift], covariance, inverse, fitting, normal, apart, left, likelihood)

    def with_steps(self, places: Places) -> Values:
        """Logarithm of the likelihood with a step at each of these places, or with two, one up and one down."""
        signs = [(1.0,), (-1.0,)] if places.shape[1] == 1 else [(1.0, -1.0), (-1.0, 1.0)]
        nothing = float(_integral(np.zeros(1), self.freedom)[0])
        each = []
        for given in self.given:
            # What steps at all places have to do with the runs and with each other: sums from each place on.
            shown = (np.cumsum((given.apart @ self.series)[::-1])[::-1] / math.sqrt(given.left))[places]
            squares = np.cumsum(np.cumsum(given.apart[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
            squares = squares[places[:, :, None], places[:, None, :]].reshape(len(places), -1)
            start = given.likelihood + math.log(given.chance / len(signs)) - nothing
            for sizes in product(_SIZES, repeat=places.shape[1]):
                chance = math.log(math.prod(_SIZES[size] for size in sizes))
                for sign in signs:
                    step = np.array(sizes) * sign
                    square = squares @ np.outer(step, step).ravel()
                    each.append(start + chance - square / 2 + _integral(shown @ step, self.freedom))
        return _total(np.array(each))

    def level(self) -> tuple[Values, Values]:
        """The level at each run by the steps alone, and how far it has wandered besides."""
        fitted = sum(weight * (given.fitting @ self.series) for given, weight in self.drifting)
        wander = sum(weight * (given.covariance @ (given.apart @ self.series)) for given, weight in self.drifting)
        return self.design @ fitted, wander

    def stated(self, wanted: Values, runs: Values) -> tuple[float, float]:
        """A sum of levels and steps, and of how far each run has wandered, and half the width of its interval.

        Each drift gives the best linear unbiased prediction and its variance (Robinson, That BLUP is a good thing,
        1991), and all of them their mixture.
        """
        found = []
        for given, weight in self.drifting:
            tied = given.covariance @ runs
            open_ = wanted - self.design.T @ given.inverse @ tied
            mean = wanted @ (given.fitting @ self.series) + tied @ (given.apart @ self.series)
            square = runs @ tied - tied @ given.inverse @ tied + open_ @ np.linalg.solve(given.normal, open_)
            found.append((weight, mean, given.left / self.freedom * square))
        mean = sum(weight * each for weight, each, _ in found)
        variance = sum(weight * (square + (each - mean) ** 2) for weight, each, square in found)
        return float(mean), student_quantile(self.freedom, (1 + CONFIDENCE) / 2) * math.sqrt(max(variance, 0.0))


@dataclass(frozen=True)
class _Given:
    """What follows from one drift."""

    chance: float
    """Its probability."""
    covariance: Values
    """Of how far the runs have wandered."""
    inverse: Values
    """Of the covariance of the runs, with their noise."""
    fitting: Values
    """What makes the coefficients of the design of the runs."""
    normal: Values
    """Of the normal equations."""
    apart: Values
    """What makes squares of the residuals of the runs."""
    left: float
    """Sum of these squares."""
    likelihood: float
    """Its logarithm, but for a constant."""


def _integral(shown: Values, freedom: int) -> Values:
    """Logarithm of the integral of v^(freedom - 1) · exp(-v² / 2 + shown · v) over v > 0, by Laplace's method.

    v is the reciprocal of the noise, which is not known: this makes Student's distribution, away from its centre.
    """
    peak = (shown + np.sqrt(shown**2 + 4 * (freedom - 1))) / 2
    # The second derivative at the peak is (freedom - 1) / peak² + 1.
    return np.asarray(freedom * np.log(peak) - np.log(freedom - 1 + peak**2) / 2 + peak * (shown - peak / 2))


def _total(logarithms: Values) -> Values:
    """Logarithm of the sum of what these are the logarithms of, over the first axis."""
    most = logarithms.max(axis=0)
    return np.asarray(most + np.log(np.exp(logarithms - most).sum(axis=0)))


@lru_cache(maxsize=16)
def _covariance(count: int, walk: float, slope: float) -> tuple[Values, Values, float]:
    """That of the drift, and the inverse of the runs' one and the logarithm of its determinant."""
    run = np.arange(count, dtype=np.float64)
    drift = walk * np.minimum.outer(run, run) + slope * np.outer(run, run)
    inverse = np.asarray(np.linalg.inv(np.eye(count) + drift), dtype=np.float64)
    return drift, inverse, float(np.linalg.slogdet(np.eye(count) + drift)[1])
