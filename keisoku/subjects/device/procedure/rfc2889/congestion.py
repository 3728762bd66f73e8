"""RFC 2889 §5.5: behaviour of a switch when one output is offered 150 % of what it can send.

Four ports form a block: the first sends half of its frames to the third port and half to the fourth, the second sends
all of its frames to the fourth. A trial without congestion first shows whether the tester can offer this load.
"""

from __future__ import annotations

from collections.abc import Generator

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc2889.settings import CongestionSettings
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.trial import Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import TOLERANCE, why_invalid

_BLOCK = 4


def congestion(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size and block: 'uncongested_loss' and 'congested_loss' (%), 'uncongested_rate' and 'congested_rate'
    (frames/s, §5.5.4), 'load' (% of the intended load that the device let the tester send), 'offered' (frames/s, mean
    of all sending ports), 'flooded' (frames); the remark names head-of-line blocking and back pressure."""
    plan, settings = inputs.plan, inputs.plan.settings_of(CongestionSettings)
    blocks = range(0, len(plan.port_fields()), _BLOCK)
    rows: list[Row] = []
    found = rfc2889.deviations(plan, inputs.capabilities.simulated, "§5.5", settings.trial_s)
    remarks: list[str] = []
    alone = tuple(Flow(transmit=first + way, receive=first + way + 2) for first in blocks for way in (0, 1))
    crossed = tuple(flow for first in blocks for flow in _crossed(first))
    for size in plan.frame_bytes:

        def load(fps: float, flows: tuple[Flow, ...] = alone, name: str = "uncongested", size: int = size) -> Trial:
            trial = inputs.trial(phrase("{name}, {size} byte", name=name, size=size), size, fps, settings.trial_s)
            return trial.model_copy(update={"flows": flows})

        maximum, reference = yield from rfc2889.at_most(inputs, size, settings.maximum_fps, load)
        found += rfc2889.lowered(inputs, size, settings.maximum_fps, maximum)
        if reference.loss_ratio > 0:
            remarks.append(
                phrase(
                    "{size} byte: {percent:.3g} % are lost at this load without congestion",
                    size=size,
                    percent=100 * reference.loss_ratio,
                )
            )
        record = yield from rfc2889.attempt(load(maximum, crossed, "congested"))
        found += rfc2889.late_starts(record)
        for number, first in enumerate(blocks):
            rows.append(_row(record, reference, first, record.facts.streams[3 * number : 3 * number + 3]))
    return Result(measurement="congestion", rows=rows, deviations=list(dict.fromkeys(found)), remarks=remarks)


def _crossed(first: int) -> tuple[Flow, ...]:
    # §5.5.3: "in an alternating order.  The first test frame to the uncongested receive port, second test
    # frame to the congested receive port, then repeat.": two flows of one port and rate leave in turn.
    return (
        Flow(transmit=first, receive=first + 2, share=0.5),
        Flow(transmit=first, receive=first + 3, share=0.5),
        Flow(transmit=first + 1, receive=first + 3),
    )


def _row(record: TrialRecord, reference: TrialRecord, first: int, streams: list[StreamFacts]) -> Row:
    names = [str(first + place + 1) for place in range(_BLOCK)]
    case = phrase(
        "ports {first} and {second} to {third} and {fourth}",
        first=names[0],
        second=names[1],
        third=names[2],
        fourth=names[3],
    )
    intended = sum(record.trial.frames_in(flow) for flow in _crossed(first))
    offered = sum(stream.offered_frames for stream in streams)
    beside, congested = _lost(streams[:1]), _lost(streams[1:])
    # The tester offered this load in the trial before: now the device holds it back.
    held = offered < intended * (1 - TOLERANCE) and reference.valid
    figures, remark = {"load": rfc2889.percent(offered, intended)}, join_texts("; ", why_invalid(record))
    figures["offered"] = Quantity(value=record.offered_fps, unit="frames/s")
    if record.valid or held:
        figures["uncongested_loss"] = rfc2889.percent(beside, streams[0].offered_frames)
        figures["congested_loss"] = rfc2889.percent(congested, offered - streams[0].offered_frames)
        figures["uncongested_rate"] = rfc2889.forwarding_rate(record, (first + 2,))
        figures["congested_rate"] = rfc2889.forwarding_rate(record, (first + 3,))
        flooded = [one.misdirected_frames for one in record.facts.receivers if first <= one.port < first + _BLOCK]
        figures["flooded"] = Quantity(value=sum(flooded), unit="frames", uncertainty=0.0)
        remark = join_texts("; ", _verdicts(beside, congested, held))
    return Row(frame_bytes=record.trial.frame_bytes, case=case, figures=figures, trial=record.index, remark=remark)


def _lost(streams: list[StreamFacts]) -> int:
    return sum(stream.offered_frames - stream.tracked.forwarded_frames for stream in streams)


def _verdicts(beside: int, congested: int, held: bool) -> list[str]:
    """§5.5.5.1: loss at the uncongested port is head-of-line blocking; §5.5.5.2: no loss at the congested one is back
    pressure.

    The RFC calls every trial without loss back pressure; here the sources must have been held back as well.
    """
    found = [phrase("head-of-line blocking") if beside else phrase("no head-of-line blocking")]
    if held:
        found.append(phrase("back pressure") if not congested else phrase("back pressure that does not prevent loss"))
    elif congested:
        found.append(phrase("no back pressure"))
    else:
        found.append(phrase("the device buffered the excess: lengthen the trial to detect back pressure"))
    return found


PROCEDURE = Procedure(
    name="congestion",
    title=phrase("Congestion control"),
    standard="RFC 2889 §5.5",
    summary="Loss at a congested and at an uncongested output: head-of-line blocking and back pressure.",
    settings=CongestionSettings,
    generator=congestion,
    figure="uncongested_loss",
    units={
        "%": "load uncongested_loss congested_loss",
        "frames/s": "offered uncongested_rate congested_rate",
        "frames": "flooded",
    },
    example="keisoku congestion --dut sim:gs908e --ports 1,2,3,4 --size 64 --duration 1s",
    own_flows=True,
    least_ports=4,
    ports_in_blocks=True,
)
