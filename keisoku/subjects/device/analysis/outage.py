"""Interruptions of flows, from the frames that they lost: exact counts, and bounds of the times.

A frame is lost or not at the moment at which it is sent, so an interruption begins after the last frame that passed
was sent and at the latest when the first lost one was, and ends alike. Both ends are therefore known to one frame gap,
and the length of it is known to one frame gap on either side (RFC 6412 §3.4: route loss of connectivity period).

An event meets frames that were sent before it, too: those that were still in the device, which is no longer than frames
take to pass it. An interruption that begins with them is the event's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from keisoku.subjects.device.record.counts import Ranges, Sent
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord


@dataclass(frozen=True)
class Between:
    """A time that lies between two others, in ns; `highest` is infinite if it only is known to be longer."""

    lowest: float
    likely: float
    """Where it is if the tester sent each frame when it was due; anywhere else between is possible as well."""
    highest: float

    @classmethod
    def from_ends(cls, lowest: float, highest: float) -> Between:
        """Between two ends in one unit, likely in the middle."""
        return cls(lowest, lowest if math.isinf(highest) else (lowest + highest) / 2, highest)

    @property
    def half(self) -> float:
        """Half the width, in the unit of the ends."""
        return (self.highest - self.lowest) / 2

    def __add__(self, other: Between) -> Between:
        return Between(self.lowest + other.lowest, self.likely + other.likely, self.highest + other.highest)

    def since(self, other: Between) -> Between:
        """The time from another moment to this one."""
        return Between(self.lowest - other.highest, self.likely - other.likely, self.highest - other.lowest)

    def times(self, factor: float) -> Between:
        """So many times as long."""
        return Between(self.lowest * factor, self.likely * factor, self.highest * factor)

    def at_least(self, least: float) -> Between:
        """The same, if it cannot be less than this, in its unit."""
        return Between(max(self.lowest, least), max(self.likely, least), max(self.highest, least))


NOTHING = Between(0.0, 0.0, 0.0)
_ROUNDING_NS = 2.0
_CATCH_UP_NS, _CATCH_UP_FRAMES = 200_000, 64
"""A sender that is later than the longer of both times postpones its schedule (core/src/trial/departures.rs)."""


@dataclass(frozen=True)
class Outage:
    """Consecutive frames of one flow that were lost."""

    first: int
    last: int
    """Sequence numbers."""
    lost: int
    """Fewer than all of them where the record has joined interruptions."""
    begin: Between
    end: Between
    """When it began and ended, in ns since the first frame was due; the end is infinite if no later frame passed."""
    by_loss: Between
    """Its length by the number of lost frames and the time in which no frame could be lost, as none was sent."""

    @property
    def is_intermittent(self) -> bool:
        """Whether frames between the first and the last passed."""
        return self.lost < self.last - self.first + 1


@dataclass(frozen=True)
class Impact:
    """What one event did to one flow, until the next event."""

    flow: int
    """From 0, in the order of the trial."""
    transmit: int
    receive: int
    outages: list[Outage]
    interruption: Between
    """The sum of the interruptions; they end at the next event at the latest, and are then longer than this says."""
    onset: Between | None
    """From the event to the first interruption; None if the event's time is not known or nothing was lost."""
    convergence: Between | None
    """From the event to the end of the last interruption (RFC 6412 §3.6.3: route-specific convergence time)."""
    is_back: bool
    """Whether frames passed again before the next event."""
    came_from_before: bool
    """Whether the flow was interrupted already when the event happened."""
    lost: int
    """Frames of interruptions that began in this time."""
    by_loss: Between
    """The sum of these interruptions by their lost frames; they are not divided by the next event."""
    duplicated: int
    reordered: int
    port_before: int
    port_after: int

    @property
    def is_affected(self) -> bool:
        """Whether it was interrupted."""
        return bool(self.outages)


@dataclass(frozen=True)
class Reach:
    """From one event to the next: what it did to each flow."""

    event: int | None
    """Index of the trial's event; None: the time before the first one, or there are no events."""
    moment: Between | None
    impacts: list[Impact] = field(default_factory=list)

    @property
    def affected(self) -> list[Impact]:
        """Flows that were interrupted."""
        return [impact for impact in self.impacts if impact.is_affected]


