"""The Wilcoxon signed-rank interval and the Hodges–Lehmann estimate of differences that pairs of runs have.

The interval is exact for differences whose distribution is symmetrical, whatever its tails are (Hollander, Wolfe and
Chicken, Nonparametric Statistical Methods, 3.1 to 3.3). A few disturbed runs move it little.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

_EXACT = 150
"""Up to so many differences the distribution of the rank sum is counted; beyond, it is normal to many digits."""


Means = NDArray[np.float64]
"""The means of all pairs of differences, each with itself too, in order (Walsh's averages)."""


def means_of(differences: ArrayLike) -> Means:
    """The means of these differences, in their unit."""
    known = np.atleast_1d(np.asarray(differences, dtype=np.float64))
    first, second = np.triu_indices(len(known))
    return np.asarray(np.sort((known[first] + known[second]) / 2))


def pseudo_median(means: Means) -> float:
    """Hodges and Lehmann's estimate: the median of the means, in their unit. Raises ValueError if there is none."""
    if not means.size:
        raise ValueError("no differences")
    return float((means[(means.size - 1) // 2] + means[means.size // 2]) / 2)


def interval(lowest: Means, highest: Means, error: float) -> tuple[float, float]:
    """The interval that misses the centre of the differences with a probability of at most `error`, half on each side.

    Each difference is known to lie between a lowest and a highest value, of which these are the means; they are equal
    where it is known, and infinite where it is a bound. Infinite ends: there are too few differences to exclude any.
    """
    rank = _rank((math.isqrt(8 * lowest.size + 1) - 1) // 2, error)
    if rank < 1:
        return -math.inf, math.inf
    return float(lowest[rank - 1]), float(highest[-rank])


def smallest_error(count: int) -> float:
    """The smallest probability `error` for which so many differences give an interval that ends."""
    return math.ldexp(1.0, 1 - count)


@lru_cache(maxsize=1024)
def _rank(count: int, error: float) -> int:
    """The largest k for which 2 · P(rank sum < k) is at most `error`; 0: none."""
    if count > _EXACT:
        mean, variance = count * (count + 1) / 4, count * (count + 1) * (2 * count + 1) / 24
        return max(0, math.floor(mean + NormalDist().inv_cdf(error / 2) * math.sqrt(variance) - 0.5))
    return int(np.searchsorted(_below(count), error / 2, side="right"))


@lru_cache(maxsize=_EXACT + 1)
def _below(count: int) -> NDArray[np.float64]:
    """P(rank sum < k) for k = 1, 2, …, where every sign is as probable as the other."""
    chances = np.ones(1)
    for rank in range(1, count + 1):
        grown = np.zeros(len(chances) + rank)
        grown[: len(chances)] = chances / 2
        grown[rank:] += chances / 2
        chances = grown
    return np.asarray(np.cumsum(chances))
