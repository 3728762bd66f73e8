"""A series of calibrations on cables of known lengths: speed of propagation and the instrument's own latency.

Fits results of runs; measures nothing. t(L) = propagation · L + constant, by least squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from keisoku.errors import PlanError
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.ground.statistics.uncertainty import rectangular
from keisoku.language import phrase
from keisoku.subjects.device.analysis.group_line import Repeats, group_line
from keisoku.subjects.device.analysis.stamp_phase import phase_share
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord

LIGHT_M_PER_S = 299_792_458
LENGTHS_MIN = 3
ARITHMETIC_NS = 0.002
"""Latencies are differences of two times that are kept to the picosecond."""
_STEPS = phrase("timestamps: what their steps leave in the mean on a cable")


@dataclass(frozen=True)
class Point:
    """The tester on one cable, at one load."""

    run: str
    length_m: float
    latency_ns: float
    shared: tuple[Contribution, ...] = ()
    """Uncertainty contributions that are the same on every cable and therefore not visible in the residuals."""
    repeat_ns: float = 0.0
    """Standard error of the mean, from how its trials repeat."""
    trials: int = 1
    step_ns: float = 0.0
    """Width within which the steps of the receiving stamps may move the mean."""
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
            offered = row.figures["offered"].value
            trials = [
                record
                for record in run.records
                if record.valid
                and record.trial.frame_bytes == row.frame_bytes
                and record.trial.frames_per_second == offered
            ]
            repeat_ns = budget.standard_uncertainty(part for part in bias.budget if part.kind == "A")
            points.setdefault(row.frame_bytes, []).append(
                Point(
                    run=str(run.directory),
                    length_m=float(length_m),
                    latency_ns=bias.value,
                    shared=shared,
                    repeat_ns=repeat_ns,
                    trials=len(trials),
                    step_ns=_step_ns(bias, trials),
                )
            )
    return [_series(size, points[size]) for size in sorted(points)]


def _series(size: int, points: Sequence[Point]) -> CableSeries:
    lengths = {point.length_m for point in points}
    if len(lengths) < LENGTHS_MIN:
        problem = f"{len(lengths)} lengths at {size} byte are too few for a line with standard errors"
        raise PlanError("run", problem, f"calibrate with at least {LENGTHS_MIN} lengths")
    on = {length_m: [point for point in points if point.length_m == length_m] for length_m in lengths}
    found = group_line(
        [(point.length_m, point.latency_ns) for point in points],
        {length_m: _of_steps_ns(own) for length_m, own in on.items()},
        {length_m: _repeats(own) for length_m, own in on.items()},
    )
    line = found.fit
    if line.slope <= 0:
        raise PlanError(
            "run", "latency does not grow with the length", "check the lengths, or use a more precise instrument"
        )
    of_slope = [
        budget.normal(phrase("fit of the line"), found.slope_error),
        budget.normal(_STEPS, found.slope_of_groups, kind="B"),
    ]
    speed = 1e9 / line.slope
    standard = budget.standard_uncertainty(of_slope)
    of_speed = budget.normal(phrase("propagation: fit of the line"), standard, sensitivity=-speed / line.slope)
    of_constant = [
        budget.normal(phrase("fit of the line"), found.constant_error),
        budget.normal(_STEPS, found.constant_of_groups, kind="B"),
    ]
    of_constant += max((point.shared for point in points), key=budget.standard_uncertainty)
    return CableSeries(
        frame_bytes=size,
        propagation=budget.figure(line.slope, "ns/m", of_slope),
        speed=budget.figure(speed, "m/s", [of_speed]),
        constant=budget.figure(line.constant, "ns", of_constant),
        propagation_error=line.slope_error,
        constant_error=line.constant_error,
        points=tuple(
            replace(point, residual_ns=float(residual)) for point, residual in zip(points, line.residuals, strict=True)
        ),
    )


def _step_ns(bias: Quantity, trials: Sequence[TrialRecord]) -> float:
    """Of one load on one cable, where the steps of the stamps are known."""
    step_ns = max((part.value for part in bias.budget if "resolution" in part.source), default=0.0)
    if not step_ns or not trials:
        return ARITHMETIC_NS
    one = trials[0]
    share = phase_share(NS_PER_S / one.trial.frames_per_second / step_ns, one.facts.tracked.forwarded_frames)
    return max(ARITHMETIC_NS, step_ns * share)


def _of_steps_ns(points: Sequence[Point]) -> float:
    """Standard uncertainty of the mean over the loads on one cable."""
    return math.hypot(*(rectangular(point.step_ns / 2) for point in points)) / len(points)


def _repeats(points: Sequence[Point]) -> Repeats:
    """Of the mean over the loads on one cable: loads differ by what they are, which is no scatter."""
    variance = sum(point.repeat_ns**2 for point in points) / len(points) ** 2
    return Repeats(variance, sum(max(0, point.trials - 1) for point in points))
