"""Results of the flows of the last traffic in keisoku's own form: figures, histograms, lost frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keisoku.errors import PlanError
from keisoku.faces.service.document import (
    FlowAccount,
    FlowAccounts,
    FlowHistogram,
    FlowHistograms,
    LastTraffic,
    OfFiguresOfFlows,
    OfFlows,
    StreamLoss,
    StreamLosses,
    Traffic,
)
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.stream_figures import stream_figures
from keisoku.subjects.device.record.counts import Tracked
from keisoku.subjects.device.record.facts import Facts, StreamFacts
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.total import all_tracked
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

_PDV = {"p99.9": 99.9}
"""Percentile that the delay variation always needs."""


@dataclass(frozen=True)
class EndedTraffic:
    """Traffic that is over, with the data for its figures. Flows are named streams of the trial."""

    trial: Trial
    facts: Facts
    flows: dict[str, list[int]]
    ports: list[str]
    """Names of ports, in the order of the facts."""
    rates: list[float | None]
    """Rates of the ports' lines, in bit/s; None where a line has none."""
    bias: Bias
    context: dict[str, object]
    invalid_because: list[str]

    def parts(self, wanted: Sequence[str]) -> Iterator[tuple[str, list[StreamFacts]]]:
        """Flows by name with their streams; all without a name. Raises PlanError for an unknown name."""
        unknown = next((name for name in wanted if name not in self.flows), None)
        if unknown is not None:
            raise PlanError("name", f"there was no flow {unknown}", "name one of the last traffic")
        for name in wanted or self.flows:
            yield name, [self.facts.streams[place] for place in self.flows[name]]


Last = EndedTraffic | bool
"""The last traffic that has ended, or whether one is running."""


def whole(last: Last) -> LastTraffic:
    """All counts."""
    if isinstance(last, bool):
        return LastTraffic(traffic=None)
    return LastTraffic(
        traffic=Traffic(trial=last.trial, facts=last.facts, flows=last.flows, invalid_because=last.invalid_because)
    )


def accounts(last: Last, asked: OfFiguresOfFlows) -> FlowAccounts:
    """Figures of each flow, corrected for the tester, with uncertainties. Raises PlanError for a wrong percentile."""
    if isinstance(last, bool):
        return FlowAccounts(state=_state(last), invalid_because=[], flows=[])
    wrong = next((percent for percent in asked.percent if not 0 <= percent <= 100), None)
    if wrong is not None:
        raise PlanError("percent", f"{wrong:g} is not between 0 and 100", "correct it")
    percents = {f"p{percent:g}": percent for percent in asked.percent} | _PDV
    found = [_account(last, name, streams, percents) for name, streams in last.parts(asked.name) if streams]
    return FlowAccounts(state="ended", invalid_because=last.invalid_because, flows=found)


def histograms(last: Last, asked: OfFlows) -> FlowHistograms:
    """Latency of every frame of each flow."""
    if isinstance(last, bool):
        return FlowHistograms(state=_state(last), invalid_because=[], flows=[])
    found = [
        FlowHistogram(name=name, latency=_together(streams).latency)
        for name, streams in last.parts(asked.name)
        if streams
    ]
    return FlowHistograms(state="ended", invalid_because=last.invalid_because, flows=found)


def losses(last: Last, asked: OfFlows) -> StreamLosses:
    """Lost frames of each stream, because sequence numbers belong to streams."""
    if isinstance(last, bool):
        return StreamLosses(state=_state(last), invalid_because=[], streams=[])
    found = [
        StreamLoss(
            name=name,
            stream=stream.stream,
            lost_frames=stream.tracked.lost_frames,
            lost_kept_as=stream.tracked.lost_kept_as,
            lost=stream.tracked.lost,
        )
        for name, streams in last.parts(asked.name)
        for stream in streams
    ]
    return StreamLosses(state="ended", invalid_because=last.invalid_because, streams=found)


def as_run(last: EndedTraffic, context: dict[str, object]) -> DeviceRun:
    """The traffic as a run of one trial, for a report: a row for all flows, and one for each. It has no plan."""
    facts = last.facts
    record = TrialRecord(
        index=0,
        method="trial",
        trial=last.trial,
        facts=facts,
        started_at=str(context.get("started_at", "")),
        engine_seconds=(facts.sent.last_sent_ns + last.trial.phases.drain_ns) / NS_PER_S,
        invalid_because=last.invalid_because,
    )
    every = [
        Row(
            frame_bytes=last.trial.frame_bytes,
            case="all flows",
            figures={"offered": Quantity(value=record.offered_fps, unit="frames/s")}
            | stream_figures(
                last.bias,
                facts.tracked,
                facts.sent.offered_frames,
                last.trial.frame_bytes,
                last.trial.frames_per_second,
            ),
            trial=0,
            remark="; ".join(last.invalid_because),
        )
    ]
    for account in accounts(last, OfFiguresOfFlows()).flows:
        mean_bytes = round(sum(account.frame_bytes) / len(account.frame_bytes))
        every.append(Row(frame_bytes=mean_bytes, case=account.name, figures=account.figures))
    return DeviceRun(Path("traffic"), {}, context | last.context, [record], [Result(measurement="trial", rows=every)])


def _account(last: EndedTraffic, name: str, streams: list[StreamFacts], percents: dict[str, float]) -> FlowAccount:
    flows = [last.trial.flows[place] for place in last.flows[name]]
    sizes = sorted({size for flow in flows for size in flow.frame_bytes or (last.trial.frame_bytes,)})
    tracked, offered = _together(streams), sum(stream.offered_frames for stream in streams)
    fps = sum(flow.share for flow in flows) * last.trial.frames_per_second
    speed = last.rates[streams[0].transmit] if len(sizes) == 1 else None
    mean_bytes = round(sum(sizes) / len(sizes))
    return FlowAccount(
        name=name,
        transmit=last.ports[streams[0].transmit],
        receive=last.ports[streams[0].receive],
        frame_bytes=sizes,
        offered_frames=offered,
        received_frames=tracked.received_frames,
        figures=stream_figures(last.bias, tracked, offered, mean_bytes, fps, speed, percents),
    )


def _together(streams: list[StreamFacts]) -> Tracked:
    return all_tracked([stream.tracked for stream in streams], 0)


def _state(running: bool) -> Literal["none", "running"]:
    return "running" if running else "none"
