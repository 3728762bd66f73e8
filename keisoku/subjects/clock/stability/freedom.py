"""Equivalent degrees of freedom of stability variances, and the intervals that they give.

After C. A. Greenhall and W. J. Riley, "Uncertainty of stability variances based on finite differences", PTTI 2003.
The sums over covariances are computed; the tables of fitted coefficients in that paper are not used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from keisoku.subjects.clock.stability.power_law import Floats, phase_covariance

CONFIDENCE = 0.95
_STRIDES_MAX = 64
"""Strides per averaging time beyond which the covariance is sampled densely enough."""
_FLICKER_STRIDES_MAX = 20_000
"""Likewise for flicker phase, whose covariance peaks within one sample of each multiple of τ."""


@dataclass(frozen=True)
class Statistic:
    """A variance of finite differences of phase."""

    name: str
    order: int
    """Of the difference: 2 (Allan), 3 (Hadamard)."""
    modified: bool
    """Whether phase is averaged over τ before differences are taken."""

    def reach(self, m: int) -> int:
        """How many consecutive phases one term needs at τ = m·τ0."""
        return self.order * m + (m if self.modified else 1)


ADEV = Statistic("adev", 2, modified=False)
MDEV = Statistic("mdev", 2, modified=True)
HDEV = Statistic("hdev", 3, modified=False)


def freedom(statistic: Statistic, alpha: int, m: int, points: int) -> float:
    """Equivalent degrees of freedom of the overlapping estimate at τ = m·τ0 from `points` consecutive phases.

    Raises ValueError if there are too few points for one term, or if the statistic does not converge for noise of
    this α (α + 2·order must exceed 1).
    """
    order = statistic.order
    if alpha + 2 * order <= 1:
        raise ValueError(f"{statistic.name} does not converge for noise of α = {alpha}")
    terms = points - statistic.reach(m) + 1
    if terms < 1:
        raise ValueError(f"{points} points hold no term of {statistic.name} at {m} times the interval")
    if alpha == 2 and not statistic.modified:
        return _white_phase(order, m, terms)
    strides_max = _FLICKER_STRIDES_MAX if alpha == 1 and not statistic.modified else _STRIDES_MAX
    strides = min(m, strides_max)
    total = 1.0 + (terms - 1) * strides / m
    finite = float(strides) if strides == m or alpha > 0 else math.inf
    per_lag = 1.0 if statistic.modified else finite
    last = min(math.floor(total), (order + 1) * strides)
    squares = _difference_covariance(np.arange(last + 1) / strides, per_lag, alpha, order) ** 2
    weights = 1.0 - np.arange(last + 1) / total
    # BasicSum, (16): the last lag counts half.
    basic = squares[0] + 2.0 * float(np.dot(weights[1:last], squares[1:last])) + weights[last] * squares[last]
    return float(squares[0] * total / basic)


def pooled_freedom(freedoms: list[float], terms: list[int]) -> float:
    """Degrees of freedom of the mean square over all terms of several stretches that do not touch: their variances add.

    σ⁴-weighted (Welch and Satterthwaite) for stretches of one common variance.
    """
    return sum(terms) ** 2 / sum(count**2 / freedom for count, freedom in zip(terms, freedoms, strict=True))


def factors(degrees: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """By what a deviation of so many degrees of freedom is multiplied to get the ends of its interval (χ²)."""
    tail = (1.0 - confidence) / 2.0
    low, high = (2.0 * float(gammaincinv(degrees / 2.0, share)) for share in (1.0 - tail, tail))
    return math.sqrt(degrees / low), math.sqrt(degrees / high) if high > 0 else math.inf


def _white_phase(order: int, m: int, terms: int) -> float:
    """Terms of white phase only share samples at multiples of τ; (12) with the sum carried out."""
    total = 1.0
    for k in range(1, order + 1):
        shared = math.comb(2 * order, order - k) / math.comb(2 * order, order)
        total += 2.0 * max(0.0, 1.0 - k * m / terms) * shared**2
    return terms / total


def _difference_covariance(lag: Floats, per_lag: float, alpha: int, order: int) -> Floats:
    """s_z(t): of the differences of `order` of phase, (7)."""
    found = np.zeros_like(lag)
    for k in range(-order, order + 1):
        factor = (-1) ** k * math.comb(2 * order, order + k)
        found += factor * phase_covariance(lag + k, alpha, per_lag)
    return found
