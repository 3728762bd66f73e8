"""Error budgets by the GUM: contributions, and the figure with their combined uncertainty.

The only place that combines contributions, so that a budget's total is the figure's uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from keisoku.ground.statistics.quantity import Contribution, Interval, Quantity
from keisoku.ground.statistics.uncertainty import (
    CONFIDENCE,
    COVERAGE_FACTOR,
    combine,
    deviation,
    expanded,
    half_width,
)


def normal(source: str, standard: float, kind: str = "A", sensitivity: float = 1.0) -> Contribution:
    """A contribution whose standard uncertainty is known: of a fit or of repetitions (type A), or stated (type B).

    `standard` has the unit of what it is of, and `sensitivity` that of the figure per this one.
    """
    return _contribution(source, kind, "normal", standard, 1.0, sensitivity)


def rectangular(source: str, half_width: float, sensitivity: float = 1.0) -> Contribution:
    """Type B: a value known to lie within ± `half_width`, rectangular distribution (GUM 4.3.7); units as in
    `normal`."""
    return _contribution(source, "B", "rectangular", half_width, math.sqrt(3), sensitivity)


def triangular(source: str, half_width: float, sensitivity: float = 1.0) -> Contribution:
    """Type B: the difference of two values rounded alike, each within ± `half_width` / 2 (GUM 4.3.9); units as in
    `normal`."""
    return _contribution(source, "B", "triangular", half_width, math.sqrt(6), sensitivity)


def repeatability(source: str, values: Sequence[float]) -> tuple[Contribution, ...]:
    """Type A: the mean of repetitions, from their scatter (GUM 4.2.3); nothing for fewer than two.

    Few repetitions show their scatter badly. So the standard error is enlarged until twice of it covers 95 % (GUM G.3).
    """
    return (normal(source, half_width(values) / COVERAGE_FACTOR),) if len(values) > 1 else ()


def mean(values: Sequence[float], unit: str, confidence: float = CONFIDENCE) -> Quantity:
    """The mean of independent values with Student's interval; of a single one, whose scatter nothing shows, no more.

    `unit` is that of the values. `confidence` is another one than that of the interval only where values were chosen by
    what they are. Raises ValueError for none.
    """
    if not values:
        raise ValueError("nothing has no mean")
    reach = half_width(values, confidence)
    return Quantity(value=fmean(values), unit=unit, uncertainty=reach if math.isfinite(reach) else None)


def mean_with(values: Sequence[float], unit: str, source: str, others: Sequence[Contribution]) -> Quantity:
    """The mean of independent values: their scatter, which is called `source`, and other contributions; of a single one
    the others alone. `unit` is that of the values."""
    return figure(fmean(values), unit, [*repeatability(source, values), *others])


def variance(values: Sequence[float], unit: str) -> Quantity:
    """The variance of two or more normal values, with its interval by chi-squared; `unit` is that of its square."""
    from keisoku.ground.statistics.distribution import chi_squared_quantile  # not needed before the first frame

    freedom, tail = len(values) - 1, (1 - CONFIDENCE) / 2
    square = deviation(values) ** 2
    lower, upper = (square * freedom / chi_squared_quantile(freedom, chance) for chance in (tail, 1 - tail))
    return _between(square, unit, lower, upper)


def spread(values: Sequence[float], unit: str) -> Quantity:
    """The standard deviation of two or more normal values, with the interval of their variance; `unit` is theirs."""
    square = variance(values, unit)
    assert square.interval is not None
    lower, upper = math.sqrt(square.interval.lower), math.sqrt(square.interval.upper)
    return _between(math.sqrt(square.value), unit, lower, upper)


def standard_uncertainty(contributions: Iterable[Contribution]) -> float:
    """Combined standard uncertainty of independent contributions, each with its sensitivity (GUM 5.1.2), in the
    figure's unit."""
    return combine(*(contribution.uncertainty for contribution in contributions))


def figure(value: float, unit: str, contributions: Sequence[Contribution]) -> Quantity:
    """A figure with its budget and the expanded uncertainty (k = 2) that follows from it, all in `unit`."""
    uncertainty = expanded(standard_uncertainty(contributions))
    return Quantity(value=value, unit=unit, uncertainty=uncertainty, budget=tuple(contributions))


def _between(value: float, unit: str, lower: float, upper: float) -> Quantity:
    reach = max(value - lower, upper - value)
    return Quantity(value=value, unit=unit, uncertainty=reach, interval=Interval(lower=lower, upper=upper))


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
