"""Frame size sweep of the published switch measurements (E1): each size at the smallest gap, one latency value a
second.

A least-squares line is fitted. Where larger sizes are dropped, the largest that passes is found by bisection. A port
whose clock is slower than the tester's has no latency of its own at the smallest gap, because its queue grows: such a
size is measured again just below that port's rate.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import partial

from pydantic import Field

from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.behaviour import RESOLUTION_NS
from keisoku.subjects.device.analysis.drift import MARGIN_PPM, TOLERANCE_PPM
from keisoku.subjects.device.analysis.loss_ratio import loss_of
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS, beyond_tester, reached_fps
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.plot.histogram_plot import histogram_plot
from keisoku.subjects.device.plot.size_plots import latency_plot, line_text
from keisoku.subjects.device.procedure.own.latency_line import NOT_CALIBRATED, latency_change, latency_line, samples
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


class SweepSettings(Settings):
    """Each size at the smallest gap, one latency value a second, least-squares line (published switch measurements,
    E1)."""

    trial_s: float = Field(10.0, gt=0)
    """Length of each trial."""
    sample_s: float | None = Field(None, gt=0)
    """Length of one latency sample (default: 1 s, or a tenth of a shorter trial)."""
    rate_fps: Load | None = None
    """Load at every size (default: the smallest gap, 100 % of the link)."""


WAITING_SAMPLES = 4
"""Of a trial, of which the later ones are compared with all."""
LOWERED = 2
"""How often the load of a size is lowered because latency changes during its trial."""


@dataclass(frozen=True)
class _Measured:
    """The trials of one size."""

    first: TrialRecord
    """At the smallest gap, or at the given rate."""
    record: TrialRecord
    """At the highest load at which the latency is the size's own; `first` if that is so at once, or at no load."""

    @property
    def is_lowered(self) -> bool:
        return self.record is not self.first


