"""RFC 2889 §5.10: throughput of broadcast frames from the first port to all others, and their latency at it.

Every frame goes to all ports, but each port tracks only its share of the frames one by one and counts the others. So
one trial shows every port, and zero loss means that every port's counts are equal to those sent.
"""

from __future__ import annotations

from collections.abc import Generator

from keisoku.ground.run.result import Result, Row
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import LATENCIES, Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.deviations import FIFO
from keisoku.subjects.device.method.latency_figures import latency_figures
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc2889.settings import BroadcastSettings
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.trial import Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

BROADCAST = "Ether.dst=list(ff:ff:ff:ff:ff:ff)"
LATENCY = phrase("RFC 2889 §5.10.3: latency is that of every frame at the throughput, not of a single frame sent alone")


def broadcast(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size with 'throughput' (frames/s sent), then a row a port with 'loss' (%), 'min', 'mean', 'max' (ns)."""
    plan, settings = inputs.plan, inputs.plan.settings_of(BroadcastSettings)
    others = len(plan.port_fields()) - 1
    flows = tuple(
        Flow(transmit=0, receive=port, share=1 / others, modify=(BROADCAST,)) for port in range(1, others + 1)
    )
    rows: list[Row] = []
    found = rfc2889.deviations(plan, inputs.capabilities.simulated, "§5.10", settings.trial_s)
    remarks: list[str] = []
    for size in plan.frame_bytes:
        best: list[TrialRecord] = []

        def load(fps: float, size: int = size) -> Trial:
            trial = inputs.trial(
                phrase("broadcast {fps:,.0f} frames/s, {size} byte", fps=fps, size=size), size, fps, settings.trial_s
            )
            return trial.model_copy(update={"flows": flows})

        maximum, first = yield from rfc2889.at_most(inputs, size, settings.maximum_fps, load)
        known = {maximum: first}

        def probe(
            fps: float,
            known: dict[float, TrialRecord] = known,
            best: list[TrialRecord] = best,
        ) -> Generator[Trial, TrialRecord, bool | None]:
            record = known.get(fps) or (yield from rfc2889.attempt(load(fps)))
            if not record.valid:
                return None
            passed = all(_missing(record, stream) == 0 for stream in record.facts.streams)
            if passed:
                best.append(record)
            return passed

        limit = yield from rfc2889.highest(probe, maximum, settings.resolution_percent / 100)
        record = best[-1] if best else first
        rows.append(_summary(limit, record, inputs.line_fps(size), bool(best)))
        rows += [_row(inputs, record, stream) for stream in record.facts.streams]
        found += rfc2889.lowered(inputs, size, settings.maximum_fps, maximum)
    return Result(
        measurement="broadcast", rows=rows, deviations=[FIFO, LATENCY, *dict.fromkeys(found)], remarks=remarks
    )


def _missing(record: TrialRecord, stream: StreamFacts) -> int:
    """Frames of all that did not arrive at the stream's port."""
    sent = record.facts.sent.offered_frames
    elsewhere = sum(one.misdirected_frames for one in record.facts.receivers if one.port == stream.receive)
    return sent - stream.tracked.forwarded_frames - elsewhere


def _summary(limit: rfc2889.Boundary, record: TrialRecord, line_fps: float | None, passed: bool) -> Row:
    throughput = limit.throughput(record.load_fps if passed else 0.0, line_fps)
    remark = phrase("limited by the tester") if limit.limited_by_tester and limit.above > limit.passed else ""
    if throughput is None:
        remark = rfc2889.UNDECIDED
    elif not passed:
        remark = phrase("no load reached all ports without loss; below: the maximum load")
    return Row(
        frame_bytes=record.trial.frame_bytes,
        case=phrase("all ports"),
        figures={} if throughput is None else {"throughput": throughput},
        trial=record.index,
        remark=remark,
    )


def _row(inputs: MethodInput, record: TrialRecord, stream: StreamFacts) -> Row:
    size, rate = record.trial.frame_bytes, record.offered_fps
    figures = {}
    if record.valid:
        figures["loss"] = rfc2889.percent(_missing(record, stream), record.facts.sent.offered_frames)
    latency = stream.tracked.latency
    if latency is not None and record.valid:
        samples = [samples_of(record, stream.tracked)]
        figures |= latency_figures(inputs.bias, [latency], size, rate, percents={}, samples=samples)
    return Row(
        frame_bytes=size,
        case=phrase("{transmit} to {receive}", transmit=stream.transmit + 1, receive=stream.receive + 1),
        figures=figures,
        trial=record.index,
        remark=join_texts("; ", why_invalid(record)),
    )


PROCEDURE = Procedure(
    name="broadcast",
    title=phrase("Broadcast frames"),
    standard="RFC 2889 §5.10",
    summary="The highest load of broadcast frames that reach every port, and their latency.",
    settings=BroadcastSettings,
    of_cpu=True,
    generator=broadcast,
    figure="throughput",
    units={"frames/s": "throughput", "%": "loss", "ns": LATENCIES},
    example="keisoku broadcast --dut lab:bridge --ports 1,2,3,4 --size 64 --duration 1s --waits 0.1s",
    own_flows=True,
    is_steady=True,
    lossless="RFC 2889 §5.10",
)