def frame_gap_ns(record: TrialRecord, stream: StreamFacts) -> float:
    """The time between two consecutive frames of a flow at a constant rate, if each leaves when it is due."""
    # The number of frames is rounded to the next whole one, and the times of both frames to whole ns.
    return record.trial.duration_ns / max(0.5, stream.offered_frames - 0.5) + _ROUNDING_NS


def lateness_ns(record: TrialRecord) -> float:
    """How much later than due a frame left at most without a later schedule of all frames behind it."""
    frame_ns = NS_PER_S / record.trial.frames_per_second
    return min(record.facts.sent.lag_max_ns, max(_CATCH_UP_NS, _CATCH_UP_FRAMES * frame_ns))


def outages(record: TrialRecord, stream: StreamFacts) -> list[Outage]:
    """Interruptions of one flow in their order."""
    pace = _Pace(frame_gap_ns(record, stream), _due_gap_ns(record, stream), lateness_ns(record))
    sent = next(port.sent for port in record.facts.transmitters if port.port == stream.transmit)
    return [_outage(gap, pace, sent) for gap in stream.tracked.lost]


@dataclass(frozen=True)
class _Pace:
    """Of one flow: between two frames, at most and as they are due, and how late one of them may be, in ns."""

    gap_ns: float
    due_ns: float
    late_ns: float


def _due_gap_ns(record: TrialRecord, stream: StreamFacts) -> float:
    """The time between two frames of a flow as they are due, whatever the tester's host did to the load."""
    own = sum(one.offered_frames for one in record.facts.streams if one.transmit == stream.transmit)
    port_gap_ns = record.trial.duration_ns / max(1, record.trial.frames_of(stream.transmit))
    return port_gap_ns * own / max(1, stream.offered_frames)


def _outage(gap: Gap, pace: _Pace, sent: Sent) -> Outage:
    """A frame gap is longer by what a frame was late, and by what the schedule was shifted in it."""
    gap_ns, late_ns = pace.gap_ns, pace.late_ns
    end_ns = sent.last_sent_ns
    after_ns = 0 if gap.after_ns is None else gap.after_ns
    last_ns = end_ns if gap.before_ns is None else gap.before_ns
    # What the list of shifts leaves out, as far as it shows in the time from the frame before to the one behind.
    unlisted_ns = min(sent.unlisted_ns, max(0.0, last_ns - after_ns - (gap.last - gap.first + 2) * gap_ns))
    longest_ns = gap_ns + late_ns + unlisted_ns
    first_ns = min(_latest_ns(sent, after_ns, longest_ns), last_ns)
    begin = Between(after_ns, min(after_ns + gap_ns / 2, last_ns), first_ns)
    if gap.before_ns is None:
        end = Between.from_ends(max(end_ns, after_ns), math.inf)
    else:
        least_ns = max(_earliest_ns(sent, last_ns, longest_ns), after_ns)
        end = Between(least_ns, max(last_ns - gap_ns / 2, after_ns), last_ns)
    stopped = _stopped_ns(sent, begin, end)
    whole_ns = last_ns - after_ns - (gap.last - gap.first + 2) * pace.due_ns - stopped.lowest
    stopped += Between.from_ends(0.0, min(sent.unlisted_ns, max(0.0, whole_ns)))
    return Outage(gap.first, gap.last, gap.count, begin, end, _by_loss(gap, pace, stopped))


def _stopped_ns(sent: Sent, begin: Between, end: Between) -> Between:
    """For how long the sender was stopped within an outage. Of a stop as that began or ended nobody knows how much."""
    least_ns = most_ns = 0.0
    for sent_ns, by_ns in sent.shifts:
        least_ns += max(0.0, min(sent_ns, end.lowest) - max(sent_ns - by_ns, begin.highest))
        most_ns += max(0.0, min(sent_ns, end.highest) - max(sent_ns - by_ns, begin.lowest))
    return Between.from_ends(least_ns, most_ns)


