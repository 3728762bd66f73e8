"""A series of calibrations on cables of known lengths: speed of propagation and the instrument's own latency.

Fits results of runs; measures nothing. t(L) = propagation · L + constant, by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from keisoku.analysis import budget
from keisoku.analysis.line import fit_line
from keisoku.analysis.quantity import Contribution, Quantity
from keisoku.device.record.run import DeviceRun
from keisoku.errors import PlanError

LIGHT_M_PER_S = 299_792_458
LENGTHS_MIN = 3


@dataclass(frozen=True)
class Point:
    """The tester on one cable, at one load."""

    run: str
    length_m: float
    latency_ns: float
    shared: tuple[Contribution, ...] = ()
    """Uncertainty contributions that are the same on every cable and therefore not visible in the residuals."""
    residual_ns: float = 0.0
    """Measured minus fitted."""


@dataclass(frozen=True)
class CableSeries:
    """Results of a series of cables for one frame size. Uncertainties are expanded (k = 2); errors are standard
    errors."""

    frame_bytes: int
    propagation: Quantity
    """ns/m."""
    speed: Quantity
    """m/s."""
    constant: Quantity
    """ns: the instrument without any cable."""
    propagation_error: float
    """Standard error in ns/m."""
    constant_error: float
    points: tuple[Point, ...]

    @property
    def share_of_light_percent(self) -> float:
        """Speed of propagation as a share of the speed of light in vacuum."""
        return 100 * self.speed.value / LIGHT_M_PER_S


def cable_series(runs: Sequence[DeviceRun]) -> list[CableSeries]:
    """One line for each frame size that was calibrated, over all its loads, by size.

    Raises PlanError for a run that is no calibration or names no length, and for fewer than three lengths.
    """
    points: dict[int, list[Point]] = {}
    for run in runs:
        length_m = run.plan.get("calibrate", {}).get("length_m")
        rows = [row for result in run.results if result.measurement == "calibrate" for row in result.rows]
        if not rows or length_m is None:
            problem = "is no calibration" if not rows else "does not say how long the cable was"
            raise PlanError("run", f"{run.directory} {problem}", "measure it with 'keisoku calibrate --length 0.20m'")
        for row in rows:
            bias = row.figures["bias"]
            shared = tuple(part for part in bias.budget if part.kind == "B")
            point = Point(str(run.directory), float(length_m), bias.value, shared)
            points.setdefault(row.frame_bytes, []).append(point)
    return [_series(size, points[size]) for size in sorted(points)]


def _series(size: int, points: Sequence[Point]) -> CableSeries:
    lengths = {point.length_m for point in points}
    if len(lengths) < LENGTHS_MIN:
        problem = f"{len(lengths)} lengths at {size} byte are too few for a line with standard errors"
        raise PlanError("run", problem, f"calibrate with at least {LENGTHS_MIN} lengths")
    line = fit_line([point.length_m for point in points], [point.latency_ns for point in points])
    if line.slope <= 0:
        raise PlanError(
            "run", "latency does not grow with the length", "check the lengths, or use a more precise instrument"
        )
    of_slope = budget.normal("fit of the line", line.slope_error)
    speed = 1e9 / line.slope
    of_speed = budget.normal("propagation: fit of the line", line.slope_error, sensitivity=-speed / line.slope)
    of_constant = [budget.normal("fit of the line", line.constant_error)]
    of_constant += max((point.shared for point in points), key=budget.standard_uncertainty)
    return CableSeries(
        frame_bytes=size,
        propagation=budget.figure(line.slope, "ns/m", [of_slope]),
        speed=budget.figure(speed, "m/s", [of_speed]),
        constant=budget.figure(line.constant, "ns", of_constant),
        propagation_error=line.slope_error,
        constant_error=line.constant_error,
        points=tuple(
            replace(point, residual_ns=float(residual)) for point, residual in zip(points, line.residuals, strict=True)
        ),
    )
