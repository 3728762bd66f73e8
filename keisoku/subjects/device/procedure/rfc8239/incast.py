"""RFC 8239 §6 with frames without a connection: steady load and synchronised bursts to one receiver.

TCP would reduce its rate and retransmit; these frames do neither. Goodput and latency of TCP need real connections,
and every result states this.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from keisoku.errors import PlanError
from keisoku.ground.frame.stack import parse
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.loss_ratio import share
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import LATENCIES, Procedure
from keisoku.subjects.device.method import rfc8239
from keisoku.subjects.device.method.latency_figures import latency_figures
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc8239 import SIZES_TEXT, FullRate, flows_trial, full_rate, reliably
from keisoku.subjects.device.plan.content import SHORT_NAMES
from keisoku.subjects.device.procedure.rfc8239.settings import LINE_RATE_PERCENT, IncastSettings
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.trial import NS_PER_S, Bursts, Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

_HEADER_BYTES = dict(zip(SHORT_NAMES, (14, 42, 62), strict=True))
_FCS_BYTES = 4


def incast(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size, receiver and flow, and one for all flows of a receiver together.

    'goodput' (bit/s): what was forwarded of the frames' payload, without headers and FCS, over the trial's time
    (RFC 8238 §7). 'min', 'mean', 'p99' and 'max' (ns): latency of every frame. 'loss' (%).
    Raises PlanError if no sender is left for bursts.
    """
    settings = inputs.plan.settings_of(IncastSettings)
    count = rfc8239.ports(inputs, 3, "incast")
    if settings.steady_ports > count - 2:
        problem = f"{settings.steady_ports} of {count - 1} senders send all the time, so none is left for bursts"
        raise PlanError("incast.steady_ports", problem, f"use at most {count - 2}, or more ports")
    rows: list[Row] = []
    rates: list[FullRate] = []
    for size in inputs.plan.frame_bytes:
        for output in rfc8239.outputs(count, settings.outputs):
            others = [(output + step) % count for step in range(1, count)]
            every = [Flow(transmit=port, receive=output, pacing=Constant()) for port in others]
            full = yield from full_rate(inputs, size, every, settings.maximum_fps)
            rates.append(full)
            flows = _flows(inputs, others, output, full)
            purpose = phrase(
                "{named} to {output}, {size} byte", named=rfc8239.named(others), output=output + 1, size=size
            )
            record = yield from reliably(flows_trial(inputs, purpose, size, full, settings.trial_s, flows))
            rows += _rows(inputs, record)
    found = [
        phrase(
            "RFC 8239 §6.2: stateless frames are sent in place of TCP: they have no congestion "
            "control or retransmission; TCP's goodput and latency need real connections"
        )
    ]
    if settings.outputs != "each":
        found.append(phrase("RFC 8239 §6.2: not every port was tested as receiver"))
    found.append(
        phrase(
            "RFC 8239 §6.2: the steady load is what bursts leave of 99.98 %; the degree of "
            "synchronisation is not reported"
        )
    )
    return Result(measurement="incast", rows=rows, deviations=found + rfc8239.deviations(inputs, rates))


def _flows(inputs: MethodInput, others: Sequence[int], output: int, full: FullRate) -> list[Flow]:
    settings = inputs.plan.settings_of(IncastSettings)
    steady, bursting = others[: settings.steady_ports], others[settings.steady_ports :]
    share = settings.burst_frames / settings.period_s / full.fps
    left = LINE_RATE_PERCENT / 100 - share * len(bursting)
    if left <= 0:
        problem = f"bursts of {settings.burst_frames} frames from {len(bursting)} ports alone overload the receiver"
        raise PlanError("incast.burst_frames", problem, "use smaller bursts, or a longer period")
    line = left if settings.steady_percent is None else settings.steady_percent / 100
    found = [Flow(transmit=port, receive=output, share=line / len(steady), pacing=Constant()) for port in steady]
    pacing = Bursts(burst_frames=settings.burst_frames)
    return found + [Flow(transmit=port, receive=output, share=share, pacing=pacing) for port in bursting]


def _rows(inputs: MethodInput, record: TrialRecord) -> list[Row]:
    size = record.trial.frame_bytes
    if not record.valid:
        return [Row(frame_bytes=size, figures={}, trial=record.index, remark=join_texts("; ", why_invalid(record)))]
    steady = inputs.plan.settings_of(IncastSettings).steady_ports
    rows = []
    for place, stream in enumerate(record.facts.streams):
        kind = (
            phrase("steady")
            if place < steady
            else phrase("bursts of {burst_frames}", burst_frames=inputs.plan.settings_of(IncastSettings).burst_frames)
        )
        case = phrase(
            "{transmit} to {receive}, {kind}", transmit=stream.transmit + 1, receive=stream.receive + 1, kind=kind
        )
        figures = _figures(inputs, record, [stream])
        latency = stream.tracked.latency
        if latency is not None:
            samples = [samples_of(record, stream.tracked)]
            figures |= latency_figures(
                inputs.bias, [latency], size, record.offered_fps, percents={"p99": 99.0}, samples=samples
            )
        rows.append(Row(frame_bytes=size, case=case, figures=figures, trial=record.index))
    receiver = record.facts.streams[0].receive + 1
    figures = _figures(inputs, record, record.facts.streams)
    rows.append(
        Row(frame_bytes=size, case=phrase("all to {receiver}", receiver=receiver), figures=figures, trial=record.index)
    )
    return rows


def _figures(inputs: MethodInput, record: TrialRecord, streams: Sequence[StreamFacts]) -> dict[str, Quantity]:
    offered = sum(stream.offered_frames for stream in streams)
    forwarded = sum(stream.tracked.forwarded_frames for stream in streams)
    payload_bytes = max(0, record.trial.frame_bytes - _FCS_BYTES - _header_bytes(inputs))
    return {
        "goodput": Quantity(value=8 * payload_bytes * forwarded * NS_PER_S / record.trial.duration_ns, unit="bit/s"),
        "loss": share(offered - forwarded, offered),
    }


def _header_bytes(inputs: MethodInput) -> int:
    headers = inputs.plan.contents()[0].headers
    return _HEADER_BYTES.get(headers) or len(parse(headers).packet())


PROCEDURE = Procedure(
    name="incast",
    title=phrase("Incast"),
    standard=phrase("RFC 8239 §6, stateless frames"),
    summary="Goodput and latency of each flow when steady load and synchronised bursts meet at one receiver.",
    settings=IncastSettings,
    generator=incast,
    figure="goodput",
    units={"bit/s": "goodput", "%": "loss", "ns": LATENCIES},
    example="keisoku incast --dut lab:bridge --ports 1,2,3,4 --size 64 --maximum 20kpps --period 0.1s --waits 0.2s",
    simulated_sizes=SIZES_TEXT,
    own_flows=True,
)
