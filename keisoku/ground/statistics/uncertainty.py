"""Uncertainty in the terms of the GUM (JCGM 100:2008): standard, combined, expanded.

Inputs are assumed to be independent; the caller must be able to justify this.
"""

from __future__ import annotations

import math

COVERAGE_FACTOR = 2.0
"""k = 2: about 95 % of a normal distribution (GUM 6.2.1, 6.3.3). Every figure shown uses it."""


def standard_error_of_mean(deviation: float, count: int) -> float:
    """Type A standard uncertainty of a mean of `count` independent values (GUM 4.2.3).

    `deviation` is the experimental standard deviation of the values, in any unit.
    Raises ValueError for a count below 1 or a negative deviation.
    """
    if count < 1 or deviation < 0:
        raise ValueError(f"no standard error for {count} values with deviation {deviation}")
    return deviation / math.sqrt(count)


def rectangular(half_width: float) -> float:
    """Type B standard uncertainty of a value known to lie within ± `half_width` (GUM 4.3.7).

    Meant for a clock's resolution or a bucket. Raises ValueError if `half_width` is negative.
    """
    if half_width < 0:
        raise ValueError(f"a half width cannot be negative, got {half_width}")
    return half_width / math.sqrt(3)


def combine(*standard: float) -> float:
    """Combined standard uncertainty of a sum or difference of independent inputs (GUM 5.1.2).

    Raises ValueError if one is negative.
    """
    if any(uncertainty < 0 for uncertainty in standard):
        raise ValueError(f"a standard uncertainty cannot be negative, got {min(standard)}")
    return math.hypot(*standard)


def expanded(standard: float, coverage_factor: float = COVERAGE_FACTOR) -> float:
    """Expanded uncertainty U = k · u (GUM 6.2.1), what `Quantity.uncertainty` holds."""
    return coverage_factor * standard