def _by_loss(gap: Gap, pace: _Pace, stopped: Between) -> Between:
    """An outage that loses n frames lasts for n - 1 to n + 1 times the time between two of them, and while none is
    sent. Of those that the record has joined it is not known how many they are."""
    whole = gap.last - gap.first + 1
    most_ns = (min(2 * gap.count, whole + 1) if gap.count < whole else gap.count + 1) * pace.gap_ns + pace.late_ns
    most_ns = math.inf if gap.before_ns is None else most_ns
    if gap.count < whole:
        return Between(0.0, gap.count * pace.due_ns, most_ns + stopped.highest)
    least_ns = max(0.0, (gap.count - 1) * pace.due_ns - _ROUNDING_NS - pace.late_ns)
    return Between(least_ns, gap.count * pace.due_ns, most_ns) + stopped


def _latest_ns(sent: Sent, from_ns: int, length_ns: float) -> float:
    """When so much of a schedule is over at the latest, counted from a frame that was sent then."""
    until_ns = from_ns + length_ns
    for sent_ns, by_ns in sent.shifts:
        if sent_ns > from_ns and sent_ns - by_ns < until_ns:
            until_ns += by_ns
    return until_ns


def _earliest_ns(sent: Sent, until_ns: int, length_ns: float) -> float:
    """When so much of a schedule began at the earliest, counted back from a frame that was sent then."""
    from_ns = until_ns - length_ns
    for sent_ns, by_ns in reversed(sent.shifts):
        if from_ns < sent_ns <= until_ns:
            from_ns -= by_ns
    return from_ns


def moments(record: TrialRecord) -> list[Between]:
    """When each event happened: at some time while it was being done."""
    return [Between.from_ends(done.begun_ns, done.ended_ns) for done in record.facts.happened]


def reaches(record: TrialRecord) -> list[Reach]:
    """The time before the first event, and that of each event, with every flow. An interruption during which an event
    happens is in both times, and divided by the event."""
    times = moments(record)
    found = [Reach(None, None), *(Reach(place, moment) for place, moment in enumerate(times))]
    starts = [Between(-math.inf, -math.inf, -math.inf), *times]
    ends = [*times, Between(math.inf, math.inf, math.inf)]
    for flow, stream in enumerate(record.facts.streams):
        own = outages(record, stream)
        gap_ns = frame_gap_ns(record, stream)
        inside_ns = 0.0 if stream.tracked.latency is None else stream.tracked.latency.max_ns
        homes = [_home(outage, times, inside_ns) for outage in own]
        for place, reach in enumerate(found):
            begun = [outage for outage, home in zip(own, homes, strict=True) if home == place]
            carried = [
                outage
                for outage, home in zip(own, homes, strict=True)
                if home < place and outage.end.lowest >= starts[place].highest
            ]
            window = (starts[place], ends[place])
            reach.impacts.append(_impact(record, flow, stream, begun, carried, window, gap_ns))
    return found if times else found[:1]


def _home(outage: Outage, times: Sequence[Between], inside_ns: float) -> int:
    """The place of the last event that can have happened before the first lost frame left the device, in which it was
    for `inside_ns` at most; 0: none of them."""
    return sum(moment.lowest <= outage.begin.highest + inside_ns for moment in times)


