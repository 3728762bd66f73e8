"""Buffer behaviour over time, as in the published switch measurements (E1): one long trial of each frame size.

The latency series is split into pieces; no result comes from a mean over the whole trial.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

import numpy as np
from pydantic import Field

from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics.line_fit import POINTS_MIN, fit_line
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import COVERAGE_FACTOR, combine, expanded, rectangular, student
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis import repeatability
from keisoku.subjects.device.analysis.behaviour import FULL, Behaviour, Bend, FirstDrop, Jump, Piece, Stalls, behaviour
from keisoku.subjects.device.analysis.samples import Sample, samples_of
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.latency_figures import observed
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS, RETRIES, beyond_tester, reached_fps
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.procedure.own.behaviour_plot import behaviour_plot
from keisoku.subjects.device.record.gaps import Gaps
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid


class BufferOverTimeSettings(Settings):
    """One long trial of each size at the smallest gap, one latency sample a second (published switch measurements,
    E1)."""

    trial_s: float = Field(100.0, gt=0)
    sample_s: float | None = Field(None, gt=0)
    """Length of one sample; shorter changes are averaged (default: 1 s, or a twentieth of a shorter trial)."""
    rate_fps: Load | None = None
    """Load at every size (default: the smallest gap, 100 % of the link)."""


PS = 1e-3
"""Resolution of latencies in virtual time, in ns."""
_DROPS_MOST = 1000
"""That are looked at for how regular they are."""
PPM_PER_NS_PER_S = 1e-3
"""A latency that grows by 1 ns/s is a queue whose service rate is one part in 10⁹ too low."""

MEANINGS = {
    "filling": phrase("filling"),
    "draining": phrase("draining"),
    "flat": phrase("flat"),
    FULL: phrase("full and dropping"),
    "losing frames": phrase("losing frames"),
}
"""What a piece means, in words for a reader."""


def buffer_over_time(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row for each piece of a size's series; its `case` is time and kind: '0–13 s: filling'.

    'start' and 'end' (s), 'slope' (ns/s), 'intercept' (ns: the piece's line at time 0), 'level' (its mean, ns),
    'min', 'max' (ns), 'lost' (frames); of a queue that fills or drains 'mismatch' (ppm by which the output is slower
    than the input) and 'backlog' (bytes by which it changed); of a full buffer 'depth' (bytes). Rows of jumps have
    'step' (ns) and 'backlog', a row of recurring stalls 'period' (s) and 'length' (ns).
    """
    rows: list[Row] = []
    remarks: list[str] = []
    for size in inputs.plan.frame_bytes:
        record = yield from _measure(inputs, size)
        found, said = rows_of(inputs, record)
        rows += found
        remarks += said
    deviations = []
    settings = inputs.plan.settings_of(BufferOverTimeSettings)
    if settings.rate_fps is not None:
        deviations.append(phrase("published procedure: frames were sent at a given rate, not at the smallest gap"))
    if settings.trial_s < 100:
        deviations.append(
            phrase(
                "published procedure: the trial of a size lasts {trial_s:g} s instead of 100 s",
                trial_s=settings.trial_s,
            )
        )
    if inputs.capabilities.simulated:
        deviations.append(phrase("the DUT is simulated: results describe the model"))
    return Result(measurement="buffer_over_time", rows=rows, deviations=deviations, remarks=remarks)


def rows_of(inputs: MethodInput, record: TrialRecord) -> tuple[list[Row], list[str]]:
    """The rows of one trial, and its remarks."""
    size = record.trial.frame_bytes
    samples = samples_of(record, record.facts.tracked)
    if not record.valid or len(samples) < POINTS_MIN:
        remark = join_texts("; ", why_invalid(record)) or plural(
            "only {count} sample held a frame, which is too few for behaviour over time",
            "only {count} samples held a frame, which is too few for behaviour over time",
            count=len(samples),
        )
        return [Row(frame_bytes=size, figures={}, trial=record.index, remark=remark)], []
    resolution_ns = inputs.capabilities.resolution_ns or (PS if inputs.capabilities.exact else 1.0)
    found = behaviour(samples, resolution_ns, first_drop(record.facts.tracked.lost, record.offered_fps))
    base_ns = min(sample.min_ns for sample in samples)
    sizing = _Sizing(inputs, record, samples, base_ns, _hidden_ns(found.pieces[0], base_ns))
    starts, ends = [None, *found.bends], [*found.bends, None]
    timed = [
        (piece.start_s, _piece_row(sizing, piece, start, end))
        for piece, start, end in zip(found.pieces, starts, ends, strict=True)
    ]
    timed += [(jump.start_s, _jump_row(sizing, jump)) for jump in found.jumps]
    rows = [row for _, row in sorted(timed, key=lambda entry: entry[0])]
    if found.stalls:
        rows.append(_stalls_row(sizing, found.stalls))
    return rows, [sentence] if (sentence := _sentence(size, found, rows)) else []


