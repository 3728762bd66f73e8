"""The interval of a share of things that are counted, each of which belongs to it independently of the others."""

from __future__ import annotations

import math

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import CONFIDENCE


def clopper_pearson(count: float, whole: float) -> tuple[float, float]:
    """Ends of the exact interval of 95 %, as ratios, of what was seen `count` times of `whole` > 0 (Clopper and Pearson
    1934, by quantiles of beta). It contains the true ratio with at least this confidence, however rare or few.

    Where things come several at a time, both are how many are independent of each other, and need not be integers.
    """
    tail = (1 - CONFIDENCE) / 2
    if count in (0, whole):  # the quantile is a root, and most commands need no other
        end = -math.expm1(math.log(tail) / whole)
        return (0.0, end) if count == 0 else (1 - end, 1.0)
    from scipy import special  # takes a while to load

    lower = float(special.betaincinv(count, whole - count + 1, tail))
    upper = float(special.betaincinv(count + 1, whole - count, 1 - tail))
    return lower, upper


def share(count: int, whole: int) -> Quantity:
    """`count` of `whole` packets, in %. Packets are taken to be independent; bursts of loss make it wider than that."""
    lower, upper = clopper_pearson(count, whole)
    interval = Interval(lower=100 * lower, upper=100 * upper)
    return Quantity(value=100 * (count / whole), unit="%", interval=interval)
