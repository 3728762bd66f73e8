"""RFC 3918 §4.1 to §4.3 and §5: throughput to all ports that joined some groups, and latency at each of them.

Each frame to a group must arrive at every port but the first. Zero loss means that each port's counts are equal to
those sent, so the search ends at the load at which the slowest port still receives every frame.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from keisoku.ground.run.result import Result, Row
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import LATENCIES, Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.deviations import FIFO
from keisoku.subjects.device.method.latency_figures import latency_figures
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc3918 import group_flows
from keisoku.subjects.device.procedure.rfc3918.settings import MulticastSettings
from keisoku.subjects.device.record.facts import Branch
from keisoku.subjects.device.record.trial import NS_PER_S, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


@dataclass(frozen=True)
class _Case:
    """One number of groups with one share of unicast frames."""

    groups: int
    unicast_percent: float

    @property
    def name(self) -> str:
        groups = f"{self.groups} group{'s' * (self.groups > 1)}"
        return (
            groups
            if not self.unicast_percent
            else phrase("{groups}, {unicast_percent:g} % unicast", groups=groups, unicast_percent=self.unicast_percent)
        )


def multicast(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """For each size, number of groups and share of unicast frames a row of all ports: 'throughput' (frames/s sent),
    'aggregated' (frames/s received by all ports together), 'loss_at_maximum' (%); then a row a port at the throughput:
    'loss', 'unicast_loss' (%), 'min', 'mean', 'max' (ns)."""
    settings = inputs.plan.settings_of(MulticastSettings)
    rows: list[Row] = []
    found: list[str] = []
    for size in group_flows.sizes(inputs, settings.protocol):
        for groups in settings.groups:
            for unicast_percent in settings.unicast_percent:
                case = _Case(groups, unicast_percent)

                def load(fps: float, size: int = size, case: _Case = case) -> Trial:
                    return _trial(inputs, size, case, fps)

                maximum, first = yield from rfc2889.at_most(inputs, size, settings.maximum_fps, load)
                best: list[TrialRecord] = []
                known = {maximum: first}

                def probe(
                    fps: float,
                    known: dict[float, TrialRecord] = known,
                    best: list[TrialRecord] = best,
                    size: int = size,
                    case: _Case = case,
                ) -> Generator[Trial, TrialRecord, bool | None]:
                    record = known.get(fps) or (yield from group_flows.attempt(_trial(inputs, size, case, fps)))
                    if not record.valid or group_flows.sent_messages(record):
                        return None
                    passed = record.loss_ratio == 0
                    if passed:
                        best.append(record)
                    return passed

                limit = yield from rfc2889.highest(probe, maximum, settings.resolution_percent / 100)
                record = best[-1] if best else first
                rows.append(_summary(size, case, limit, record, first, inputs.line_fps(size)))
                rows += _ports(inputs, size, case, record)
                found += rfc2889.lowered(inputs, size, settings.maximum_fps, maximum)
    own = group_flows.deviations(inputs, "§4")
    own.append(
        phrase("RFC 3918 §5.1: latency is that of every frame at the throughput, not of one tagged frame in 20 trials")
    )
    if settings.trial_s < 60:
        own.append(phrase("RFC 3918 §3.1.5: each trial lasts {trial_s:g} s instead of 60 s", trial_s=settings.trial_s))
    if settings.burden_fps is not None:
        own.append(
            phrase("RFC 3918 §8.1: the burden is unicast traffic from each receiving port to the next, not a full mesh")
        )
    own.append(phrase("RFC 3918 §4.4: encapsulated multicast frames (tunnels) were not tested"))
    return Result(measurement="multicast", rows=rows, deviations=[FIFO, *own, *dict.fromkeys(found)])


def _trial(inputs: MethodInput, size: int, case: _Case, fps: float) -> Trial:
    settings, ports = inputs.plan.settings_of(MulticastSettings), group_flows.receivers(inputs)
    start_ns = round((case.groups / settings.join_fps + settings.settle_s) * NS_PER_S)
    data_ns = round(settings.trial_s * NS_PER_S)
    unicast = case.unicast_percent / 100
    flows = [
        group_flows.data(
            settings.protocol,
            ports,
            case.groups,
            share=1 - unicast,
            start_ns=start_ns,
            duration_ns=data_ns,
            frame_bytes=size,
        )
    ]
    if unicast:
        flows += [
            Flow(
                transmit=group_flows.SOURCE,
                receive=port,
                share=unicast / len(ports),
                start_ns=start_ns,
                duration_ns=data_ns,
                frame_bytes=(size,),
            )
            for port in ports
        ]
    burden_fps = inputs.fps(settings.burden_fps, size)
    if burden_fps is not None:
        flows += [
            Flow(
                transmit=one,
                receive=other,
                share=burden_fps / fps,
                start_ns=start_ns,
                duration_ns=data_ns,
                frame_bytes=(size,),
            )
            for one, other in group_flows.burdened(ports)
        ]
    flows += [
        group_flows.messages(
            settings.protocol,
            port,
            ports,
            case.groups,
            joins=True,
            start_ns=0,
            message_fps=settings.join_fps,
            trial_fps=fps,
        )
        for port in ports
    ]
    whole_s = (start_ns + data_ns) / NS_PER_S
    trial = inputs.trial(
        phrase("{name}, {fps:,.0f} frames/s, {size} byte", name=case.name, fps=fps, size=size),
        size,
        fps,
        whole_s,
    )
    return trial.model_copy(update={"flows": tuple(flows)})


def _summary(
    size: int, case: _Case, limit: rfc2889.Boundary, record: TrialRecord, first: TrialRecord, line_fps: float | None
) -> Row:
    # Of the port that sends to the groups; a burden comes from others, and beside that no frame is counted.
    own = [stream for stream in record.facts.streams if stream.transmit == group_flows.SOURCE]
    whole = len(own) == len(record.facts.streams)
    fps = record.load_fps if whole else record.trial.frames_per_second
    throughput = limit.throughput(fps if limit.passed else 0.0, line_fps)
    figures, remarks = (
        {},
        [] if limit.passed else [phrase("no load reached all ports without loss; below: the maximum load")],
    )
    if throughput is None:
        remarks = [join_texts("; ", record.invalid_because) or rfc2889.UNDECIDED]
    else:
        copies = sum(stream.expected_frames for stream in own) / max(1, sum(stream.offered_frames for stream in own))
        figures = {"throughput": throughput, "aggregated": throughput.scaled(copies, "frames/s")}
    if first.valid:
        figures["loss_at_maximum"] = rfc2889.percent(_missing(first), first.facts.expected_frames)
    return Row(
        frame_bytes=size,
        case=phrase("{name}, all ports", name=case.name),
        figures=figures,
        trial=record.index,
        remark=join_texts("; ", remarks),
    )


def _missing(record: TrialRecord) -> int:
    return record.facts.expected_frames - record.facts.tracked.forwarded_frames


def _ports(inputs: MethodInput, size: int, case: _Case, record: TrialRecord) -> list[Row]:
    if not record.valid:
        return []
    groups, *unicast = record.facts.streams
    return [
        _port(
            inputs, size, case, record, branch, [one.everywhere[0] for one in unicast if one.receive == branch.receive]
        )
        for branch in groups.everywhere
    ]


def _port(
    inputs: MethodInput, size: int, case: _Case, record: TrialRecord, branch: Branch, unicast: list[Branch]
) -> Row:
    offered = record.facts.streams[0].offered_frames
    figures = {"loss": rfc2889.percent(offered - branch.tracked.forwarded_frames, offered)}
    if unicast:
        forwarded = sum(one.tracked.forwarded_frames for one in unicast)
        missing = sum(one.tracked.lost_frames + one.tracked.corrupt.count for one in unicast)
        figures["unicast_loss"] = rfc2889.percent(missing, forwarded + missing)
    latency = branch.tracked.latency
    if latency is not None:
        samples = [samples_of(record, branch.tracked)]
        figures |= latency_figures(inputs.bias, [latency], size, record.offered_fps, percents={}, samples=samples)
    name = inputs.plan.port_fields()[branch.receive][1]
    return Row(
        frame_bytes=size,
        case=phrase("{name}, port {port}", name=case.name, port=name),
        figures=figures,
        trial=record.index,
    )


PROCEDURE = Procedure(
    name="multicast",
    title=phrase("Multicast throughput"),
    standard=phrase("RFC 3918 §4.1 to §4.3 and §5"),
    summary="The highest load to multicast groups that reaches every port without loss, and its latency at each.",
    settings=MulticastSettings,
    of_cpu=True,
    generator=multicast,
    figure="throughput",
    units={"frames/s": "throughput aggregated", "%": "loss_at_maximum loss unicast_loss", "ns": LATENCIES},
    example="keisoku multicast --dut lab:bridge?snooping=on --ports 1,2,3 --size 64 --duration 2s --waits 0.1s",
    own_flows=True,
    needs=("multicast",),
)
