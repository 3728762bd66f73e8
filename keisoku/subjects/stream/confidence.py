"""netperf's rule for the number of repetitions of a figure (`-I 99,5`, `-i 30,3`).

A figure is settled when the half-width of its mean's confidence interval is at most the given share of the mean;
at the earliest after the least number of runs, and at the latest after the greatest.

Such a rule prefers to stop when the scatter of the runs so far is small by chance, so that Student's interval of 95 %
of what it stopped contains the mean in 90 % only. Intervals that are shown use another factor there (`shown`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics.uncertainty import CONFIDENCE, half_width

STOPPED = 0.98
"""Level of Student's factor where the rule ended the runs, by which an interval of 95 % contains the mean in 94 to 98 %
(normal), 93 % or more (uniform), 89 % or more (gamma of shape 2): `benchmarks/accuracy/stopping.py`."""


@dataclass(frozen=True)
class Confidence:
    """The rule; netperf's by default."""

    level: float = 0.99
    half_width: float = 0.025
    """Half-width of the interval, as a share of the mean."""
    least: int = 3
    most: int = 30

    def __post_init__(self) -> None:
        if not (0 < self.level < 1 and self.half_width > 0 and 2 <= self.least <= self.most):
            raise ValueError(f"no rule: {self}")

    def met(self, values: Sequence[float]) -> bool:
        """True if the confidence interval is narrow enough, whatever the unit of the values."""
        if len(values) < self.least:
            return False
        mean = float(np.mean(values))
        return half_width(values, self.level) <= self.half_width * abs(mean)

    def student_level(self, values: Sequence[float]) -> float:
        """Level of Student's factor of an interval of 95 %, of figures whose number this rule decided."""
        return STOPPED if self.chose(values) else CONFIDENCE

    def chose(self, values: Sequence[float]) -> bool:
        """True if the rule ended the runs by what they gave, in any unit, not by their number."""
        return self.least < self.most and self.met(values)

    def settled(self, values: Sequence[float]) -> bool:
        """True if no more runs are needed: the interval (in any unit) is narrow, or the number the greatest."""
        return len(values) >= self.most or self.met(values)
