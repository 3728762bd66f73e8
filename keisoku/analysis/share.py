"""The interval of a share of things that are counted, each of which belongs to it independently of the others."""

from __future__ import annotations

import math

from keisoku.analysis.budget import student


def wilson(ratio: float, whole: float) -> tuple[float, float]:
    """Ends of the interval of 95 % (Wilson 1927) of a ratio that was seen of `whole` > 0 things."""
    z2 = student(math.inf) ** 2
    middle = (ratio + z2 / (2 * whole)) / (1 + z2 / whole)
    spread = math.sqrt(z2 * (ratio * (1 - ratio) / whole + z2 / (4 * whole**2))) / (1 + z2 / whole)
    return middle - spread, middle + spread
