"""The interval of a share of things that are counted, each of which belongs to it independently of the others."""

from __future__ import annotations

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import CONFIDENCE


def clopper_pearson(count: float, whole: float) -> tuple[float, float]:
    """Ends of the exact interval of 95 %, as ratios, of what was seen `count` times of `whole` > 0 (Clopper and Pearson
    1934, by quantiles of beta). It contains the true ratio with at least this confidence, however rare or few.

    Where things come several at a time, both are how many are independent of each other, and need not be integers.
    """
    from scipy import special  # takes a while to load, and not every command needs it

    tail = (1 - CONFIDENCE) / 2
    lower = float(special.betaincinv(count, whole - count + 1, tail)) if count > 0 else 0.0
    upper = float(special.betaincinv(count + 1, whole - count, 1 - tail)) if count < whole else 1.0
    return lower, upper


def share(count: int, whole: int) -> Quantity:
    """`count` of `whole` packets, in %. Packets are taken to be independent; bursts of loss make it wider than that."""
    lower, upper = clopper_pearson(count, whole)
    interval = Interval(lower=100 * lower, upper=100 * upper)
    return Quantity(value=100 * (count / whole), unit="%", interval=interval)
