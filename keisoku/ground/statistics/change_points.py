"""Where a series of samples changes from one straight line to another: exact, by dynamic programming.

The `ruptures` package is not used: noise and errors of slopes would have to be estimated here anyway, and with
precomputed sums the rest is a few lines.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

PARAMETERS = 2
"""Parameters of a line: its slope and its constant."""
_PRICE = 4.0
"""Penalty of a piece, in logarithms of the number of samples. BIC has 3 (a line, and where it begins) for known noise;
here the noise is estimated from few samples, and noise alone must not make a piece."""
_MAD = 1.4826
"""Factor from the median of absolute deviations to the standard deviation, for a normal distribution."""
_SECOND_DIFFERENCE = math.sqrt(6)
"""Ratio of the variance of second differences to that of independent values (1 + 4 + 1)."""
_LAGS = (1, 2, 4)
_STRETCH = 12
"""Samples whose noise is taken for that of their first and of their last one."""
_LESS = 3.0
_ENOUGH = 30
"""A lag is used only if there are so many samples for each sample of it."""


def noise(y: ArrayLike, floor: float) -> float:
    """Standard deviation of the noise around straight lines, in the unit of `y`, and at least `floor`.

    From second differences, in which a straight line vanishes, by their median, which a few changes do not affect.
    Over several lags, so that noise that lasts longer than a sample is not taken for changes.
    """
    ys = np.asarray(y, dtype=np.float64)
    found = floor
    for lag in _LAGS:
        # A change affects 2 · lag differences: a few changes must not affect the median.
        if len(ys) >= (_ENOUGH * lag if lag > 1 else 3):
            second = ys[: -2 * lag] - 2 * ys[lag:-lag] + ys[2 * lag :]
            found = max(found, _MAD * float(np.median(np.abs(second))) / _SECOND_DIFFERENCE)
    return found


def local_noise(y: ArrayLike, floor: ArrayLike) -> NDArray[np.float64]:
    """The `noise` at each sample, in the unit of `y`, of the noisier one of the stretches before and behind it.

    A queue swallows the noise that a series has while there is none: one figure for the whole of such a series would
    make changes of the noise of its other part.
    """
    ys = np.asarray(y, dtype=np.float64)
    floors = np.broadcast_to(np.asarray(floor, dtype=np.float64), ys.shape)
    if len(ys) <= _STRETCH + 2:
        return np.maximum(floors, noise(ys, 0.0))
    starts = range(len(ys) - _STRETCH + 1)
    found = np.array([noise(ys[start : start + _STRETCH], 0.0) for start in starts])
    places = np.arange(len(ys))
    behind = found[np.minimum(places, len(found) - 1)]
    before = found[np.maximum(places - _STRETCH + 1, 0)]
    here, whole = np.maximum(behind, before), noise(ys, 0.0)
    # A few samples show their noise badly, so the whole counts unless there is clearly less noise here.
    return np.asarray(np.maximum(floors, np.where(here < whole / _LESS, here, np.maximum(here, whole))))


def penalty(samples: int) -> float:
    """By how much a piece must reduce the sum of squares, in units of the noise's variance (a stricter BIC)."""
    return _PRICE * math.log(max(samples, 2))


def pieces(x: ArrayLike, y: ArrayLike, sigma: ArrayLike) -> list[tuple[int, int]]:
    """The pieces (first, one past the last) that minimise squares / sigma² + `penalty` for each.

    `x` increases; `sigma` is one for all samples or one for each. A piece may be a single sample between two states.
    Exact (optimal partitioning, Jackson et al. 2005) with the pruning of PELT (Killick et al. 2012), which changes no
    result.
    """
    cost = _Squares(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64), np.asarray(sigma))
    count = cost.count
    each = penalty(count)
    best = np.zeros(count + 1)
    best[0] = -each
    begins = np.zeros(count + 1, dtype=np.int64)
    candidates = np.zeros(1, dtype=np.int64)
    for end in range(1, count + 1):
        without = best[candidates] + cost.of(candidates, end)
        chosen = int(np.argmin(without))
        best[end], begins[end] = without[chosen] + each, candidates[chosen]
        candidates = np.append(candidates[without <= best[end]], end)
    found: list[tuple[int, int]] = []
    end = count
    while end > 0:
        found.append((int(begins[end]), end))
        end = int(begins[end])
    return found[::-1]


class _Squares:
    """Sums of squared residuals, in units of sigma², of weighted lines through any stretch of a series."""

    def __init__(self, x: NDArray[np.float64], y: NDArray[np.float64], sigma: NDArray[np.float64]) -> None:
        self.count = len(x)
        # Centred and in extended precision: squares of large values would lose the small differences.
        w = np.broadcast_to(1 / sigma.astype(np.longdouble) ** 2, x.shape)
        dx = (x - x.mean()).astype(np.longdouble)
        dy = (y - y.mean()).astype(np.longdouble)
        parts = (w, w * dx, w * dy, w * dx * dx, w * dx * dy, w * dy * dy)
        self.sums = [np.concatenate([[0], np.cumsum(part)]) for part in parts]

    def of(self, first: NDArray[np.int64], end: int) -> NDArray[np.float64]:
        """For each stretch from `first` to before `end`."""
        w, x, y, xx, xy, yy = (sums[end] - sums[first] for sums in self.sums)
        spread, product, square = xx - x * x / w, xy - x * y / w, yy - y * y / w
        explained = np.divide(product**2, spread, out=np.zeros_like(spread), where=spread > 0)
        squares = np.maximum(square - explained, 0)
        squares[end - first <= 2] = 0
        return np.asarray(squares, dtype=np.float64)
