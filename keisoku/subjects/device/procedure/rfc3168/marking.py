"""The marking curve: with what probability a frame is marked (or lost, or remarked), against the queue it met itself.

A frame's own latency, less that of a frame that meets no queue, times the rate of the output is the queue before it.
So no queue of the device is read, and no average over time is taken. A queue that rises and falls again and again shows
every length often: one flow is steady and below the rate of the output, another one comes in bursts.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.loss_ratio import share
from keisoku.subjects.device.analysis.marking_curve import Counts, curve, losses, merged, onset, points, threshold
from keisoku.subjects.device.analysis.marks import marked
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc8239
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc8239 import FullRate, flows_trial, full_rate, reliably
from keisoku.subjects.device.method.search import RETRIES
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.procedure.rfc3168.marking_plot import marking_plot
from keisoku.subjects.device.procedure.rfc4689.class_flows import headers
from keisoku.subjects.device.procedure.rfc4689.settings import ClassSettings, Code, check_codes
from keisoku.subjects.device.record.counts import Buckets
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.trial import NS_PER_S, Bursts, Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


class MarkingSettings(ClassSettings):
    """With what probability a frame is marked, against the queue that it meets itself."""

    trial_s: float = Field(10.0, gt=0)
    """Length of each of the two trials in which the queue rises and falls again and again."""
    saturation_s: float = Field(1.0, gt=0)
    """Length of the trial that fills the queue, which shows its rate and its size."""
    mark: Literal["ce", "loss", "class"] = "ce"
    """What is looked for: CE (RED and its successors with ECN), a lost frame (WRED), or another class (remarking)."""
    code: Code = 0
    """Code point of all frames."""
    maximum_fps: Load | None = None
    """Load of each sending port within a burst (default: the maximum of the link)."""

    @model_validator(mode="after")
    def _check(self) -> MarkingSettings:
        check_codes("marking.code", self.field, (self.code,))
        return self


_STEADY = 0.6
"""Load of the steady flow, as a share of what the output forwards."""
_DRAINED = 1.3
"""A pause between bursts is so many times as long as the queue needs to drain."""
_BEYOND = 1.3
"""In the second trial the queue rises to so many times Kmax."""
_LEAST_BURST = 20
_INTERVALS = 200
_BLUR_FRAMES = 3
"""Frames of other flows that came between a lost frame and the next one of its flow."""
_ROSE = 0.5
"""A queue that rose to less than this share of what it was to shows that the output is faster than it seemed."""
_WAITS = 2.0
"""A queue is one if frames waited for so many others."""
CURVE, QUEUE = "Curve", "Queue"
"""Headers of the columns of cases of both tables."""


def marking(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """For each size one row of the curve, and one for each of up to 24 lengths of the queue.

    'kmin' and 'kmax' (byte of frames with FCS before the frame) and 'pmax' (%): no frame is marked that meets less than
    Kmin, a share that rises to Pmax just below Kmax, and each that meets Kmax or more. 'longest' (byte) is the longest
    queue that a frame met. 'marked' (%) of a length of the queue.
    Raises PlanError for a tester that does not see marks, and for a link without a rate if no maximum is given.
    """
    settings = inputs.plan.settings_of(MarkingSettings)
    count = rfc8239.ports(inputs, 2, "marking")
    if settings.mark != "loss" and "marks" not in inputs.capabilities.abilities:
        what = "CE" if settings.mark == "ce" else "the class"
        problem = f"this tester does not see {what} of each frame"
        raise PlanError("marking.mark", problem, "use --mark loss")
    if inputs.capabilities.link_bits_per_second is None and settings.maximum_fps is None:
        problem = "the link has no rate, so a tester would send as fast as it can"
        raise PlanError("marking.maximum_fps", problem, "give more than the device forwards: --maximum 20kpps")
    rows: list[Row] = []
    rates: list[FullRate] = []
    for size in inputs.plan.frame_bytes:
        stack = headers(inputs, settings, settings.code, settings.mark == "ce")
        flows = [Flow(transmit=port, receive=count - 1, pacing=Constant(), headers=stack) for port in range(count - 1)]
        full = yield from full_rate(inputs, size, flows, settings.maximum_fps)
        rates.append(full)
        rows += yield from _Queue(inputs, size, flows, full).measure()
    found = [] if inputs.plan.phases.learning else [phrase("RFC 2544 §23 b: no learning frames were sent")]
    if inputs.capabilities.simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return Result(measurement="marking", rows=rows, deviations=found)


@dataclass(frozen=True)
class _Output:
    """What is known of the output when its queue was full."""

    fps: float
    least_ns: dict[int, float]
    """Latency without a queue, by sending port."""
    most_frames: float
    """The longest wait, in frames."""
    rate_share: float
    """By what share the rate may be wrong: the time counted may have a frame more or less at each end."""


@dataclass
class _Queue:
    """One size."""

    inputs: MethodInput
    size: int
    flows: Sequence[Flow]
    full: FullRate

    @property
    def settings(self) -> MarkingSettings:
        return self.inputs.plan.settings_of(MarkingSettings)

    def measure(self) -> Generator[Trial, TrialRecord, list[Row]]:
        """All trials and rows; from the first one again where the queue did not rise as the rate of the output said."""
        for _ in range(1 + RETRIES):
            rows = yield from self._attempt()
            if rows is not None:
                return rows
        problem = phrase(
            "the queue rose to less than half of the intended length: while it was full, the output forwarded less "
            "than at other times, so queues cannot be computed from latencies"
        )
        return [self._nothing(problem)]

    def _attempt(self) -> Generator[Trial, TrialRecord, list[Row] | None]:
        """None where the queue did not rise."""
        record = yield from reliably(
            self._trial(phrase("full queue, {size} byte", size=self.size), self.settings.saturation_s, list(self.flows))
        )
        if not record.valid:
            return [self._nothing(join_texts("; ", record.invalid_because))]
        output = _output(record)
        if output is None or output.most_frames < _WAITS:
            return [
                self._nothing(phrase("no frame waited: send more than the output forwards (--maximum, or more ports)"))
            ]
        parts: list[Counts] = []
        # Where frames are lost on the way, the queue does not rise as far as it was to.
        frames = output.most_frames * (_BEYOND if self._lost else 1)
        for number in range(2):
            purpose = phrase(
                "queue up to {frames:.1f} kB, {size} byte", frames=frames * self.size / 1000, size=self.size
            )
            trial = self._ramps(purpose, output, frames, 1 + 0.1 * number)
            record = yield from reliably(trial)
            if not record.valid:
                return [self._nothing(join_texts("; ", record.invalid_because))]
            if not self._lost and _rose_frames(record, output) < _ROSE * frames:
                return None
            parts += self._counts(record, output)
            if number == 0:
                most = threshold(merged(parts))
                frames = min(frames, max(_WAITS, _BEYOND * (most or math.inf) / self.size))
        whole = merged(parts)
        row = self._onset(whole, output, record.index) if self._lost else self._row(whole, output, record.index)
        return [row, *self._points(whole)]

    def _ramps(self, purpose: str, output: _Output, frames: float, longer: float) -> Trial:
        """A steady flow below the output's rate, and bursts that fill its queue up to `frames`."""
        steady_fps = _STEADY * output.fps
        burst, steady = self.flows[0], self.flows[-1]
        burst_fps = self.full.fps if len(self.flows) > 1 else self.full.fps - steady_fps
        rise_fps = burst_fps + steady_fps - output.fps
        if rise_fps <= 0:
            rise_fps = 0.05 * output.fps
        size = max(_LEAST_BURST, round(longer * frames * burst_fps / rise_fps))
        period_s = size / burst_fps + _DRAINED * longer * frames / (output.fps - steady_fps)
        pacing = Bursts(burst_frames=size, gap_ns=max(1, round(NS_PER_S / burst_fps)))
        flows = [
            burst.model_copy(update={"share": size / period_s / self.full.fps, "pacing": pacing}),
            steady.model_copy(update={"share": steady_fps / self.full.fps}),
        ]
        return self._trial(purpose, self.settings.trial_s, flows)

    def _trial(self, purpose: str, seconds: float, flows: list[Flow]) -> Trial:
        trial = flows_trial(self.inputs, purpose, self.size, self.full, seconds, flows)
        return trial.model_copy(update={"marks": True, "interval_ns": max(1, trial.duration_ns // _INTERVALS)})

    def _counts(self, record: TrialRecord, output: _Output) -> list[Counts]:
        bytes_per_ns = self.size * output.fps / NS_PER_S
        found = []
        # Of a lost frame it is known when it was sent only in the flow that has no pauses.
        for stream in record.facts.streams[-1:] if self._lost else record.facts.streams:
            latency = stream.tracked.latency
            if latency is not None:
                least_ns = min(latency.min_ns, output.least_ns.get(stream.transmit, latency.min_ns))
                found.append(_by_queue(latency.histogram, self._marks(stream), least_ns, bytes_per_ns, self._lost))
        return found

    @property
    def _lost(self) -> bool:
        return self.settings.mark == "loss"

    def _marks(self, stream: StreamFacts) -> Buckets:
        if self._lost:
            return stream.tracked.lost_at or Buckets()
        found = marked(stream)
        if found is None:
            return Buckets()
        return found.ce if self.settings.mark == "ce" else found.remarked

    def _onset(self, counts: Counts, output: _Output, trial: int) -> Row:
        """Where losses begin: the rest of their curve is not seen."""
        figures = {"longest": Quantity(value=counts.top_bytes, unit="byte")}
        # The queue of a lost frame is known to the frames that came between it and the next one of its flow.
        blur_bytes = _BLUR_FRAMES * self.size
        least = onset(counts, blur_bytes, output.rate_share)
        if least is not None:
            figures["kmin"] = least
        remark = phrase("a queue does not rise beyond where it loses frames: Kmax and Pmax are not known")
        remark = phrase("no frame was lost") if least is None else remark
        found = losses(counts, self.size, blur_bytes, output.rate_share)
        if found is not None and found.most is not None:
            figures |= {"kmin": found.least or figures["kmin"], "kmax": found.most}
            remark = phrase("Kmax is where every frame is lost, also because the buffer ends there")
            if found.share is not None:
                figures["pmax"] = found.share
        return Row(frame_bytes=self.size, group=CURVE, case=self._case, figures=figures, trial=trial, remark=remark)

    def _row(self, counts: Counts, output: _Output, trial: int) -> Row:
        found = curve(counts, output.rate_share)
        figures = {"longest": Quantity(value=counts.top_bytes, unit="byte")}
        named = {"kmin": found.least, "kmax": found.most, "pmax": found.share}
        figures |= {name: figure for name, figure in named.items() if figure is not None}
        what = {"ce": phrase("marked with CE"), "loss": phrase("lost"), "class": phrase("remarked")}[self.settings.mark]
        remark = {
            "none": phrase("no frame was {what}", what=what),
            "step": phrase("every frame is {what} that meets Kmin or more", what=what),
            "ramp": "",
            "not a function of the queue": phrase(
                "whether a frame is {what} does not follow from the queue that it met (it scatters {misfit:.3g} times "
                "as much as chance): an average, or a controller such as PIE",
                what=what,
                misfit=found.misfit,
            ),
        }[found.kind]
        if found.kind == "ramp" and found.most is not None and found.most.bound:
            remark = phrase("no queue was long enough for every frame: Pmax is the share at the longest queue")
        return Row(frame_bytes=self.size, group=CURVE, case=self._case, figures=figures, trial=trial, remark=remark)

    def _points(self, counts: Counts) -> list[Row]:
        return [
            Row(
                frame_bytes=self.size,
                group=QUEUE,
                case=f"{queue / 1000:.1f} kB",
                at=Quantity(value=queue, unit="byte"),
                figures={"marked": share(marked, frames)},
            )
            for queue, marked, frames in points(counts)
        ]

    @property
    def _case(self) -> str:
        return f"{self.settings.field.upper()} {self.settings.code}"

    def _nothing(self, reason: str) -> Row:
        return Row(frame_bytes=self.size, group=CURVE, case=self._case, figures={}, remark=reason)


def _output(record: TrialRecord) -> _Output | None:
    """Of a trial in which the output was overloaded all the time; None if nothing arrived."""
    seen = [(stream, stream.tracked.latency) for stream in record.facts.streams if stream.tracked.latency is not None]
    intervals = [interval for stream, _ in seen for interval in stream.tracked.series]
    half_ns, end_ns = record.trial.duration_ns // 2, record.facts.sent.last_sent_ns
    width_ns = record.trial.interval_ns
    inside = [one for one in intervals if half_ns <= one.start_ns and one.start_ns + width_ns <= end_ns]
    places = len({one.start_ns for one in inside})
    if not places:
        return None
    fps = sum(one.forwarded_frames for one in inside) * NS_PER_S / (places * width_ns)
    if fps <= 0:
        return None
    least_ns: dict[int, float] = {}
    for stream, latency in seen:
        least_ns[stream.transmit] = min(latency.min_ns, least_ns.get(stream.transmit, latency.min_ns))
    wait_ns = max(latency.max_ns - least_ns[stream.transmit] for stream, latency in seen)
    return _Output(fps, least_ns, wait_ns * fps / NS_PER_S, 2 / sum(one.forwarded_frames for one in inside))


def _rose_frames(record: TrialRecord, output: _Output) -> float:
    """The longest queue of a trial, by the rate of the output."""
    seen = [(stream.transmit, one) for stream in record.facts.streams if (one := stream.tracked.latency) is not None]
    waits_ns = [one.max_ns - min(one.min_ns, output.least_ns.get(port, one.min_ns)) for port, one in seen]
    return max(waits_ns, default=0.0) * output.fps / NS_PER_S


def _by_queue(every: Buckets, marks: Buckets, least_ns: float, bytes_per_ns: float, apart: bool) -> Counts:
    """Counts by the queue; `apart`: the marked are not among the frames that arrived."""
    marked = dict(zip(marks.lower_ns, marks.counts, strict=True))
    frames = dict(zip(every.lower_ns, every.counts, strict=True))
    ends = dict(zip(every.lower_ns, every.upper_ns, strict=True)) | dict(
        zip(marks.lower_ns, marks.upper_ns, strict=True)
    )
    lower = sorted(ends)
    hits = np.array([marked.get(one, 0) for one in lower], np.float64)
    whole = np.array([frames.get(one, 0) for one in lower], np.float64) + (hits if apart else 0.0)
    low = np.maximum(0.0, (np.array(lower, np.float64) - least_ns) * bytes_per_ns)
    high = np.maximum(low + 1e-6, (np.array([ends[one] for one in lower], np.float64) - least_ns) * bytes_per_ns)
    return Counts(low, high, whole, hits)


PROCEDURE = Procedure(
    name="marking",
    title=phrase("Marking curve"),
    standard="RFC 3168, RFC 7567",
    summary="Probability of CE, loss or a new class against the queue that the very same frame met: Kmin, Kmax, Pmax.",
    settings=MarkingSettings,
    packages=("scipy",),
    generator=marking,
    figure="kmin",
    units={"byte": "longest kmin kmax", "%": "marked pmax loss"},
    example="keisoku marking --dut sim:my-switch.toml --ports 1,2,3 --size 1518 --duration 2s",
    sizes="1518",
    own_flows=True,
    watches_headers=True,
    rows_when_simulated=True,
    plots=(marking_plot,),
)
