"""The interval of a share of things that are counted, each of which belongs to it independently of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import CONFIDENCE, student

_NORMAL = 1.959964
"""Half the width of an interval of 95 % of a normal distribution, in standard deviations."""


def clopper_pearson(count: float, whole: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Ends of the exact interval (of 95 %), as ratios, of what was seen `count` times of `whole` > 0 (Clopper and
    Pearson 1934, by quantiles of beta). It contains the true ratio with at least this confidence, however rare or few.

    Where things come several at a time, both are how many are independent of each other, and need not be integers.
    """
    tail = (1 - confidence) / 2
    if count in (0, whole):  # the quantile is a root
        end = -math.expm1(math.log(tail) / whole)
        return (0.0, end) if count == 0 else (1 - end, 1.0)
    from keisoku.ground.statistics.distribution import beta_quantile  # not needed before the first frame

    return beta_quantile(count, whole - count + 1, tail), beta_quantile(count + 1, whole - count, 1 - tail)


def share(count: int, whole: int) -> Quantity:
    """`count` of `whole` packets, in %. Packets are taken to be independent; bursts of loss make it wider than that."""
    lower, upper = clopper_pearson(count, whole)
    interval = Interval(lower=100 * lower, upper=100 * upper)
    return Quantity(value=100 * (count / whole), unit="%", interval=interval)


def share_of_groups(counts: Sequence[int], wholes: Sequence[int]) -> Quantity:
    """A share in % of what was counted in groups, such as rounds, between which it differs by more than by chance.

    All count alike. By how much the groups differ says how many of them are independent (the design effect of a ratio,
    Cochran, Sampling Techniques, 6.3 and 9A), with Student's factor for that few groups, so the interval ends at 0 and
    at 100 %. Raises ValueError for nothing at all.
    """
    count, whole, groups = sum(counts), sum(wholes), len(wholes)
    if not whole:
        raise ValueError("a share is one of something")
    ratio, effect = count / whole, 1.0
    if groups > 1 and 0 < ratio < 1:
        residuals = (own - ratio * of for own, of in zip(counts, wholes, strict=True))
        variance = groups / (groups - 1) * math.fsum(one**2 for one in residuals) / whole**2
        factor = (student(groups - 1) / _NORMAL) ** 2
        effect = max(1.0, factor * variance * whole / (ratio * (1 - ratio)))
    lower, upper = clopper_pearson(count / effect, whole / effect)
    return Quantity(value=100 * ratio, unit="%", interval=Interval(lower=100 * lower, upper=100 * upper))
