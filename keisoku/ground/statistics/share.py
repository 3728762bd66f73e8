"""The interval of a share of things that are counted, each of which belongs to it independently of the others."""

from __future__ import annotations

import math

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import student


def wilson(ratio: float, whole: float) -> tuple[float, float]:
    """Ends of the interval of 95 % (Wilson 1927) of a ratio that was seen of `whole` > 0 things."""
    z2 = student(math.inf) ** 2
    middle = (ratio + z2 / (2 * whole)) / (1 + z2 / whole)
    spread = math.sqrt(z2 * (ratio * (1 - ratio) / whole + z2 / (4 * whole**2))) / (1 + z2 / whole)
    return middle - spread, middle + spread


def share(count: int, whole: int) -> Quantity:
    """`count` of `whole` packets, in %. Packets are taken to be independent; bursts of loss make it wider than that."""
    ratio = count / whole
    lower, upper = wilson(ratio, whole)
    lower = 0.0 if count == 0 else lower
    upper = 1.0 if count == whole else upper
    interval = Interval(lower=100 * lower, upper=100 * upper)
    return Quantity(value=100 * ratio, unit="%", interval=interval)
