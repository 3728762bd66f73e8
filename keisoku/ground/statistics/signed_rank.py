"""The Hodges–Lehmann estimate of differences that pairs of runs have, and an interval from their signed ranks.

Each difference counts by the rank of its size, but none for more than a third of them: a pair in which a run was
disturbed weighs no more than a few ordinary ones, however far out it is, so fewer pairs are enough beside busy programs
(`benchmarks/detection/paired.py`). The interval is exact for differences whose distribution is symmetrical, whatever
its tails are (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3.1 to 3.3; such scores: Hájek, Šidák
and Sen, Theory of Rank Tests, 4.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

_EXACT = 150
"""Up to so many differences the distribution of the sum of scores is counted; beyond, it is normal to many digits."""
_ALIKE = 3
"""Of the ranks one in so many counts as such; all above count like the largest of these."""


Values = NDArray[np.float64]


@dataclass(frozen=True)
class Ranked:
    """Differences, and what all estimates of them need."""

    differences: Values
    means: Values
    """Of all pairs of differences, each with itself too, in order (Walsh's averages)."""


def ranked(differences: ArrayLike) -> Ranked:
    """These differences, in their unit."""
    known = np.atleast_1d(np.asarray(differences, dtype=np.float64))
    first, second = np.triu_indices(len(known))
    return Ranked(known, np.sort((known[first] + known[second]) / 2))


def pseudo_median(of: Ranked) -> float:
    """Hodges and Lehmann's estimate, in the differences' unit: the median of their pairs' means. Raises ValueError if
    there is none."""
    means = of.means
    if not means.size:
        raise ValueError("no differences")
    return float((means[(means.size - 1) // 2] + means[means.size // 2]) / 2)


def interval(lowest: Ranked, highest: Ranked, error: float) -> tuple[float, float]:
    """The interval that misses the centre of the differences with a probability of at most `error`, half on each side.

    Each difference is known to lie between a lowest and a highest value; they are equal where it is known, and infinite
    where it is a bound. Infinite ends: there are too few differences to exclude any.
    """
    mirrored = Ranked(-highest.differences, -highest.means[::-1])
    return _lower_end(lowest, error), -_lower_end(mirrored, error)


def smallest_error(count: int) -> float:
    """The smallest probability `error` for which so many differences give an interval that ends."""
    return math.ldexp(1.0, 1 - count)


def _lower_end(of: Ranked, error: float) -> float:
    """The highest centre below which the sum of scores of the differences below it is too small for chance: it changes
    only at their means."""
    most = _most(len(of.differences), error)
    means = np.unique(of.means[np.isfinite(of.means)])
    if most < 0 or not means.size:
        return -math.inf
    before = np.concatenate((means[:1], means[:-1]))
    excluded, open_ = -1, len(means)
    while open_ - excluded > 1:
        place = (excluded + open_) // 2
        # What lies between two means is all alike.
        if _score_below(of.differences, (before[place] + means[place]) / 2) <= most:
            excluded = place
        else:
            open_ = place
    return -math.inf if excluded < 0 else float(means[excluded])


def _score_below(differences: Values, centre: float) -> int:
    """The sum of the scores of the differences that are below `centre`."""
    off = differences - centre
    order = np.argsort(np.abs(off), kind="stable")
    return int(_scores(len(off))[off[order] < 0].sum())


@lru_cache(maxsize=1024)
def _scores(count: int) -> NDArray[np.int64]:
    """Of the ranks 1, 2, …"""
    return np.minimum(np.arange(1, count + 1), -(-count // _ALIKE))


@lru_cache(maxsize=1024)
def _most(count: int, error: float) -> int:
    """The largest sum of scores s for which 2 · P(sum <= s) is at most `error`; -1: none."""
    if count > _EXACT:
        scores = _scores(count)
        spread = math.sqrt(float((scores**2).sum()) / 4)
        return math.floor(float(scores.sum()) / 2 + NormalDist().inv_cdf(error / 2) * spread - 0.5)
    return int(np.searchsorted(_at_most(count), error / 2, side="right")) - 1


@lru_cache(maxsize=_EXACT + 1)
def _at_most(count: int) -> NDArray[np.float64]:
    """P(sum of scores <= s) for s = 0, 1, …, where every sign is as probable as the other."""
    chances = np.ones(1)
    for score in _scores(count):
        grown = np.zeros(len(chances) + score)
        grown[: len(chances)] = chances / 2
        grown[score:] += chances / 2
        chances = grown
    return np.asarray(np.cumsum(chances))