def first_drop(lost: Gaps, offered_fps: float) -> FirstDrop | None:
    """None if frames were lost at fewer than three times, or if it is not known when.

    Frames that come at regular times find a full buffer at regular times. By how much drops are irregular, the first
    one was early or late as well, and so was the frame from which on the queue grew: in this run, and in the next.
    """
    times_s = lost.after_ns[:_DROPS_MOST] / NS_PER_S
    if len(times_s) < POINTS_MIN or np.isnan(times_s).any():
        return None
    line = fit_line(np.cumsum(lost.counts[:_DROPS_MOST], dtype=np.float64), times_s)
    # Few drops show badly how irregular they are.
    freedom = len(times_s) - 2
    scatter_s = 2 * math.sqrt(float((line.residuals**2).sum()) / freedom) * student(freedom) / COVERAGE_FACTOR
    return FirstDrop(float(times_s[0]) + 1 / offered_fps, scatter_s)


def _hidden_ns(first: Piece, base_ns: float) -> float:
    """By how much latencies scatter above the least one before a queue that grows hides it; 0 where none grows from the
    beginning on."""
    return max(0.0, first.fit.predict(0.0) - base_ns) if first.meaning == "filling" else 0.0


class _Sizing:
    """Converts times to bytes for one trial: a queue is emptied at the output's rate."""

    def __init__(
        self, inputs: MethodInput, record: TrialRecord, samples: Sequence[Sample], base_ns: float, hidden_ns: float
    ) -> None:
        self.inputs, self.record, self.samples = inputs, record, samples
        self.base_ns, self.hidden_ns = base_ns, hidden_ns
        self.frame_bytes = record.trial.frame_bytes

    def latency(self, value_ns: float, error_ns: float = 0.0) -> Quantity:
        """A latency corrected for the tester's bias; `error_ns` is a standard error (k = 1)."""
        found = self.inputs.bias.corrected(
            value_ns, self.frame_bytes, self.record.offered_fps, single_frame=error_ns == 0.0
        )
        if found.uncertainty is None or error_ns == 0.0:
            return found
        return found.model_copy(update={"uncertainty": expanded(combine(found.uncertainty / 2, error_ns))})

    def change(self, change_ns: float, error_ns: float, forwarded_fps: float) -> Quantity:
        """Bytes added to a queue whose latency changed so much."""
        bytes_per_ns = forwarded_fps * self.frame_bytes / NS_PER_S
        return Quantity(value=change_ns * bytes_per_ns, unit="byte", uncertainty=expanded(error_ns * bytes_per_ns))

    def depth(self, longest_ns: float, forwarded_fps: float) -> Quantity:
        """Bytes of a full buffer, the frame being sent included."""
        bytes_per_ns = forwarded_fps * self.frame_bytes / NS_PER_S
        waiting, hidden = (longest_ns - self.base_ns) * bytes_per_ns, self.hidden_ns * bytes_per_ns
        # Besides the waiting frames one is being sent; a buffer larger by almost one frame would drop the same frames.
        # What jitters before a queue shows in the first frames only, later ones wait for each other. Which frame finds
        # no place is decided by the earliest ones, and the least latency is that of the first one: it was as likely as
        # much later than those as the latest were later than it.
        error = combine(rectangular(self.frame_bytes / 2), rectangular(hidden))
        return Quantity(value=waiting + 1.5 * self.frame_bytes + hidden, unit="byte", uncertainty=expanded(error))


def _piece_row(sizing: _Sizing, piece: Piece, start: Bend | None, end: Bend | None) -> Row:
    fit = piece.fit
    middle_s = (piece.start_s + piece.end_s) / 2
    # Of a queue that grows the line itself says how it grew.
    level_ns = fit.predict(middle_s)
    start_ns = repeatability.of_start(level_ns, [sizing.samples]) if piece.meaning == "flat" else 0.0
    figures = {
        "start": _bend(start) if start else Quantity(value=piece.start_s, unit="s", bound="at most"),
        "end": _bend(end) if end else Quantity(value=piece.end_s, unit="s", bound="at least"),
        "slope": Quantity(value=fit.slope, unit="ns/s", uncertainty=expanded(piece.slope_error)),
        "intercept": sizing.latency(fit.constant, math.hypot(piece.error_at(0.0), start_ns)),
        "level": sizing.latency(level_ns, math.hypot(piece.error_at(middle_s), start_ns)),
        "min": observed(sizing.latency(min(sample.min_ns for sample in piece.samples))),
        "max": observed(sizing.latency(longest_ns := max(sample.max_ns for sample in piece.samples))),
        "lost": Quantity(value=piece.lost_frames, unit="frames", uncertainty=0.0),
    }
    if piece.meaning in ("filling", "draining"):
        span_s = piece.end_s - piece.start_s
        figures["mismatch"] = Quantity(
            value=fit.slope * PPM_PER_NS_PER_S, unit="ppm", uncertainty=expanded(piece.slope_error) * PPM_PER_NS_PER_S
        )
        figures["backlog"] = sizing.change(fit.slope * span_s, piece.slope_error * span_s, piece.forwarded_fps)
    elif piece.meaning == FULL:
        figures["depth"] = sizing.depth(longest_ns, piece.forwarded_fps)
    return _row(sizing, join_texts(": ", [span_text(piece.start_s, piece.end_s), MEANINGS[piece.meaning]]), figures)


