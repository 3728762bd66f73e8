"""RFC 9693: the throughput of RFC 2544 with connections that exist already: before each trial they are opened.

No frame of the load makes a new connection: each belongs to one of those that were opened, one after the other.
"""

from __future__ import annotations

from collections.abc import Generator

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc2889 import UNDECIDED, Boundary, highest
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS
from keisoku.subjects.device.procedure.rfc9693 import connection_trial
from keisoku.subjects.device.procedure.rfc9693.connection_trial import (
    ANSWERS,
    INITIATOR,
    RESPONDER,
    ConnectionOutcome,
    attempt,
    count,
    no_command,
)
from keisoku.subjects.device.procedure.rfc9693.settings import ConnectionThroughputSettings
from keisoku.subjects.device.record.trial import Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

_OUT = Flow(transmit=INITIATOR, receive=RESPONDER, connections="open")
FLOWS = {"both": (_OUT, ANSWERS), "out": (_OUT,), "in": (ANSWERS,)}
"""By direction."""


def _mixed(settings: ConnectionThroughputSettings) -> tuple[Flow, ...]:
    """The flows of the direction, each with IPv6 beside it if there is to be some."""
    own, native = FLOWS[settings.direction], settings.native_percent / 100
    if not native:
        return own
    beside = (Flow(transmit=flow.transmit, receive=flow.receive, headers="ipv6", share=native) for flow in own)
    return (*(flow.model_copy(update={"share": 1 - native}) for flow in own), *beside)


def connection_throughput(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size with 'throughput' (frames/s of each port that sends), then a row a trial with 'offered' (frames/s),
    'loss' (frames), and the connections that were 'refused' before. Those of TCP are established before each load."""
    settings = inputs.plan.settings_of(ConnectionThroughputSettings)
    rows: list[Row] = []
    for size in inputs.plan.frame_bytes:
        seen: list[ConnectionOutcome] = []

        def probe(
            fps: float, size: int = size, seen: list[ConnectionOutcome] = seen
        ) -> Generator[Trial, TrialRecord, bool | None]:
            one = yield from attempt(
                connection_trial.connection_trial(
                    inputs,
                    settings,
                    size,
                    settings.connections,
                    settings.open_fps,
                    _mixed(settings),
                    fps,
                    settings.trial_s,
                    established=settings.transport == "tcp",
                )
            )
            seen.append(one)
            return None if one.passed is None else not one.unopened and not _lost(one)

        ceiling = inputs.fps(settings.maximum_fps, size) or inputs.line_fps(size) or CEILING_WITHOUT_LINK_FPS
        found = yield from highest(probe, ceiling, settings.resolution_percent / 100)
        rows.append(_summary(size, found, seen))
        rows += [_row(one, size) for one in seen]
    said = connection_trial.deviations(inputs, settings, established=settings.transport == "tcp")
    return Result(measurement="connection_throughput", rows=rows, deviations=said)


def _lost(one: ConnectionOutcome) -> int:
    return one.record.facts.sent.offered_frames - one.record.facts.tracked.forwarded_frames


def _summary(size: int, found: Boundary, seen: list[ConnectionOutcome]) -> Row:
    case = phrase("throughput")
    if not found.passed:
        if not any(one.record.valid for one in seen):
            remark = UNDECIDED
        elif all(one.unopened for one in seen if one.record.valid):
            remark = phrase("connections were refused before each load: use fewer, or a lower --open")
        else:
            remark = phrase("frames were lost at every load that was tried")
        return Row(frame_bytes=size, case=case, figures={}, trial=seen[-1].record.index, remark=remark)
    figure = found.figure("frames/s")
    shows = next(one.record.index for one in seen if one.record.trial.frames_per_second == found.passed)
    remark = phrase("limited by the tester") if found.limited_by_tester else ""
    return Row(frame_bytes=size, case=case, figures={"throughput": figure}, trial=shows, remark=remark)


def _row(one: ConnectionOutcome, size: int) -> Row:
    figures = {
        "offered": Quantity(value=one.record.offered_fps, unit="frames/s"),
        "loss": Quantity(value=_lost(one), unit="frames", uncertainty=0.0),
        "refused": count(one.unopened),
    }
    return Row(
        frame_bytes=size,
        case=phrase("trial {number}", number=one.record.index + 1),
        figures=figures if one.record.valid else {},
        trial=one.record.index,
        remark=join_texts("; ", why_invalid(one.record)),
    )


PROCEDURE = Procedure(
    name="connection_throughput",
    title=phrase("Throughput with connections"),
    standard="RFC 9693",
    summary="The throughput of a NAT or firewall with connections that exist already.",
    settings=ConnectionThroughputSettings,
    of_cpu=True,
    generator=connection_throughput,
    figure="throughput",
    units={"frames/s": "throughput offered", "frames": "loss", "connections": "refused"},
    example="keisoku connection-throughput --dut lab:nat?table=100000 --duration 2s --waits 0.2s",
    sizes="64",
    own_flows=True,
    floods=True,
    from_afar=no_command,
    needs=("connections",),
    connections=lambda settings: settings.most,
)
