"""RFC 8239 §4: the largest burst that all other ports may send to one output at once without loss.

"The burst MUST be sent with an intensity (as defined in [RFC8238], Section 6.1.1) of 100%, meaning that the burst of
packets will be sent with a minimum interpacket gap" (§4.2). Every trial is one burst of each port into an empty device.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc8239
from keisoku.subjects.device.method.latency_figures import observed
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc8239 import SIZES_TEXT, FullRate, flows_trial, full_rate, reliably
from keisoku.subjects.device.procedure.rfc8239.backlog import (
    NOT_EMPTY,
    Backlog,
    Unqueued,
    backlog,
    frames_held,
    unqueued,
)
from keisoku.subjects.device.procedure.rfc8239.frame_search import Bracket, search_frames
from keisoku.subjects.device.procedure.rfc8239.settings import MicroburstSettings
from keisoku.subjects.device.record.trial import Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

_FIRST_FRAMES = 16


def microburst(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row for each size and output, with means over all repetitions.

    'burst' (frames of each port), 'microburst' (frames of all ports together) and 'microburst_bytes': the largest
    burst without loss; its uncertainty is the search's step and the scatter of the repetitions. 'buffer' (byte) and
    'buffer_time' (ns) are what the output held of the smallest burst with loss, from its longest latency. 'max' (ns)
    is the longest latency of the largest burst without loss, 'offered' (frames/s) its measured intensity.
    """
    settings = inputs.plan.settings_of(MicroburstSettings)
    count = rfc8239.ports(inputs, 3, "microburst")
    rows: list[Row] = []
    rates: list[FullRate] = []
    for size in inputs.plan.frame_bytes:
        for output in rfc8239.outputs(count, settings.outputs):
            others = [port for port in range(count) if port != output]
            share = settings.intensity_percent / 100
            flows = tuple(Flow(transmit=port, receive=output, share=share, pacing=Constant()) for port in others)
            full = yield from full_rate(inputs, size, flows, settings.maximum_fps)
            rates.append(full)
            rows.append((yield from _Bursts(inputs, size, output, flows, full).measure()))
    found = [phrase("RFC 8239 §4.2: N-1 ports sent to 1, no other configuration was tested")]
    if settings.intensity_percent != 100:
        found.append(
            phrase(
                "RFC 8239 §4.2: bursts had an intensity of {intensity_percent:g} % instead of 100 %",
                intensity_percent=settings.intensity_percent,
            )
        )
    if settings.outputs != "each":
        found.append(phrase("RFC 8239 §4.2: not every port was tested as output"))
    return Result(measurement="microburst", rows=rows, deviations=found + rfc8239.deviations(inputs, rates))