def _impact(
    record: TrialRecord,
    flow: int,
    stream: StreamFacts,
    begun: list[Outage],
    carried: list[Outage],
    window: tuple[Between, Between],
    gap_ns: float,
) -> Impact:
    start, stop = window
    both = [*carried, *begun]
    interruption, last = NOTHING, None
    for outage in both:
        from_ = start if outage in carried else outage.begin
        over = outage.end.lowest < stop.highest and math.isfinite(outage.end.highest)
        if over:
            length = outage.end.since(from_)
        elif math.isfinite(stop.lowest):
            length = Between.from_ends(stop.since(from_).lowest, math.inf)
        else:
            length = Between.from_ends(outage.end.since(from_).lowest, math.inf)
        interruption += length.at_least(0.0)
        last = outage.end if over else Between.from_ends(min(stop.lowest, outage.end.lowest), math.inf)
    known = math.isfinite(start.lowest)
    first = both[0].begin if both else None
    event = start
    if known and begun and first is not None and not carried:
        # What is lost shows that the event has happened.
        event = Between.from_ends(start.lowest, max(start.lowest, min(start.highest, first.highest)))
    before, after = _ports(record, stream, both, window)
    return Impact(
        flow=flow,
        transmit=stream.transmit,
        receive=stream.receive,
        outages=both,
        interruption=interruption,
        onset=first.since(event).at_least(0.0) if known and first is not None and not carried else None,
        convergence=last.since(event).at_least(0.0) if known and last is not None else None,
        is_back=last is None or math.isfinite(last.highest),
        came_from_before=bool(carried),
        lost=sum(outage.lost for outage in begun),
        by_loss=sum((outage.by_loss for outage in begun), start=NOTHING),
        duplicated=_within(stream.tracked.duplicated, window, gap_ns),
        reordered=_within(stream.tracked.reordered, window, gap_ns),
        port_before=before,
        port_after=after,
    )


def _within(numbers: Ranges, window: tuple[Between, Between], gap_ns: float) -> int:
    """How many frames were due in the window."""
    start, stop = window
    return sum(
        start.lowest <= number * gap_ns < stop.lowest
        for first, last in numbers.ranges
        for number in range(first, last + 1)
    )


def _ports(
    record: TrialRecord, stream: StreamFacts, lost: Sequence[Outage], window: tuple[Between, Between]
) -> tuple[int, int]:
    """The ports at which frames arrived before the event and at the end of its time."""
    if stream.egress is None:
        return stream.receive, stream.receive
    start, stop = window
    # A frame that is sent as an event happens may meet what it did already.
    begin_ns = max(0.0, start.lowest - 1) if math.isfinite(start.lowest) else 0.0
    end_ns = stop.lowest - 1 if math.isfinite(stop.lowest) else float(record.facts.sent.last_sent_ns)
    before = stream.egress.port_at(int(begin_ns))
    after = stream.egress.port_at(int(end_ns))
    return (stream.receive if before is None else before, stream.receive if after is None else after)


def rate_derived_ns(record: TrialRecord, start: Between, stop: Between) -> Between | None:
    """RFC 6413 §6.1: from the first sampling interval with less than 95 % of the offered frames to the last one; None
    if the record has no intervals, or all are as they should be. It sees nothing that is shorter than an interval."""
    series: dict[int, int] = {}
    for stream in record.facts.streams:
        for interval in stream.tracked.series:
            series[interval.start_ns] = series.get(interval.start_ns, 0) + interval.forwarded_frames
    places = sorted(series)
    if len(places) < 3:
        return None
    width_ns = min(later - one for one, later in pairwise(places))
    offered = record.offered_fps * len(record.facts.transmitters) * width_ns / NS_PER_S
    last_ns = record.facts.sent.last_sent_ns - width_ns
    low_ns = [
        begin_ns
        for begin_ns in range(places[0], places[-1], width_ns)
        if begin_ns >= start.lowest - width_ns
        and begin_ns < min(stop.lowest, last_ns)
        and series.get(begin_ns, 0) < offered - max(1.5, 0.05 * offered)
    ]
    if not low_ns:
        return None
    length_ns = low_ns[-1] - low_ns[0] + width_ns
    return Between.from_ends(max(0.0, length_ns - 2 * width_ns), length_ns)


def loss_derived_ns(record: TrialRecord, impacts: Sequence[Impact]) -> Between:
    """RFC 6412 §3.5.1: lost frames by the offered load, as if all flows were interrupted alike. While the host stopped
    the sender there was no load, and nothing could be lost: that time is added."""
    streams = record.facts.streams
    offered = max(1, sum(streams[impact.flow].offered_frames for impact in impacts))
    parts = (impact.by_loss.times(streams[impact.flow].offered_frames / offered) for impact in impacts)
    return sum(parts, start=NOTHING)
