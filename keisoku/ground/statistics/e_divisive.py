"""Where the distribution of a series of runs changes: E-divisive.

Matteson and James, A nonparametric approach for multiple change point analysis of multivariate data, Journal of the
American Statistical Association 109 (2014), with α = 1 and one dimension, as used for performance tests by Daly et al.,
The use of change point detection to identify software performance regressions in a continuous integration system (ICPE
2020). Nothing is assumed of the noise but that runs are independent and alike between changes: noise that lasts for
several runs makes false alarms (`benchmarks/detection/trend.py`). Packages that do this bring a database or a cloud's
client.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAST = 3
"""Runs on each side of a change."""
ERROR = 0.01
"""Probability of a change where there is none, at each step of the division."""
_PERMUTATIONS = 399
_SEED = 1
"""The same series always gives the same changes."""


def changes(values: Sequence[float]) -> list[int]:
    """Index of the first run after each change, in order. The values are finite and of any unit."""
    series = np.asarray(values, dtype=np.float64)
    found: list[int] = []
    waiting = [(0, len(series))]
    while waiting:
        first, end = waiting.pop()
        split = _split(series[first:end])
        if split is not None:
            found.append(first + split)
            waiting += [(first, first + split), (first + split, end)]
    return sorted(found)


def _split(series: NDArray[np.float64]) -> int | None:
    """The best place to divide a stretch, if a division of shuffled values is as good with `ERROR` at most."""
    count = len(series)
    if count < 2 * LEAST:
        return None
    apart = np.abs(series[:, None] - series[None, :])
    places = [(place, end) for end in range(2 * LEAST, count + 1) for place in range(LEAST, end - LEAST + 1)]
    splits = np.asarray(places).T
    gains = _gains(apart, splits)
    best = int(np.argmax(gains))
    chance = np.random.default_rng(_SEED)
    as_good = 0
    # As soon as it is certain that there are too many, the rest need not be drawn.
    allowed = ERROR * (_PERMUTATIONS + 1) - 1
    for _ in range(_PERMUTATIONS):
        order = chance.permutation(count)
        as_good += _gains(apart[np.ix_(order, order)], splits).max() >= gains[best]
        if as_good > allowed:
            return None
    return places[best][0]


def _gains(apart: NDArray[np.float64], splits: NDArray[np.int64]) -> NDArray[np.float64]:
    """The scaled energy distance (equation 8) between the values before each place and those from there to an end.

    `splits` has the places and the ends; `apart` the distances between all values. The end need not be that of the
    stretch, so that a level that comes back does not hide a change.
    """
    sums = np.zeros((len(apart) + 1, len(apart) + 1))
    sums[1:, 1:] = apart.cumsum(axis=0).cumsum(axis=1)
    place, end = splits
    before, both = sums[place, place], sums[end, end]
    between = sums[place, end] - before
    behind = both - before - 2 * between
    m, n = place.astype(np.float64), (end - place).astype(np.float64)
    distance = 2 * between / (m * n) - before / (m * (m - 1)) - behind / (n * (n - 1))
    return np.asarray(m * n / (m + n) * distance)
