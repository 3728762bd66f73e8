"""RFC 8239 §5: head-of-line blocking, measured by the frames from the same input to an uncongested output.

Groups of four ports: the first input sends half to each of two outputs, the second input congests the second output.
The load without the second input is measured first: loss in that trial is no head-of-line blocking.
"""

from __future__ import annotations

from collections.abc import Generator

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase, plural
from keisoku.subjects.device.analysis.loss_ratio import share
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc8239
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc8239 import SIZES_TEXT, FullRate, flows_trial, full_rate, reliably
from keisoku.subjects.device.procedure.rfc8239.settings import HeadOfLineSettings
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.trial import Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

_Group = tuple[int, int, int, int]


def head_of_line(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size and group of ports.

    'loss' (%) of the flow to the uncongested output while the other one is congested, 'alone' (%) of the same flow
    without congestion; 'congested' (%) of all frames to the congested output: a third less the buffered frames, if
    nothing slows down the inputs. 'delay' (ns): by how much the congestion lengthens the uncongested flow's maximum
    latency.
    """
    settings = inputs.plan.settings_of(HeadOfLineSettings)
    count = rfc8239.ports(inputs, 4, "head_of_line")
    rows: list[Row] = []
    rates: list[FullRate] = []
    for size in inputs.plan.frame_bytes:
        load = settings.load_percent / 100
        full = yield from full_rate(inputs, size, _flows(_groups(count, 0), load, congest=True), settings.maximum_fps)
        rates.append(full)
        for shift in range(settings.shifts or count):
            groups = _groups(count, shift)
            records = []
            for name, congest in ((phrase("without congestion"), False), (phrase("congested"), True)):
                purpose = phrase("{name}, ports shifted by {shift}, {size} byte", name=name, shift=shift, size=size)
                flows = _flows(groups, load, congest)
                records.append((yield from reliably(flows_trial(inputs, purpose, size, full, settings.trial_s, flows))))
            rows += [_row(group, place, *records) for place, group in enumerate(groups)]
    found = []
    if count < 8:
        found.append(phrase("RFC 8239 §5.2: {count} ports instead of at least eight", count=count))
    if (settings.shifts or count) < count:
        found.append(phrase("RFC 8239 §5.2: not every port was tested in every place of a group"))
    found.append(phrase("RFC 8239 §5.2 2): no load was split over four outputs, 25 % to each"))
    return Result(measurement="head_of_line", rows=rows, deviations=found + rfc8239.deviations(inputs, rates))


def _groups(count: int, shift: int) -> list[_Group]:
    """§5.2: consecutive ports, all shifted by one in each iteration."""
    ports = [(shift + place) % count for place in range(count)]
    return [(ports[at], ports[at + 1], ports[at + 2], ports[at + 3]) for at in range(0, count - 3, 4)]


def _flows(groups: list[_Group], load: float, congest: bool) -> list[Flow]:
    """Flows of each group: first the one to the uncongested output, then those to the congested output."""
    found = []
    for first, second, free, crowded in groups:
        found.append(Flow(transmit=first, receive=free, share=load / 2, pacing=Constant()))
        found.append(Flow(transmit=first, receive=crowded, share=load / 2, pacing=Constant()))
        if congest:
            found.append(Flow(transmit=second, receive=crowded, share=load, pacing=Constant()))
    return found


def _row(group: _Group, place: int, calm: TrialRecord, busy: TrialRecord) -> Row:
    first, second, free, crowded = (port + 1 for port in group)
    case = phrase(
        "{first} to {free}, while {first} and {second} send to {crowded}",
        first=first,
        free=free,
        second=second,
        crowded=crowded,
    )
    size = busy.trial.frame_bytes
    spoiled = [*calm.invalid_because, *busy.invalid_because]
    if spoiled:
        return Row(frame_bytes=size, case=case, figures={}, trial=busy.index, remark="; ".join(dict.fromkeys(spoiled)))
    before, during = calm.facts.streams[2 * place], busy.facts.streams[3 * place]
    crowd = busy.facts.streams[3 * place + 1 : 3 * place + 3]
    figures = {
        "loss": _loss([during]),
        "alone": _loss([before]),
        "congested": _loss(crowd),
    }
    if before.tracked.latency is not None and during.tracked.latency is not None:
        added_ns = during.tracked.latency.max_ns - before.tracked.latency.max_ns
        figures["delay"] = Quantity(value=added_ns, unit="ns")
    if figures["congested"].value == 0:
        remark = phrase(
            "output {crowded} was not congested, so head-of-line blocking cannot be judged", crowded=crowded
        )
    elif figures["loss"].value > figures["alone"].value:
        remark = plural(
            "head-of-line blocking: {count} frame to an uncongested output was lost",
            "head-of-line blocking: {count} frames to an uncongested output were lost",
            count=during.tracked.lost_frames,
        )
    else:
        remark = ""
    return Row(frame_bytes=size, case=case, figures=figures, trial=busy.index, remark=remark)


def _loss(streams: list[StreamFacts]) -> Quantity:
    offered = sum(stream.offered_frames for stream in streams)
    forwarded = sum(stream.tracked.forwarded_frames for stream in streams)
    return share(offered - forwarded, offered)


PROCEDURE = Procedure(
    name="head_of_line",
    title=phrase("Head-of-line blocking"),
    standard="RFC 8239 §5",
    summary="Head-of-line blocking: whether a congested output delays or drops frames to an uncongested output.",
    settings=HeadOfLineSettings,
    generator=head_of_line,
    figure="loss",
    units={"%": "loss alone congested", "ns": "delay"},
    example="keisoku head-of-line --dut sim:lsw4-gt-8ep --ports 1,2,3,4,5,6,7,8 --size 512 --duration 0.1s",
    simulated_sizes=SIZES_TEXT,
    own_flows=True,
)
