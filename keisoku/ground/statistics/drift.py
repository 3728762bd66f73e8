"""Whether a change of a series is a step, or what a slow drift does anyway: the local level model.

The level of the runs is a random walk, seen with noise (Harvey, Forecasting, Structural Time Series Models and the
Kalman Filter, 1989, section 2.3), and steps are added to it. A step is kept if the likelihood falls enough without it,
where the walk's share of the variance is fitted anew with and without it. No I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

_SHARES = (0.006, 0.016, 0.04, 0.09, 0.2, 0.5, 1.5)
"""Variance of the walk from run to run, by that of the noise. No series is taken to be without a drift."""
_OUTLIER = 3.0
"""Runs further from the median of their stretch than this many standard deviations count as if they were so far."""


def steps_beside_drift(values: Sequence[float], candidates: Sequence[int]) -> list[int]:
    """Those of `candidates` (index of the first run after each) that a drift does not explain, in order.

    `values` are the runs' figures in any one unit.
    """
    series = _without_outliers(np.asarray(values, dtype=np.float64), candidates)
    if series is None:
        return list(candidates)
    kept: list[int] = []
    least = _least_gain(len(series))
    now = _fit(series, kept)
    while rest := [place for place in candidates if place not in kept]:
        # A level that comes back is seen only by its two steps together.
        added = [(place,) for place in rest] + list(combinations(rest, 2))
        fits = [_fit(series, [*kept, *places]) for places in added]
        worth = [(fit - now) / len(places) for fit, places in zip(fits, added, strict=True)]
        best = int(np.argmax(worth))
        if worth[best] < least:
            break
        kept += added[best]
        now = fits[best]
    return sorted(kept)


def _least_gain(count: int) -> float:
    """By how much a step must raise twice the logarithm of the likelihood, in a series of so many runs.

    Chosen on drifting series of 20, 40 and 100 runs with the seeds from 120 000 to 120 199 and from 300 000 to 300 099
    of `benchmarks/detection/trend.py`, so that about 5 of 100 give a false alarm.
    """
    return max(3.2 * float(np.log(count)) - 0.3, 4.0)


def _without_outliers(series: NDArray[np.float64], cuts: Sequence[int]) -> NDArray[np.float64] | None:
    """In standard deviations about the median of each stretch, clipped; None where most runs are all the same."""
    middle = np.concatenate([np.full(len(part), np.median(part)) for part in np.split(series, list(cuts))])
    apart = series - middle
    scale = 1.4826 * float(np.median(np.abs(apart)))
    if scale <= np.finfo(np.float64).eps * float(np.abs(series).max()):
        return None
    levels = (middle - middle[0]) / scale
    return np.asarray(levels + np.clip(apart / scale, -_OUTLIER, _OUTLIER))


def _fit(series: NDArray[np.float64], cuts: Sequence[int]) -> float:
    """Twice the highest logarithm of the likelihood, but for a constant."""
    count = len(series)
    design = (np.arange(count)[:, None] >= np.array([0, *cuts])[None, :]).astype(np.float64)
    best = -np.inf
    for share in _SHARES:
        white, volume = _whitening(count, share)
        seen, columns = white @ series, white @ design
        apart = seen - columns @ np.linalg.lstsq(columns, seen, rcond=None)[0]
        best = max(best, -count * float(np.log(apart @ apart / count)) - volume)
    return best


@lru_cache(maxsize=256)
def _whitening(count: int, share: float) -> tuple[NDArray[np.float64], float]:
    """What makes the runs independent, and the logarithm of the determinant of their covariance."""
    place = np.arange(count)
    root = np.linalg.cholesky(np.eye(count) + share * np.minimum.outer(place, place))
    return np.linalg.inv(root), 2 * float(np.log(np.diag(root)).sum())