@dataclass
class _Bursts:
    """Bursts of one size to one output."""

    inputs: MethodInput
    frame_bytes: int
    output: int
    flows: tuple[Flow, ...]
    full: FullRate
    brackets: list[Bracket] = field(default_factory=list)
    passed: TrialRecord | None = None
    """The largest burst without loss."""
    held: list[Backlog] = field(default_factory=list)
    """Backlog of the smallest burst with loss, of each repetition."""
    spoiled: list[str] = field(default_factory=list)

    def measure(self) -> Generator[Trial, TrialRecord, Row]:
        """All repetitions."""
        settings = self.inputs.plan.settings_of(MicroburstSettings)
        alone = yield from unqueued(self.inputs, self.frame_bytes, self.full, self.flows)
        if isinstance(alone, str):
            return self._row_of({}, alone)
        fps = self.full.fps * settings.intensity_percent / 100
        most = max(1, int(fps * settings.limit_s))
        for _ in range(settings.repetitions):
            first = self.brackets[-1].passed if self.brackets else _FIRST_FRAMES
            stride = settings.step_frames if self.brackets else _FIRST_FRAMES
            yield from self._search(first, most, stride, fps, alone)
            if self.brackets[-1].failed is None or self.brackets[-1].by_tester:
                break
        return self._row(alone)

    def _search(
        self, first: int, most: int, stride: int, fps: float, alone: Unqueued
    ) -> Generator[Trial, TrialRecord, None]:
        lossy: dict[int, TrialRecord] = {}

        def passes(frames: int) -> Generator[Trial, TrialRecord, bool | None]:
            purpose = plural(
                "{count} frame from each to {output}, {frame_bytes} byte",
                "{count} frames from each to {output}, {frame_bytes} byte",
                count=frames,
                output=self.output + 1,
                frame_bytes=self.frame_bytes,
            )
            trial = flows_trial(self.inputs, purpose, self.frame_bytes, self.full, frames / fps, self.flows)
            record = yield from reliably(trial)
            if not record.valid:
                self.spoiled = record.invalid_because
                return None
            if record.facts.tracked.forwarded_frames == record.facts.sent.offered_frames:
                if self.passed is None or self._frames(record) >= self._frames(self.passed):
                    self.passed = record
                return True
            lossy[frames] = record
            return False

        step = self.inputs.plan.settings_of(MicroburstSettings).step_frames
        bracket = yield from search_frames(passes, first, most, step, stride)
        self.brackets.append(bracket)
        if bracket.failed in lossy:
            held = backlog(lossy[bracket.failed], self.output, alone)
            if held is not None:
                self.held.append(held)

    def _frames(self, record: TrialRecord) -> int:
        return record.facts.sent.offered_frames

    def _row(self, alone: Unqueued) -> Row:
        settings, size, senders = self.inputs.plan.settings_of(MicroburstSettings), self.frame_bytes, len(self.flows)
        last = self.brackets[-1]
        burst = self._burst(last.by_tester or last.failed is None)
        figures = {}
        if burst is not None:
            together = burst.scaled(senders, "frames")
            figures = {"burst": burst, "microburst": together, "microburst_bytes": together.scaled(size, "byte")}
        if self.held:
            service_ns = sum(held.service_ns for held in self.held) / len(self.held)
            frames = frames_held(self.held, alone)
            figures["buffer"] = frames.scaled(size, "byte")
            figures["buffer_time"] = frames.scaled(service_ns, "ns")
        remarks = [] if all(held.began_empty for held in self.held) else [NOT_EMPTY]
        if last.by_tester:
            remarks.append(phrase("limited by the tester: {why}", why=join_texts("; ", self.spoiled)))
        elif last.failed is None:
            remarks.append(
                phrase("no loss up to bursts of {limit_s:g} s: the largest burst is longer", limit_s=settings.limit_s)
            )
        if self.passed is not None:
            latency = self.passed.facts.tracked.latency
            figures["offered"] = Quantity(value=self.passed.offered_fps, unit="frames/s")
            if latency is not None:
                rate = self.passed.offered_fps
                longest = self.inputs.bias.corrected(latency.max_ns, size, rate, single_frame=True)
                figures["max"] = observed(longest)
            starts = [sender.sent.first_sent_ns for sender in self.passed.senders]
            if max(starts) > min(starts):
                remarks.append(
                    phrase(
                        "bursts began within {starts:.3g} µs of each other", starts=(max(starts) - min(starts)) / 1000
                    )
                )
        return self._row_of(figures, join_texts("; ", remarks))

    def _burst(self, open_ended: bool) -> Quantity | None:
        """Of each port; None if nothing is known of it. `open_ended`: no burst is known to be too long."""
        bursts = [float(bracket.passed) for bracket in self.brackets]
        if open_ended:
            return Quantity(value=max(bursts), unit="frames", bound="at least") if max(bursts) else None
        error = half_width(bursts) if len(bursts) > 1 else 0.0
        unsure = self.inputs.plan.settings_of(MicroburstSettings).step_frames + error
        return Quantity(value=sum(bursts) / len(bursts), unit="frames", uncertainty=unsure)

    def _row_of(self, figures: dict[str, Quantity], remark: str) -> Row:
        case = phrase(
            "{named} to {output}", named=rfc8239.named([flow.transmit for flow in self.flows]), output=self.output + 1
        )
        trial = None if self.passed is None else self.passed.index
        return Row(frame_bytes=self.frame_bytes, case=case, figures=figures, trial=trial, remark=remark)


PROCEDURE = Procedure(
    name="microburst",
    title=phrase("Microburst"),
    standard="RFC 8239 §4",
    summary="The largest simultaneous burst from all other ports that an output forwards without loss.",
    settings=MicroburstSettings,
    generator=microburst,
    figure="microburst",
    units={
        "frames": "burst microburst",
        "byte": "microburst_bytes buffer",
        "ns": "buffer_time max",
        "frames/s": "offered",
    },
    example="keisoku microburst --dut lab:bridge --ports 1,2,3 --size 64 --outputs last --waits 0.1s",
    simulated_sizes=SIZES_TEXT,
    own_flows=True,
)
