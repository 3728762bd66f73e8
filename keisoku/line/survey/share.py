"""A share of counted packets with its interval: Wilson's, which holds for few and for none too. It does no I/O."""

from __future__ import annotations

from keisoku.analysis.quantity import Interval, Quantity
from keisoku.analysis.share import wilson


def share(count: int, whole: int) -> Quantity:
    """`count` of `whole` packets, in %. Packets are taken to be independent; bursts of loss make it wider than that."""
    ratio = count / whole
    lower, upper = wilson(ratio, whole)
    lower = 0.0 if count == 0 else lower
    upper = 1.0 if count == whole else upper
    interval = Interval(lower=100 * lower, upper=100 * upper)
    return Quantity(value=100 * ratio, unit="%", interval=interval)
