"""netperf's rule of when a figure was measured often enough (`-I 99,5`, `-i 30,3`). Pure.

A figure is settled once the interval of its mean at the given level reaches no further than the given share of the
mean, after the fewest runs at the earliest, and at the latest after the most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Confidence:
    """The rule; netperf's by default."""

    level: float = 0.99
    half_width: float = 0.025
    """Of the interval, as a share of the mean."""
    least: int = 3
    most: int = 30

    def __post_init__(self) -> None:
        if not (0 < self.level < 1 and self.half_width > 0 and 2 <= self.least <= self.most):
            raise ValueError(f"no rule: {self}")

    def met(self, values: Sequence[float]) -> bool:
        """True if the values are enough by their scatter."""
        if len(values) < self.least:
            return False
        mean = float(np.mean(values))
        return half_width(values, self.level) <= self.half_width * abs(mean)

    def settled(self, values: Sequence[float]) -> bool:
        """True if no more are wanted: enough by their scatter, or the most there may be."""
        return len(values) >= self.most or self.met(values)


def half_width(values: Sequence[float], level: float) -> float:
    """Of the mean's interval by Student's t, in the unit of the values; infinite for fewer than two.

    netperf writes t·√(v/(n - 1)) with the variance v of the values themselves, which is the same.
    """
    count = len(values)
    if count < 2:
        return math.inf
    return _quantile(level, count - 1) * float(np.std(values, ddof=1)) / math.sqrt(count)


@lru_cache(maxsize=256)
def _quantile(level: float, freedom: int) -> float:
    return float(special.stdtrit(freedom, (1 + level) / 2))
