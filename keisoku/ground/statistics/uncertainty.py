"""Uncertainty in the terms of the GUM (JCGM 100:2008): of a sample by Student's t, standard, combined, expanded.

The only place that takes a sample's deviation (a test looks for others), so that there is one rule for few values.
Inputs are assumed to be independent; the caller must be able to justify this.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import NormalDist

COVERAGE_FACTOR = 2.0
"""k = 2: about 95 % of a normal distribution (GUM 6.2.1, 6.3.3). Every figure shown uses it."""
CONFIDENCE = 0.95
"""What every interval covers that names nothing else."""


def deviation(values: Iterable[float], fitted: int = 1) -> float:
    """Experimental standard deviation (GUM 4.2.2), in the unit of the values, of which so many parameters were fitted.

    Of residuals `fitted` is the number of the fit's parameters; 0 makes it that of the values themselves.
    Raises ValueError unless there are more values than that.
    """
    known = [float(value) for value in values]
    freedom = len(known) - fitted
    if freedom < 1:
        raise ValueError(f"{len(known)} values of which {fitted} were fitted show no scatter")
    if min(known) == max(known):  # their mean, rounded, need not be they
        return 0.0
    mean = math.fsum(known) / len(known)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in known) / freedom)


def standard_error_of_mean(values: Sequence[float]) -> float:
    """Type A standard uncertainty of the mean of independent values (GUM 4.2.3), in their unit.

    Raises ValueError for fewer than two.
    """
    return deviation(values) / math.sqrt(len(values))


def half_width(values: Sequence[float], confidence: float = CONFIDENCE) -> float:
    """Half the width of Student's interval of the mean of independent values, in their unit; infinite for fewer than
    two. Of normal values it contains the mean with exactly this confidence, however few they are."""
    if len(values) < 2:
        return math.inf
    return student(len(values) - 1, confidence) * standard_error_of_mean(values)


@lru_cache(maxsize=1024)
def student(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Factor by which a standard error is multiplied for a two-sided interval (Student's t, GUM G.3)."""
    share = (1 + confidence) / 2
    if math.isinf(freedom):
        return NormalDist().inv_cdf(share)
    from keisoku.ground.statistics.distribution import student_quantile  # not needed before the first frame

    return student_quantile(freedom, share)


def effective_freedom(parts: Iterable[tuple[float, float]]) -> float:
    """Degrees of freedom of a combined standard uncertainty (Welch–Satterthwaite, GUM G.4.1).

    `parts` are the standard uncertainty and the degrees of freedom of each; infinite if all of the first are zero.
    """
    known = [(error**2, freedom) for error, freedom in parts if error]
    least = sum(square**2 / freedom for square, freedom in known)
    return sum(square for square, _ in known) ** 2 / least if least else math.inf


def half_width_of_sum(samples: Sequence[Sequence[float]], scales: Sequence[float]) -> float:
    """Half the width of the interval of 95 % of a sum of independent samples' means, each times its scale (Welch).

    Infinite if one of them has fewer than two values.
    """
    if min(map(len, samples)) < 2:
        return math.inf
    errors = [abs(scale) * standard_error_of_mean(sample) for sample, scale in zip(samples, scales, strict=True)]
    freedom = effective_freedom((error, len(sample) - 1) for error, sample in zip(errors, samples, strict=True))
    return student(freedom) * combine(*errors)


def rectangular(half_width: float) -> float:
    """Type B standard uncertainty of a value known to lie within ± `half_width` (GUM 4.3.7), in its unit.

    Meant for a clock's resolution or a bucket. Raises ValueError if `half_width` is negative.
    """
    if half_width < 0:
        raise ValueError(f"a half width cannot be negative, got {half_width}")
    return half_width / math.sqrt(3)


def combine(*standard: float) -> float:
    """Combined standard uncertainty of a sum or difference of independent inputs (GUM 5.1.2), in their unit.

    Raises ValueError if one is negative.
    """
    if any(uncertainty < 0 for uncertainty in standard):
        raise ValueError(f"a standard uncertainty cannot be negative, got {min(standard)}")
    return math.hypot(*standard)


def expanded(standard: float, coverage_factor: float = COVERAGE_FACTOR) -> float:
    """Expanded uncertainty U = k · u (GUM 6.2.1), what `Quantity.uncertainty` holds, in the unit of `standard`."""
    return coverage_factor * standard