def sweep(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'latency' (mean, ns) and 'drop' (% of the theoretical maximum); `line` over all samples."""
    found: dict[int, _Measured] = {}
    remarks: list[str] = []
    for size in inputs.plan.frame_bytes:
        found[size] = yield from _measure(inputs, size)
    records = {size: one.record for size, one in found.items()}
    passing = [size for size, record in records.items() if _passes(record)]
    failing = [size for size, record in records.items() if not _passes(record) and size > max(passing, default=0)]
    if passing and failing:
        largest = yield from _bisect(inputs, max(passing), min(failing), found, _passes)
        remarks.append(
            phrase(
                "largest frame forwarded without loss: {largest} byte; frames of {larger} byte are dropped",
                largest=largest,
                larger=largest + 1,
            )
        )
        records = {size: one.record for size, one in found.items()}
        some, none = _parted(records, _arrives)
        if some > largest and none is not None:
            some = yield from _bisect(inputs, some, none, found, _arrives)
            remarks.append(phrase("largest frame size of which a part was forwarded: {some} byte", some=some))
    elif passing:
        remarks.append(
            phrase(
                "largest frame tried, {most} byte, was forwarded without loss: the limit lies above", most=max(passing)
            )
        )
    else:
        remarks.append(phrase("no size was forwarded without loss"))
    measured = [found[size] for size in sorted(found)]
    limited = [str(one.record.trial.frame_bytes) for one in measured if not one.record.valid]
    if limited:
        remarks.append(phrase("the tester could not offer the smallest gap at {sizes} byte", sizes=", ".join(limited)))
    fitted = latency_line(inputs, [one.record for one in measured if _passes(one.record)], sizes_min=3)
    remarks += fitted.remarks
    waits_ns = {one.record.trial.frame_bytes: _wait_ns(one.record) for one in measured}
    crowded = [str(size) for size, wait_ns in waits_ns.items() if wait_ns]
    if crowded:
        remarks.append(
            phrase(
                "frames wait for each other by up to {most:.3g} ns at this load, at {sizes} byte: latencies"
                " and line include it",
                most=max(waits_ns.values()),
                sizes=", ".join(crowded),
            )
        )
    if not inputs.bias.is_known:
        remarks.append(NOT_CALIBRATED)
    return Result(
        measurement="sweep",
        rows=[_row(inputs, one) for one in measured],
        line=fitted.line,
        deviations=_deviations(inputs, measured),
        remarks=remarks,
    )


def _deviations(inputs: MethodInput, measured: Iterable[_Measured]) -> list[str]:
    given = inputs.plan.settings_of(SweepSettings).rate_fps is not None
    found = [phrase("published procedure: frames were sent at a given rate, not at the smallest gap")] if given else []
    lowered = [str(one.record.trial.frame_bytes) for one in measured if one.is_lowered]
    if lowered:
        found.append(
            phrase(
                "published procedure: latencies were measured just below the smallest gap, where they do"
                " not grow, at {sizes} byte",
                sizes=", ".join(lowered),
            )
        )
    if inputs.capabilities.simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return found


def _measure(inputs: MethodInput, size: int) -> Generator[Trial, TrialRecord, _Measured]:
    """At the smallest gap; again at a lower load if frames queue up there because two clocks differ."""
    first = record = yield from _trial(inputs, size, phrase("sweep {size} byte", size=size), _rate(inputs, size))
    if inputs.plan.settings_of(SweepSettings).rate_fps is not None or inputs.line_fps(size) is None or not first.valid:
        return _Measured(first, first)
    for _ in range(LOWERED):
        excess_ppm = _excess_ppm(record)
        if not 0 < excess_ppm < 1e6:
            break
        rate = record.offered_fps * (1 - excess_ppm * 1e-6)
        record = yield from _trial(
            inputs,
            size,
            phrase("sweep {size} byte, {rate:.6g} %", size=size, rate=100 * rate / first.offered_fps),
            rate,
        )
        if not record.valid:
            break
    # Losses and changes that remain are no clock's: then the smallest gap is as good a load as any.
    settled = record.valid and _passes(record) and latency_change(record) is None
    return _Measured(first, record if settled else first)


def _excess_ppm(record: TrialRecord) -> float:
    """By how much the load must be lowered for frames not to queue up, with a margin; 0 if they do not."""
    lost_ppm = 1e6 * record.loss_ratio
    drift = latency_change(record)
    if drift is not None and (drift.slope < 0 or not _passes(record)):
        drift = None
    grows_ppm = drift.ppm + 2 * drift.ppm_error if drift is not None else 0.0
    # A small buffer is full at once, and then loses what clocks differ by.
    if 0 < lost_ppm <= TOLERANCE_PPM:
        grows_ppm = TOLERANCE_PPM
    return grows_ppm + MARGIN_PPM if grows_ppm else 0.0


def _rate(inputs: MethodInput, size: int) -> float:
    given = inputs.fps(inputs.plan.settings_of(SweepSettings).rate_fps, size)
    return given or inputs.line_fps(size) or CEILING_WITHOUT_LINK_FPS


def _trial(inputs: MethodInput, size: int, purpose: str, rate: float) -> Generator[Trial, TrialRecord, TrialRecord]:
    """A trial at this rate, or at the highest one that the tester can send."""
    settings = inputs.plan.settings_of(SweepSettings)
    while True:
        record = yield inputs.latency_trial(
            purpose,
            size,
            rate,
            settings.trial_s,
            interval_ns=round((settings.sample_s or min(1.0, settings.trial_s / 10)) * NS_PER_S),
        )
        if not beyond_tester(record):
            return record
        rate = reached_fps(record)


def _bisect(
    inputs: MethodInput,
    passing: int,
    failing: int,
    found: dict[int, _Measured],
    passes: Callable[[TrialRecord], bool],
) -> Generator[Trial, TrialRecord, int]:
    while failing - passing > 1:
        middle = (passing + failing) // 2
        found[middle] = yield from _measure(inputs, middle)
        if passes(found[middle].record):
            passing = middle
        else:
            failing = middle
    return passing


def _parted(records: dict[int, TrialRecord], passes: Callable[[TrialRecord], bool]) -> tuple[int, int | None]:
    """The largest size that passes, and the smallest size above it of which no frame passes."""
    passing = max((size for size, record in records.items() if passes(record)), default=0)
    return passing, min((size for size in records if size > passing), default=None)


def _wait_ns(record: TrialRecord) -> float:
    """By how much even the fastest frames of the later samples are slower than the fastest of all; 0 if hardly.

    Frames keep their order, so at the smallest gap each waits for the slowest before it, and the time is not made up.
    """
    found = samples_of(record, record.facts.tracked)
    if len(found) < WAITING_SAMPLES or not _passes(record):
        return 0.0
    least_ns, most_ns = min(one.min_ns for one in found), max(one.max_ns for one in found)
    later_ns = min(one.min_ns for one in found[len(found) // 2 :]) - least_ns
    return later_ns if later_ns > max(RESOLUTION_NS, (most_ns - least_ns) / 2) else 0.0


def _arrives(record: TrialRecord) -> bool:
    return record.facts.tracked.forwarded_frames > 0


def _passes(record: TrialRecord) -> bool:
    return record.facts.tracked.forwarded_frames == record.facts.sent.offered_frames


def _drop(record: TrialRecord, expected: int) -> Quantity:
    """In % of the expected frames: those that were not offered, which is exact, and what the device loses of others,
    which is an estimate."""
    offered = record.facts.sent.offered_frames
    if not offered:
        return Quantity(value=100.0, unit="%", uncertainty=0.0)
    lost, share = loss_of(record), offered / expected
    value, *ends = (100 - (100 - each) * share for each in (lost.value, *(lost.bounds or ())))
    interval = Interval(lower=max(min(0.0, value), ends[0]), upper=ends[1]) if ends else None
    return lost.model_copy(update={"value": value, "interval": interval})


def _row(inputs: MethodInput, measured: _Measured) -> Row:
    first, record = measured.first, measured.record
    trial, tracked = first.trial, record.facts.tracked
    line = inputs.line_fps(trial.frame_bytes)
    # Shortfall of received frames against the theoretical maximum; below that load, against the offered frames.
    at_line = line is not None and trial.frames_per_second >= line
    expected = first.intended_frames if at_line else first.facts.sent.offered_frames
    figures = {}
    if expected:
        figures["drop"] = _drop(first, expected)
    figures["offered"] = Quantity(value=record.offered_fps, unit="frames/s")
    if tracked.latency is not None:
        figures["latency"] = inputs.bias.corrected(
            tracked.latency.mean_ns,
            trial.frame_bytes,
            record.offered_fps,
            single_frame=False,
            own=budget.repeatability(phrase("repeatability of the samples"), samples(record)),
        )
    remarks = list(record.invalid_because)
    if measured.is_lowered:
        share = 100 * record.offered_fps / first.offered_fps
        remarks.append(
            phrase("latency is that at {share:.6g} % of the load, as frames queue up at the smallest gap", share=share)
        )
    elif (drift := latency_change(record)) is not None:
        remarks.append(
            phrase(
                "latency changes during the trial, by {slope:.3g} ns/s: its mean depends on the time", slope=drift.slope
            )
        )
    return Row(
        frame_bytes=trial.frame_bytes,
        figures=figures,
        trial=record.index,
        remark=join_texts("; ", remarks),
    )


def _sentence(result: Result) -> str:
    said = []
    if result.line:
        said.append(phrase("Over the sweep of frame sizes, latency is {line}.", line=line_text(result.line)))
    passed = [row.frame_bytes for row in result.rows if "latency" in row.figures]
    if passed:
        said.append(phrase("The largest frame it forwards, of the sizes tried, has {size} byte.", size=max(passed)))
    return join_texts(" ", said)


PROCEDURE = Procedure(
    name="sweep",
    title=phrase("Frame size sweep"),
    standard=phrase("every size at the smallest gap"),
    summary="Latency against frame size at the smallest gap: fitted line, standard errors, largest forwarded frame.",
    settings=SweepSettings,
    of_cpu=True,
    generator=sweep,
    figure="latency",
    units={"%": "drop", "frames/s": "offered", "ns": "latency constant", "ns/byte": "slope"},
    example="keisoku sweep --dut sim:gs908e",
    sizes="64-1518:128",
    simulated_sizes="64-16384:510",
    plots=(partial(latency_plot, method="sweep"), partial(histogram_plot, method="sweep")),
    sentence=_sentence,
    over_time=True,
)
