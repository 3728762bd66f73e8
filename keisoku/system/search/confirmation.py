"""Tests whether a limit is better than none: interleaved blocks and a paired test. Proposes; never sets a limit.

A block of four is limit, none, none, limit (ABBA), so a drift that is straight over the block cancels in its
difference. The differences of blocks are what is tested (Student, one-sided).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from keisoku.system.search.candidate import Limit
from keisoku.system.search.evaluation import Evaluation

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Gain:
    """By how much a limit's score lies above that of none, in natural logarithms."""

    mean: float
    lower: float
    """Lower 95 % bound of the mean."""
    error: float
    """Half the width of its two-sided interval of 95 %."""
    blocks: int

    @property
    def real(self) -> bool:
        """True if the gain is significant."""
        return self.lower > 0

    @property
    def percent(self) -> float:
        """The mean, of the figure of merit itself."""
        return 100 * math.expm1(self.mean)


def confirm(limit: Limit, blocks: int) -> Generator[Evaluation, float, Gain]:
    """Evaluates the limit against none in so many blocks of four. Two blocks at least, as one has no scatter."""
    differences = []
    for _ in range(blocks):
        scores = []
        for tried in (limit, None, None, limit):
            scores.append((yield Evaluation(tried, "confirm")))
        differences.append((scores[0] - scores[1] - scores[2] + scores[3]) / 2)
    return gain(differences)


def gain(differences: list[float]) -> Gain:
    """The mean of paired differences and its lower bound. Raises ValueError for fewer than two."""
    count = len(differences)
    if count < 2:
        raise ValueError("one difference has no scatter to test it by")
    from scipy.stats import t  # loading scipy takes longer than most commands need to start

    error = float(np.std(differences, ddof=1)) / math.sqrt(count)
    mean = float(np.mean(differences))
    one_sided, two_sided = (float(t.ppf(chance, count - 1)) * error for chance in (CONFIDENCE, (1 + CONFIDENCE) / 2))
    return Gain(mean, mean - one_sided, two_sided, count)
