"""RFC 3918 §6.1, §6.2 and §8.2: how long after a message a device begins and ends to forward a group to a port.

Frames to each group are sent all the time, and every port but the first joins and leaves each group. The message is a
frame of the tester on the clock that stamps all frames, so that a delay is the difference of two times of one clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from statistics import fmean

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import RETRIES
from keisoku.subjects.device.procedure.rfc3918 import group_flows
from keisoku.subjects.device.procedure.rfc3918.settings import GroupDelaySettings
from keisoku.subjects.device.record.facts import Branch, Transmitter
from keisoku.subjects.device.record.trial import NS_PER_S, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

MOST_LOST = 0.01
"""Share of frames that a device may lose while ports are in groups: with more, a first frame that arrives late may only
be one that was not lost."""
_TURN = 0.6180339887498949
"""The messages of each trial come later by this share of the distance of two frames than in the one before (the golden
section), so that they come at all moments between two frames."""


@dataclass(frozen=True)
class Delay:
    """One delay in ns: as RFC 3918 defines it, and between which times the device changed what it forwards."""

    value_ns: float
    least_ns: float
    most_ns: float


@dataclass(frozen=True)
class Stay:
    """What a port saw of one group; a delay is None if it was not observed."""

    port: int
    join: Delay | None
    leave: Delay | None
    lost_frames: int
    """Frames of the group that did not arrive between the first and the last that did."""
    arrived_frames: int
    early: bool
    """Frames arrived before the port joined."""
    stayed: bool
    """Frames still arrived at the end of the trial."""


@dataclass(frozen=True)
class _Frames:
    """When frames to a group are due, from the start of the trial; they leave up to `late_ns` later."""

    first_ns: float
    gap_ns: float
    late_ns: float

    def due_ns(self, number: int) -> float:
        """When a frame is due."""
        return self.first_ns + number * self.gap_ns


def group_delay(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size and port: 'join_delay', 'join_min', 'join_max', 'leave_delay', 'leave_min', 'leave_max' (ns), 'lost'
    (frames between the first and the last of a group that arrived), 'groups' (how many joins they are of).

    Raises PlanError if all receivers have joined before.
    """
    settings = inputs.plan.settings_of(GroupDelaySettings)
    if settings.known and len(group_flows.receivers(inputs)) < 2:
        problem = "the last port is the one that has joined the groups before, and no other one receives"
        raise PlanError("group_delay.known", problem, "use three ports or more")
    rows: list[Row] = []
    for size in group_flows.sizes(inputs, settings.protocol):
        records = []
        for number in range(1, settings.repetitions + 1):
            records.append((yield from _punctual(_trial(inputs, size, number), settings)))
        for port in measured_ports(settings, group_flows.receivers(inputs)):
            rows.append(_row(inputs, size, port, records))
    found = group_flows.deviations(inputs, "§6")
    method = (
        phrase("B: the last port has joined the groups before")
        if settings.known
        else phrase("A: nobody has joined before")
    )
    found.append(phrase("RFC 3918 §6.1: only method {method}", method=method))
    if settings.burden_fps is None:
        found.append(phrase("RFC 3918 §8.2: without a burden (--burden), which is optional here"))
    return Result(
        measurement="group_delay",
        rows=rows,
        deviations=found,
        remarks=[
            phrase(
                "Join delay: from the departure of the message to the arrival of the first frame of "
                "the group; leave delay: from the departure of the message to the arrival of the "
                "last frame (RFC 2432 §3.3). The interval of a mean is where the mean moment lies at "
                "which the device changed what it forwards, between two frames of a group."
            )
        ],
    )


def _punctual(trial: Trial, settings: GroupDelaySettings) -> rfc2889.Carried:
    """The record of a trial, repeated while messages leave late; the one with the least lateness if all do."""
    tried = []
    for _ in range(RETRIES):
        record = yield from group_flows.attempt(trial)
        tried.append(record)
        if not record.valid or _latest_ns(record) <= NS_PER_S / settings.group_fps:
            break
    return min(tried, key=lambda record: (not record.valid, _latest_ns(record)))


def _latest_ns(record: TrialRecord) -> int:
    return max((_late_ns(one) for one in record.facts.transmitters if one.port != group_flows.SOURCE), default=0)


def _late_ns(transmitter: Transmitter) -> int:
    """By how much a message of the port can have left later than it was due."""
    return transmitter.sent.lag_max_ns + transmitter.sent.postponed_ns


