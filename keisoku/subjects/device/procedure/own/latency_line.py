"""The straight line of latency against frame size, with the uncertainty budgets of slope and constant.

It chooses no sizes. A size whose latency changes during its trial has no latency that a line could be fitted to, so it
is left out, and said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from keisoku.ground.run.result import FittedLine
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.uncertainty import rectangular
from keisoku.language import phrase
from keisoku.subjects.device.analysis.drift import Drift, trend
from keisoku.subjects.device.analysis.group_line import GroupLine, group_line
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.analysis.stamp_phase import phase_share
from keisoku.subjects.device.calibration.bias import Correction
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.record.trial import NS_PER_S, Constant
from keisoku.subjects.device.record.trial_record import TrialRecord

POINTS_MIN = 3
"""Two points always lie on a line."""
STAMP_STEPS = phrase("timestamps: what their steps leave in the mean of a size")
ARITHMETIC_NS = 0.001
"""Records and simulated devices keep latencies to the picosecond."""
NOT_CALIBRATED = phrase(
    "the tester was not calibrated: the line's constant includes what the tester itself adds to"
    " every latency, so its uncertainty is not known; run 'keisoku calibrate'"
)


@dataclass(frozen=True)
class Fitted:
    """A line, and what must be said of it; no line for too few sizes with a latency of their own."""

    line: FittedLine | None
    remarks: list[str]


def samples(record: TrialRecord) -> list[float]:
    """Samples of a trial: the mean latency of each whole interval of the time of sending, in ns.

    A trial that is shorter than one interval has one sample, the mean of all its frames.
    """
    tracked = record.facts.tracked
    found = [sample.mean_ns for sample in samples_of(record, tracked)]
    return found or ([tracked.latency.mean_ns] if tracked.latency is not None else [])


def latency_change(record: TrialRecord) -> Drift | None:
    """How latency changed during a trial; None if it did not, as far as its samples show."""
    return trend(samples_of(record, record.facts.tracked))


def latency_line(inputs: MethodInput, records: Sequence[TrialRecord], sizes_min: int) -> Fitted:
    """The line through the samples of these trials, one of each size, less the tester's bias.

    The bias is the same error in all points: it adds the largest of its uncertainties to the constant and none to the
    slope. Without a calibration it is in the constant, whose uncertainty is then not known. The error of the clock's
    rate is a share of all.
    """
    remarks: list[str] = []
    steady = []
    for record in records:
        drift = latency_change(record)
        if drift is None:
            steady.append(record)
        else:
            size = record.trial.frame_bytes
            remarks.append(
                phrase(
                    "{size} byte: latency changes during the trial, by {slope:.3g} ns/s: left out of the line",
                    size=size,
                    slope=drift.slope,
                )
            )
    points: list[tuple[float, float]] = []
    corrections: list[Correction | None] = []
    steps_ns: dict[float, float] = {}
    for record in sorted(steady, key=lambda record: record.trial.frame_bytes):
        x = float(record.trial.frame_bytes)
        correction = inputs.bias.correction(record.trial.frame_bytes, record.offered_fps)
        corrections.append(correction)
        bias_ns = correction.bias_ns if correction else 0.0
        points += [(x, sample - bias_ns) for sample in samples(record)]
        steps_ns[x] = _steps_ns(inputs, record)
    if len({size for size, _ in points}) < sizes_min or len(points) < POINTS_MIN:
        return Fitted(None, remarks)
    of_stamps = {x: rectangular(step_ns / 2) for x, step_ns in steps_ns.items()}
    found = group_line(points, of_stamps)
    # On a host trials of one load differ, and that is in the errors; elsewhere only the device can bend a line.
    if found.is_bent and not inputs.capabilities.on_host:
        far, off_ns = found.farthest
        remarks.append(
            phrase(
                "latency is not a straight line of the frame size: at {far:g} byte it lies {off:.3g} ns"
                " {side} the line, where scatter and timestamps explain {explained:.2g} ns; slope and"
                " constant describe no single size",
                far=far,
                off=abs(off_ns),
                side=phrase("above") if off_ns > 0 else phrase("below"),
                explained=found.explained,
            )
        )
    return Fitted(_line(inputs, found, points, corrections, fmean(steps_ns.values())), remarks)


def _line(
    inputs: MethodInput,
    found: GroupLine,
    points: Sequence[tuple[float, float]],
    corrections: Sequence[Correction | None],
    step_ns: float,
) -> FittedLine:
    rate = inputs.bias.rate
    slope, constant = rate.corrected(found.fit.slope), rate.corrected(found.fit.constant)
    of_slope = [budget.normal(phrase("fit of the line"), found.slope_error)]
    of_constant = [budget.normal(phrase("fit of the line"), found.constant_error)]
    if found.slope_of_groups:
        of_slope.append(budget.normal(STAMP_STEPS, found.slope_of_groups, kind="B"))
        of_constant.append(budget.normal(STAMP_STEPS, found.constant_of_groups, kind="B"))
    line = FittedLine(
        slope=budget.figure(slope, "ns/byte", [*of_slope, *rate.contributions(slope)]),
        constant=budget.figure(constant, "ns", of_constant),
        slope_error=found.fit.slope_error,
        constant_error=found.fit.constant_error,
        points=list(points),
    )
    if not inputs.bias.is_known:
        unknown = line.constant.model_copy(update={"uncertainty": None, "budget": ()})
        return line.model_copy(update={"constant": unknown})
    if inputs.bias.exact and step_ns > ARITHMETIC_NS:
        of_constant.append(
            budget.rectangular(phrase("timestamps: what the sending ones' steps leave in all means"), step_ns)
        )
    if not inputs.bias.exact:
        known = [correction.of_mean for correction in corrections if correction is not None]
        of_constant += max(known, key=budget.standard_uncertainty)
    whole = budget.figure(constant, "ns", [*of_constant, *rate.contributions(constant)])
    return line.model_copy(update={"constant": whole})


def _steps_ns(inputs: MethodInput, record: TrialRecord) -> float:
    """Width within which the steps of each port's stamps may move the mean of one size.

    What the sending stamps leave is the same at all sizes; what the receiving ones leave is that of each size alone.
    """
    capabilities = inputs.capabilities
    if not inputs.bias.exact:
        return 2 * capabilities.mean_error_ns
    plan, step_ns = inputs.plan, capabilities.resolution_ns
    if not step_ns:
        return ARITHMETIC_NS
    is_even = isinstance(plan.pacing, Constant) and plan.streams == 1 and not plan.stream and not plan.mix
    gap = NS_PER_S / record.trial.frames_per_second / step_ns
    share = phase_share(gap, record.facts.tracked.forwarded_frames) if is_even else 1.0
    return max(ARITHMETIC_NS, step_ns * share)
