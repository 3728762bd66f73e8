"""A share of counted packets with its interval: Wilson's, which holds for few and for none too. It does no I/O."""

from __future__ import annotations

import math

from keisoku.analysis.quantity import Interval, Quantity

_NORMAL = 1.959963984540054
"""95 % of a normal distribution lie within so many standard deviations."""


def share(count: int, whole: int) -> Quantity:
    """`count` of `whole` packets, in %. Packets are taken to be independent; bursts of loss make it wider than that."""
    ratio, z = count / whole, _NORMAL**2 / whole
    middle = (ratio + z / 2) / (1 + z)
    half = _NORMAL / (1 + z) * math.sqrt(ratio * (1 - ratio) / whole + z / whole / 4)
    lower = 0.0 if count == 0 else middle - half
    upper = 1.0 if count == whole else middle + half
    interval = Interval(lower=100 * lower, upper=100 * upper)
    return Quantity(value=100 * ratio, unit="%", interval=interval)
