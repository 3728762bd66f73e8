"""Error budgets by the GUM: contributions, and the figure with their combined uncertainty.

The only place that combines contributions, so that a budget's total is the figure's uncertainty.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.ground.statistics.uncertainty import COVERAGE_FACTOR, combine, expanded, standard_error_of_mean


def normal(source: str, standard: float, kind: str = "A", sensitivity: float = 1.0) -> Contribution:
    """A contribution whose standard uncertainty is known: of a fit or of repetitions (type A), or stated (type B)."""
    return _contribution(source, kind, "normal", standard, 1.0, sensitivity)


def rectangular(source: str, half_width: float, sensitivity: float = 1.0) -> Contribution:
    """Type B: a value known to lie within ± `half_width`, rectangular distribution (GUM 4.3.7)."""
    return _contribution(source, "B", "rectangular", half_width, math.sqrt(3), sensitivity)


def triangular(source: str, half_width: float, sensitivity: float = 1.0) -> Contribution:
    """Type B: the difference of two values rounded alike, each within ± `half_width` / 2 (GUM 4.3.9)."""
    return _contribution(source, "B", "triangular", half_width, math.sqrt(6), sensitivity)


def repeatability(source: str, values: Sequence[float]) -> tuple[Contribution, ...]:
    """Type A: the mean of repetitions, from their scatter (GUM 4.2.3); nothing for fewer than two.

    Few repetitions show their scatter badly. So the standard error is enlarged until twice of it covers 95 % (GUM G.3).
    """
    if len(values) < 2:
        return ()
    error = standard_error_of_mean(statistics.stdev(values), len(values))
    return (normal(source, error * student(len(values) - 1) / COVERAGE_FACTOR),)


def student(freedom: float) -> float:
    """Factor by which a standard error is multiplied for a two-sided interval of 95 % (Student's t)."""
    from scipy import special  # takes a while to load, and not every command needs it

    return float(special.stdtrit(freedom, 0.975)) if math.isfinite(freedom) else float(special.ndtri(0.975))


def standard_uncertainty(contributions: Iterable[Contribution]) -> float:
    """Combined standard uncertainty of independent contributions, each with its sensitivity (GUM 5.1.2)."""
    return combine(*(contribution.uncertainty for contribution in contributions))


def figure(value: float, unit: str, contributions: Sequence[Contribution]) -> Quantity:
    """A figure with its budget and the expanded uncertainty (k = 2) that follows from it."""
    uncertainty = expanded(standard_uncertainty(contributions))
    return Quantity(value=value, unit=unit, uncertainty=uncertainty, budget=tuple(contributions))


def _contribution(
    source: str, kind: str, distribution: str, value: float, divisor: float, sensitivity: float
) -> Contribution:
    return Contribution.model_validate(
        {
            "source": source,
            "kind": kind,
            "distribution": distribution,
            "value": value,
            "divisor": divisor,
            "sensitivity": sensitivity,
            "uncertainty": abs(sensitivity) * value / divisor,
        }
    )