def _trial(inputs: MethodInput, size: int, number: int) -> Trial:
    settings, ports = inputs.plan.settings_of(GroupDelaySettings), group_flows.receivers(inputs)
    spacing_fps, fps = 1 / settings.spacing_s, settings.group_fps * settings.groups
    measured = measured_ports(settings, ports)
    quiet_s = settings.quiet_s + (_TURN * number) % 1 / settings.group_fps
    left_s = quiet_s + settings.stay_s
    whole_s = left_s + settings.groups * settings.spacing_s + settings.leave_s
    flows = [
        group_flows.data(
            settings.protocol,
            ports,
            1,
            first=group,
            share=1 / settings.groups,
            start_ns=_first_ns(settings, group),
            timed=True,
            frame_bytes=size,
        )
        for group in range(settings.groups)
    ]
    burden_fps = inputs.fps(settings.burden_fps, size)
    if burden_fps is not None:
        burdened = group_flows.burdened(ports)
        flows += [Flow(transmit=one, receive=other, share=burden_fps / fps) for one, other in burdened]
    for port in ports:
        stays = ((True, quiet_s), (False, left_s)) if port in measured else ((True, 0.0),)
        for joins, start_s in stays:
            flows.append(
                group_flows.messages(
                    settings.protocol,
                    port,
                    ports,
                    settings.groups,
                    joins=joins,
                    start_ns=round(start_s * NS_PER_S),
                    message_fps=spacing_fps,
                    trial_fps=fps,
                )
            )
    purpose = plural(
        "join and leave {count} group, {number} of {repetitions}, {size} byte",
        "join and leave {count} groups, {number} of {repetitions}, {size} byte",
        count=settings.groups,
        number=number,
        repetitions=settings.repetitions,
        size=size,
    )
    trial = inputs.trial(purpose, size, fps, whole_s)
    return trial.model_copy(update={"flows": tuple(flows)})


def _first_ns(settings: GroupDelaySettings, group: int) -> int:
    """When the first frame to a group is due: the groups take turns, so that their frames do not come at once."""
    return round(group / settings.groups / settings.group_fps * NS_PER_S)


def measured_ports(settings: GroupDelaySettings, ports: Sequence[int]) -> Sequence[int]:
    """Of the receiving ports those whose delays are measured: not the one that makes the device know the groups."""
    return ports[:-1] if settings.known else ports


def stays(settings: GroupDelaySettings, record: TrialRecord) -> list[Stay]:
    """What each port saw of each group in a valid trial."""
    source = next(one for one in record.facts.transmitters if one.port == group_flows.SOURCE)
    begun: dict[int, list[int]] = defaultdict(list)
    for flow in record.trial.flows:
        if flow.message:
            begun[flow.transmit].append(flow.start_ns)
    found = []
    measured = measured_ports(settings, sorted(begun))
    for transmitter in record.facts.transmitters:
        if transmitter.port not in measured:
            continue
        late_ns = _late_ns(transmitter)
        for group in range(settings.groups):
            stream = record.facts.streams[group]
            frames = _Frames(_first_ns(settings, group), NS_PER_S / settings.group_fps, _late_ns(source))
            branch = next((one for one in stream.everywhere if one.receive == transmitter.port), None)
            if branch is None:
                continue
            due_ns = [start_ns + group * settings.spacing_s * NS_PER_S for start_ns in begun[transmitter.port]]
            found.append(_stay(branch, min(due_ns), max(due_ns), late_ns, frames))
    return found


def _stay(branch: Branch, join_ns: float, leave_ns: float, late_ns: float, frames: _Frames) -> Stay:
    """Frames leave when they are due or later, the source's as well as the messages."""
    tracked = branch.tracked
    first_ns, last_ns = branch.first_received_ns, branch.last_received_ns
    gaps = list(tracked.lost)
    before = next((gap for gap in gaps if gap.after_ns is None), None)
    behind = next((gap for gap in gaps if gap.before_ns is None), None)
    inner = [gap.count for gap in gaps if gap is not before and gap is not behind]
    # A device that lost so many frames in a row while the port was in the group may have lost as many at both ends.
    more = max(inner, default=0)
    if first_ns is None or last_ns is None or tracked.latency is None:
        return Stay(branch.receive, None, None, 0, 0, early=False, stayed=False)
    join = leave = None
    early = before is None or first_ns < join_ns
    if before is not None and not early:
        # The last frame that was not forwarded came to the device when it did not know the port yet.
        least_ns = frames.due_ns(before.last - more) - join_ns - late_ns
        join = Delay(first_ns - join_ns, max(0.0, least_ns), first_ns - join_ns)
    if behind is not None:
        # So did the last one that was forwarded, when it still did, and the next, when it no longer did.
        least_ns = frames.due_ns(behind.first - 1) - leave_ns - late_ns
        most_ns = frames.due_ns(behind.first + more) + frames.late_ns + tracked.latency.max_ns - leave_ns
        # A device that forwards no frame after the message has no delay that could be seen.
        leave = Delay(max(0.0, last_ns - leave_ns), max(0.0, least_ns), most_ns)
    return Stay(branch.receive, join, leave, sum(inner), tracked.forwarded_frames, early, stayed=behind is None)