def _jump_row(sizing: _Sizing, jump: Jump) -> Row:
    # It was at some time after the last frame before it and before the first one behind it.
    half_s = (jump.end_s - jump.start_s) / 2
    at = Quantity(value=jump.start_s + half_s, unit="s", uncertainty=half_s + 1 / sizing.record.offered_fps)
    figures = {
        "start": at,
        "end": at,
        "step": Quantity(value=jump.step_ns, unit="ns", uncertainty=expanded(jump.step_error_ns)),
        "backlog": sizing.change(jump.step_ns, jump.step_error_ns, sizing.record.offered_fps),
    }
    return _row(sizing, phrase("{span_text}: jump", span_text=span_text(jump.start_s, jump.end_s)), figures)


def _stalls_row(sizing: _Sizing, stalls: Stalls) -> Row:
    gap_ns = NS_PER_S / sizing.record.offered_fps
    figures = {
        "period": Quantity(value=stalls.period_s, unit="s", uncertainty=expanded(stalls.period_error_s)),
        # The frame that waited longest arrived at most one gap after the stall began.
        "length": Quantity(
            value=stalls.longest_wait_ns + gap_ns / 2, unit="ns", uncertainty=expanded(rectangular(gap_ns / 2))
        ),
    }
    return _row(
        sizing, plural("{count} time: periodic stall", "{count} times: periodic stall", count=stalls.count), figures
    )


def span_text(start_s: float, end_s: float) -> str:
    """'0–13 s'; the start of the first sample is that of the trial."""
    start, end = (f"{value:.3g}" if value < 100 else f"{value:.0f}" for value in (start_s, end_s))
    return f"{'0' if start_s < 0.01 * (end_s - start_s) else start}–{end} s" if end_s > start_s else f"{end} s"


def _bend(bend: Bend) -> Quantity:
    return Quantity(value=bend.at_s, unit="s", uncertainty=expanded(bend.error_s))


def _row(sizing: _Sizing, case: str, figures: dict[str, Quantity]) -> Row:
    return Row(frame_bytes=sizing.frame_bytes, case=case, figures=figures, trial=sizing.record.index)


def _sentence(size: int, found: Behaviour, rows: list[Row]) -> str:
    said = [row.case for row in rows]
    return (
        phrase("{size} byte: {said}", size=size, said=join_texts("; ", said))
        if len(said) > 1 or found.pieces[0].meaning != "flat"
        else ""
    )


def _measure(inputs: MethodInput, size: int) -> Generator[Trial, TrialRecord, TrialRecord]:
    """A trial at the smallest gap, or at the smallest one that the tester can send."""
    settings = inputs.plan.settings_of(BufferOverTimeSettings)
    rate = inputs.fps(settings.rate_fps, size) or inputs.line_fps(size) or CEILING_WITHOUT_LINK_FPS
    spoiled = 0
    while True:
        interval_ns = round((settings.sample_s or min(1.0, settings.trial_s / 20)) * NS_PER_S)
        purpose = phrase("over time {size} byte", size=size)
        record = yield inputs.trial(purpose, size, rate, settings.trial_s, interval_ns=interval_ns)
        if beyond_tester(record):
            rate = reached_fps(record)
            continue
        spoiled += not record.valid
        if record.valid or spoiled >= RETRIES:
            return record


PROCEDURE = Procedure(
    name="buffer_over_time",
    title=phrase("Buffer behaviour over time"),
    standard=phrase("one sample a second at the smallest gap"),
    summary="When buffers fill, drop frames, drain and stall: slopes, jumps and buffer depths from latency over time.",
    settings=BufferOverTimeSettings,
    of_cpu=True,
    generator=buffer_over_time,
    figure="slope",
    units={
        "s": "start end period",
        "ns/s": "slope",
        "ns": "intercept level min max step length",
        "frames": "lost",
        "byte": "depth backlog",
        "ppm": "mismatch",
    },
    example="keisoku buffer-over-time --dut sim:catalyst3750g --size 1998",
    pace={"trial_s": 5.0},
    plots=(behaviour_plot,),
)
