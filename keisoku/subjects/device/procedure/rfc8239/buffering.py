"""RFC 8239 §3: the buffer of an output, from the inflection of the maximum latency under a known congestion.

"The maximum latency will increase until the first packet drop occurs. At this point, the maximum latency value will
remain constant. This is the point of inflection" (§3.2). Loss alone does not end the search: a device that loses
frames at random has not filled its buffer yet.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc8239
from keisoku.subjects.device.method.latency_figures import observed
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc8239 import SIZES_TEXT, FullRate, flows_trial, full_rate, reliably
from keisoku.subjects.device.procedure.rfc8239.backlog import NOT_EMPTY, Backlog, Unqueued, backlog, unqueued
from keisoku.subjects.device.procedure.rfc8239.frame_search import Bracket, search_frames
from keisoku.subjects.device.procedure.rfc8239.settings import BufferingSettings
from keisoku.subjects.device.record.trial import Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

_FIRST_FRAMES = 64
"""Oversubscribing frames of the first trial."""
_GROWTH = 0.01
"""The maximum latency counts as constant if it grows by less than this, or by a frame, when the trial is doubled."""


@dataclass(frozen=True)
class _Case:
    """Which outputs are congested at the same time, and by which flows."""

    name: str
    outputs: tuple[int, ...]
    flows: tuple[Flow, ...]


@dataclass
class _Found:
    """Findings of one output in all repetitions."""

    full: list[tuple[TrialRecord, Backlog]] = field(default_factory=list)
    """Trials in which the buffer was full."""
    inflections: list[Bracket] = field(default_factory=list)


def buffering(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size, case and output.

    'buffer' (byte) and 'buffer_time' (ns, in which it empties) come from the latency at which the maximum stays
    constant: `1 + wait / service time` frames, rounded up. Their uncertainty is one frame, because a
    buffer may be larger by almost one frame, and the scatter of latencies without a queue. 'counted' (byte) is the
    buffer from counts of frames only. 'extra' (frames) is how many oversubscribing frames were sent until the
    inflection, known to the search's step: §3.2 1) to 3) multiply it by the frame size, which gives the buffer only if
    the output is exactly as fast as the input. 'variation' is the largest percentage of variation between repetitions
    (§3.3).
    """
    settings = inputs.plan.settings_of(BufferingSettings)
    count = rfc8239.ports(inputs, 3, "buffering")
    cases = _cases(inputs, count)
    rows: list[Row] = []
    rates: list[FullRate] = []
    for size in inputs.plan.frame_bytes:
        for case in cases:
            full = yield from full_rate(inputs, size, case.flows, settings.maximum_fps)
            rates.append(full)
            rows += yield from _Congestion(inputs, size, case, full).measure()
    return Result(
        measurement="buffering",
        rows=rows,
        deviations=_deviations(inputs, count) + rfc8239.deviations(inputs, rates),
        remarks=_remarks(rows),
    )