def _row(inputs: MethodInput, size: int, port: int, records: Sequence[TrialRecord]) -> Row:
    settings = inputs.plan.settings_of(GroupDelaySettings)
    good = [record for record in records if record.valid and not group_flows.sent_messages(record)]
    every = [stay for record in good for stay in stays(settings, record)]
    found = [stay for stay in every if stay.port == port]
    case = f"port {inputs.plan.port_fields()[port][1]}"
    if not found:
        why = dict.fromkeys(
            reason for one in records for reason in [*one.invalid_because, *group_flows.sent_messages(one)]
        )
        return Row(frame_bytes=size, case=case, figures={}, remark=join_texts("; ", why))
    figures: dict[str, Quantity] = {}
    overloaded = sum(stay.lost_frames for stay in every) > MOST_LOST * sum(stay.arrived_frames for stay in every)
    remarks = _remarks(found)
    if overloaded:
        remarks.append(
            phrase("the device lost frames between joining and leaving, so the delays are not known: lower --rate")
        )
    for name, delays in (
        ("join", [stay.join for stay in found if stay.join is not None]),
        ("leave", [stay.leave for stay in found if stay.leave is not None]),
    ):
        if len(delays) == len(found) and not overloaded:
            figures |= _figures(name, delays)
    figures["lost"] = rfc2889.frames(sum(stay.lost_frames for stay in found))
    figures["groups"] = Quantity(value=len(found), unit="joins", uncertainty=0.0)
    return Row(frame_bytes=size, case=case, figures=figures, trial=good[0].index, remark=join_texts("; ", remarks))


def _remarks(found: Sequence[Stay]) -> list[str]:
    early, stayed = sum(stay.early for stay in found), sum(stay.stayed for stay in found)
    none = sum(stay.join is None and not stay.early for stay in found)
    remarks = []
    if early:
        remarks.append(
            phrase(
                "frames of {early} of {count} groups arrived before the port joined them: the device "
                "floods groups without receivers, so there is no join delay",
                early=early,
                count=len(found),
            )
        )
    if none:
        remarks.append(phrase("no frame of {none} of {count} groups arrived at all", none=none, count=len(found)))
    if stayed - early > 0 or (stayed and not early):
        remarks.append(
            phrase(
                "frames of {stayed} of {count} groups still arrived at the end: raise --leave",
                stayed=stayed,
                count=len(found),
            )
        )
    return remarks


def _figures(name: str, delays: Sequence[Delay]) -> dict[str, Quantity]:
    values = [delay.value_ns for delay in delays]
    lower, upper = fmean(delay.least_ns for delay in delays), fmean(delay.most_ns for delay in delays)
    mean = Quantity(
        value=fmean(values),
        unit="ns",
        interval=Interval(lower=lower, upper=upper, confidence=1.0),
        covers="resolution",
    )
    extremes = (("min", min(delays, key=_value)), ("max", max(delays, key=_value)))
    return {f"{name}_delay": mean} | {
        f"{name}_{which}": Quantity(
            value=delay.value_ns,
            unit="ns",
            interval=Interval(lower=delay.least_ns, upper=delay.most_ns, confidence=1.0),
            covers="resolution",
        )
        for which, delay in extremes
    }


def _value(delay: Delay) -> float:
    return delay.value_ns


PROCEDURE = Procedure(
    name="group_delay",
    title=phrase("Group join and leave delay"),
    standard=phrase("RFC 3918 §6 and §8.2"),
    summary="How long after a port joins or leaves a multicast group the first or the last frame reaches it.",
    settings=GroupDelaySettings,
    generator=group_delay,
    figure="join_delay",
    units={"frames": "lost", "joins": "groups", "ns": "join_delay join_min join_max leave_delay leave_min leave_max"},
    example="keisoku group-delay --dut lab:bridge?snooping=on --ports 1,2,3 --repetitions 2 --waits 0.1s",
    sizes="64",
    own_flows=True,
    needs=("multicast",),
)
