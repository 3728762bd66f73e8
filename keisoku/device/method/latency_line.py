"""The straight line of latency against frame size, with the uncertainty budgets of slope and constant.

It neither chooses sizes nor leaves points out.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.analysis import budget
from keisoku.analysis.line import POINTS_MIN, fit_line
from keisoku.analysis.quantity import Contribution
from keisoku.clock.rate import SECOND, Rate
from keisoku.device.calibration.bias import Correction
from keisoku.device.record.trial import TrialRecord
from keisoku.run.result import Line

ARITHMETIC = 1e-9
"""Smaller relative standard errors come from rounding to doubles and picoseconds."""


def samples(record: TrialRecord) -> list[float]:
    """Samples of a trial: the mean latency of each interval in which frames arrived, in ns."""
    return [interval.latency.mean_ns for interval in record.facts.tracked.series if interval.latency is not None]


def latency_line(
    points: Sequence[tuple[float, float]],
    corrections: Sequence[Correction],
    sizes_min: int,
    mean_error_ns: float = 0.0,
    rate: Rate = SECOND,
) -> Line | None:
    """Fits (frame bytes, latency ns), biases subtracted already; None for fewer than `sizes_min` sizes.

    Residuals make both figures uncertain (type A). The bias is the same error in all points: it adds the largest
    uncertainty of `corrections` to the constant and none to the slope. The error that the timestamps' quantisation
    leaves in a mean, at most `mean_error_ns`, may differ at each size. The error of the clock's `rate` is a share of
    all.
    """
    if len({size for size, _ in points}) < sizes_min or len(points) < POINTS_MIN:
        return None
    found = fit_line([size for size, _ in points], [latency for _, latency in points])
    of_bias = max((correction.of_mean for correction in corrections), key=budget.standard_uncertainty, default=())
    of_slope = [_of_fit(found.slope, found.slope_error)]
    if mean_error_ns:
        sizes = [size for size, _ in points]
        reach = 1 / (max(sizes) - min(sizes))
        of_slope += [budget.triangular("timestamps: quantisation in means", 2 * mean_error_ns, sensitivity=reach)]
    slope, constant = rate.corrected(found.slope), rate.corrected(found.constant)
    of_constant = [_of_fit(found.constant, found.constant_error), *of_bias]
    return Line(
        slope=budget.figure(slope, "ns/byte", [*of_slope, *rate.contributions(slope)]),
        constant=budget.figure(constant, "ns", [*of_constant, *rate.contributions(constant)]),
        slope_error=found.slope_error,
        constant_error=found.constant_error,
        points=list(points),
    )


def _of_fit(value: float, error: float) -> Contribution:
    """In virtual time residuals come from the arithmetic alone and add no uncertainty."""
    return budget.normal("fit of the line", error if error > ARITHMETIC * abs(value) else 0.0)