class _Congestion:
    """One case at one size."""

    def __init__(self, inputs: MethodInput, frame_bytes: int, case: _Case, full: FullRate) -> None:
        self.inputs, self.frame_bytes, self.case, self.full = inputs, frame_bytes, case, full
        settings = inputs.plan.settings_of(BufferingSettings)
        self.extra_fps = full.fps * settings.oversubscription_percent / 100
        self.most = max(1, int(self.extra_fps * settings.limit_s))
        self.alone: Unqueued | None = None
        self.trials: dict[int, TrialRecord] = {}
        """Trials of this repetition by the number of oversubscribing frames, shared by all outputs."""
        self.spoiled: list[str] = []

    def measure(self) -> Generator[Trial, TrialRecord, list[Row]]:
        """Rows of all outputs of the case."""
        found = {output: _Found() for output in self.case.outputs}
        alone = yield from unqueued(self.inputs, self.frame_bytes, self.full, self.case.flows)
        if isinstance(alone, str):
            return [self._nothing(output, alone) for output in found]
        self.alone = alone
        long: dict[int, int] = {}
        for output in found:
            longest = yield from self._fill(output)
            if longest is not None:
                long[output] = longest
        for number in range(self.inputs.plan.settings_of(BufferingSettings).repetitions):
            if number:
                self.trials = {}
            for output, longest in long.items():
                yield from self._repeat(output, longest, found[output])
        return [self._row(output, own) for output, own in found.items()]

    def _fill(self, output: int) -> Generator[Trial, TrialRecord, int | None]:
        """Oversubscribing frames with which the output's maximum latency has been constant for half of the trial."""
        frames, before = min(_FIRST_FRAMES, self.most), 0
        while True:
            held = yield from self._held(frames, output)
            if held is None:
                return None
            grown = held.frames - before
            if held.lost_frames and before and grown <= max(1.0, _GROWTH * before):
                return frames
            if frames == self.most:
                return None
            frames, before = min(2 * frames, self.most), held.frames

    def _repeat(self, output: int, longest: int, found: _Found) -> Generator[Trial, TrialRecord, None]:
        top = yield from self._held(longest, output)
        if top is None:
            return
        found.full.append((self.trials[longest], top))
        assert self.alone is not None
        reached = top.frames_of(top.wait_ns - self.alone.scatter_ns)

        def grows(frames: int) -> Generator[Trial, TrialRecord, bool | None]:
            held = yield from self._held(frames, output)
            return None if held is None else held.frames < reached

        step = self.inputs.plan.settings_of(BufferingSettings).step_frames
        known = found.inflections[-1] if found.inflections else None
        first = known.passed if known and known.passed else longest // 2
        bracket = yield from search_frames(grows, first, longest, step, step if known else max(1, longest // 4))
        if bracket.failed is not None and not bracket.by_tester:
            found.inflections.append(bracket)

    def _held(self, frames: int, output: int) -> Generator[Trial, TrialRecord, Backlog | None]:
        """What the output held while so many oversubscribing frames were sent; None if the tester disturbed the
        trial."""
        if frames not in self.trials:
            seconds = frames / self.extra_fps
            purpose = phrase(
                "{name}, {frames} extra, {frame_bytes} byte",
                name=self.case.name,
                frames=frames,
                frame_bytes=self.frame_bytes,
            )
            self.trials[frames] = yield from reliably(
                flows_trial(self.inputs, purpose, self.frame_bytes, self.full, seconds, self.case.flows)
            )
        record = self.trials[frames]
        if not record.valid:
            self.spoiled = record.invalid_because
            return None
        assert self.alone is not None
        return backlog(record, output, self.alone)

    def _row(self, output: int, found: _Found) -> Row:
        if not found.full or self.alone is None:
            reason = join_texts("; ", self.spoiled) or phrase(
                "the maximum latency did not become constant: the output held all frames"
            )
            return self._nothing(output, reason)
        size, tops = self.frame_bytes, [top for _, top in found.full]
        service_ns = fmean([top.service_ns for top in tops])
        frames = fmean([float(top.frames) for top in tops])
        unsure = 1 + self.alone.scatter_ns / service_ns
        record = found.full[0][0]
        figures = {
            "buffer": Quantity(value=frames * size, unit="byte", uncertainty=unsure * size),
            "buffer_time": Quantity(value=frames * service_ns, unit="ns", uncertainty=unsure * service_ns),
            "counted": Quantity(
                value=fmean([top.counted_frames for top in tops]) * size,
                unit="byte",
                uncertainty=math.hypot(1, _scatter([top.counted_frames for top in tops])) * size,
            ),
            "service": Quantity(value=1e9 / service_ns, unit="frames/s"),
            "max": observed(
                self.inputs.bias.corrected(
                    max(top.max_latency_ns for top in tops), size, record.offered_fps, single_frame=True
                )
            ),
            "variation": Quantity(value=_variation([float(top.frames) for top in tops]), unit="%"),
        }
        ends = [float(bracket.failed) for bracket in found.inflections if bracket.failed is not None]
        if ends:
            step = max(bracket.failed - bracket.passed for bracket in found.inflections if bracket.failed is not None)
            figures["extra"] = Quantity(value=fmean(ends), unit="frames", uncertainty=math.hypot(step, _scatter(ends)))
        remarks = [] if all(top.began_empty for top in tops) else [NOT_EMPTY]
        if frames < 3:
            remarks.append(phrase("frames were lost without a queue: the output was not congested"))
        case, remark = self._case(output), join_texts("; ", remarks)
        return Row(frame_bytes=size, case=case, figures=figures, trial=record.index, remark=remark)

    def _nothing(self, output: int, reason: str) -> Row:
        return Row(frame_bytes=self.frame_bytes, case=self._case(output), figures={}, remark=reason)

    def _case(self, output: int) -> str:
        to = phrase("to {output}", output=output + 1)
        return self.case.name if self.case.name.endswith(to) else f"{self.case.name}: {to}"


def _cases(inputs: MethodInput, count: int) -> list[_Case]:
    """RFC 8239 §3.2 procedures 2), 3) and 4)."""
    settings = inputs.plan.settings_of(BufferingSettings)
    line, extra = settings.load_percent / 100, settings.oversubscription_percent / 100
    turns = rfc8239.outputs(count, settings.outputs)
    found = []

    def flow(transmit: int, receive: int, share: float) -> Flow:
        return Flow(transmit=transmit, receive=receive, share=share, pacing=Constant())

    if "port" in settings.cases:
        for output in turns:
            one, other = (output - 1) % count, (output + 1) % count
            both = (flow(one, output, line), flow(other, output, extra))
            found.append(
                _Case(
                    phrase("{one} and {other} to {output}", one=one + 1, other=other + 1, output=output + 1),
                    (output,),
                    both,
                )
            )
    if "pairs" in settings.cases and count >= 4:
        ways = [(port, port + 1) for port in range(0, count - 1, 2)]
        # The receiving port of the next pair oversubscribes: four ports are enough, and all pairs are loaded.
        beside = [ways[(place + 1) % len(ways)][1] for place in range(len(ways))]
        loads = [flow(one, other, line) for one, other in ways]
        loads += [flow(more, other, extra) for (_, other), more in zip(ways, beside, strict=True)]
        found.append(_Case(phrase("all pairs"), tuple(other for _, other in ways), tuple(loads)))
    if "many-to-one" in settings.cases:
        for output in turns:
            others = [port for port in range(count) if port != output]
            # §3.2 4): each of N-1 ports sends its part of the line rate and of the oversubscription.
            flows = tuple(flow(port, output, (line + extra) / len(others)) for port in others)
            found.append(_Case(phrase("all to {output}", output=output + 1), (output,), flows))
    return found


def _deviations(inputs: MethodInput, count: int) -> list[str]:
    settings = inputs.plan.settings_of(BufferingSettings)
    found = [phrase("RFC 8239 §3.2: unicast frames of DSCP 0 only; no multicast, no other class of service")]
    if settings.oversubscription_percent != 1:
        found.append(
            phrase(
                "RFC 8239 §3.2: oversubscribed by {oversubscription_percent:g} % instead of 1 %",
                oversubscription_percent=settings.oversubscription_percent,
            )
        )
    if "pairs" in settings.cases and count < 4:
        found.append(phrase("RFC 8239 §3.2 3): port pairs need 4 ports, not {count}: not tested", count=count))
    if "pairs" in settings.cases and count >= 4:
        found.append(
            phrase(
                "RFC 8239 §3.2 3): all pairs at once, each oversubscribed by the receiving port of "
                "the next pair, instead of two outputs an iteration by ports N-1 and N"
            )
        )
    if settings.outputs != "each":
        found.append(phrase("RFC 8239 §3.2: not every port was tested as output"))
    found.append(
        phrase(
            "RFC 8239 §3.2: the buffer is that of the constant maximum latency; 'extra' is the RFC's count of frames"
        )
    )
    return found


def _remarks(rows: Sequence[Row]) -> list[str]:
    """§3.2 1): the frame size with which the buffer held most bytes."""
    known = [row for row in rows if "buffer" in row.figures]
    if len({row.frame_bytes for row in known}) < 2:
        return []
    best = max(known, key=lambda row: row.figures["buffer"].value)
    return [
        phrase(
            "The buffer held most bytes of frames of {frame_bytes} byte (RFC 8239 §3.2 1), {case}).",
            frame_bytes=best.frame_bytes,
            case=best.case,
        )
    ]


def _scatter(values: Sequence[float]) -> float:
    """Half the width of the interval of their mean; of one value, whose scatter nothing shows, zero."""
    return half_width(values) if len(values) > 1 else 0.0


def _variation(values: Sequence[float]) -> float:
    """§3.3: PV = (x2 - x1) / x1 · 100, the largest between successive repetitions."""
    return max((abs(100 * (after - before) / before) for before, after in pairwise(values)), default=0.0)


PROCEDURE = Procedure(
    name="buffering",
    title=phrase("Buffer"),
    standard="RFC 8239 §3",
    summary="Buffer size of an output, from the inflection point of the maximum latency under a known congestion.",
    settings=BufferingSettings,
    generator=buffering,
    figure="buffer",
    units={
        "byte": "buffer counted",
        "ns": "buffer_time max",
        "frames/s": "service",
        "%": "variation",
        "frames": "extra",
    },
    example="keisoku buffering --dut sim:gs908e --ports 1,2,3,4 --size 64,1518",
    simulated_sizes=SIZES_TEXT,
    own_flows=True,
)
