"""Interruptions of flows, from what both ends kept of every packet: exact counts, and bounds of the times.

A packet that is lost shows that the path was interrupted when it passed, and one that came that it was not. So an
interruption begins after the last packet that came was sent, and at the latest when the first lost one was; it ends
alike. Its length is known to one interval of a flow on either side. Packets that came all at once were held: then it
ended when the first of them came, less the least delay.

What was not sent because the sender's host was away, and what the receiver's host dropped or could not receive while it
was stopped, is no interruption of the path.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.device.analysis.outage import Between
from keisoku.subjects.stream.outage.restarts import Restart, forward_restarts, reverse_restarts

NS_PER_S = 1e9
WINDOW_NS = 10e9
"""Least delays are those of so much time before and behind: clocks drift."""
LONG_STOP_NS = 50_000_000
"""A host that is stopped for less loses nothing: its network card, or its hypervisor, keeps what comes."""
EDGE_NS = 10_000_000
"""How exactly the times of a stop are known."""
End = Literal["answered again", "same session", "new session", "new connection", "another address", "never"]
Cause = Literal["path", "near host", "far host"]


@dataclass(frozen=True)
class Interruption:
    """Of one flow in one direction. Times are ns since this end began to send, by its clock."""

    direction: str
    flow: int
    begin: Between
    end: Between
    length: Between
    lost: int
    held: int
    cause: Cause
    ended: End
    delay_before_ns: float | None
    """Above the least delay of the direction."""
    delay_after_ns: float | None


@dataclass
class FlowOutcome:
    """One flow in one direction."""

    flow: int
    local: str
    sent: int
    received: int
    lost: int
    duplicated: int
    reordered: int
    held: int
    unlisted: int
    interruptions: list[Interruption] = field(default_factory=list)

    @property
    def of_path(self) -> list[Interruption]:
        """Those that were not the fault of an end's host."""
        return [one for one in self.interruptions if one.cause == "path"]

    @property
    def never(self) -> bool:
        """Whether it was interrupted at the end."""
        return any(one.ended == "never" for one in self.of_path)

    @property
    def total(self) -> Between:
        """The time of all its interruptions, in ns."""
        return sum((one.length for one in self.of_path), start=Between(0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Ends:
    """What the host of one end did: how often and for how long (ns) it was away at most."""

    stops: int
    longest_ns: float
    not_sent: int
    blind_ns: float
    """Time in which it sent nothing, so that nothing is known of the path from it."""
    longest_blind_ns: float
    """The longest of these times: an interruption of the path may lie in it unseen."""
    steps_ns: tuple[float, ...]
    suspended_ns: tuple[float, ...]
    refused: Mapping[str, int]


@dataclass(frozen=True)
class Outcome:
    """All that is known of a run."""

    begun_ns: int
    """When it began, by this end's clock."""
    length_ns: float
    interval_ns: float
    directions: dict[str, list[FlowOutcome]]
    ends: dict[str, Ends]
    delays: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    """Of each direction: times (ns since the begin) and least, mean and largest delay in ns above the least of all."""
    marks: list[dict[str, Any]]
    forward_unknown: bool = False
    """Whether the far end could not be asked what it has received."""


class Clocks:
    """How far the far end's clock is ahead of this one's, by the least delays of both directions; all in ns."""

    def __init__(self, forward: Mapping[str, Any] | None, reverse: Mapping[str, Any], begun_ns: int) -> None:
        self.reverse = _series(reverse)
        self.forward = _series(forward) if forward else None
        ahead = 0.0
        if self.forward is not None and len(self.forward[0]) and len(self.reverse[0]):
            ahead = float(self.forward[1][:, 0].min() - self.reverse[1][:, 0].min()) / 2
        elif len(self.reverse[0]):
            ahead = -float(self.reverse[1][:, 0].min())
        self._ahead_ns, self._begun_ns = ahead, begun_ns

    def near_ns(self, far_ns: float) -> float:
        """A time of the far end's clock in ns since this one began."""
        return far_ns - self._ahead(far_ns) - self._begun_ns

    def _ahead(self, far_ns: float) -> float:
        if self.forward is None or not len(self.forward[0]) or not len(self.reverse[0]):
            return self._ahead_ns
        forward = least_near(self.forward, far_ns)
        reverse = least_near(self.reverse, far_ns - self._ahead_ns)
        return (forward - reverse) / 2


Series = tuple[NDArray[np.float64], NDArray[np.float64]]


def _series(delays: Mapping[str, Any]) -> Series:
    rows = np.array(delays["rows"], np.float64).reshape(-1, 4)
    times = delays["start_ns"] + (np.arange(len(rows)) + 0.5) * delays["width_ns"]
    some = rows[:, 0] > 0
    return times[some], rows[some, 1:]


def least_near(series: Series, at_ns: float) -> float:
    """The least delay (ns) around a time of the receiver's clock."""
    times, rows = series
    close = np.abs(times - at_ns) <= WINDOW_NS
    if not close.any():
        close = np.abs(times - at_ns) == np.abs(times - at_ns).min()
    return float(rows[close, 0].min())


@dataclass(frozen=True)
class Direction:
    """One direction as both ends kept it: who sent, who received, and how the sender's times become this end's."""

    name: str
    schedule: Mapping[str, Any]
    receiver: Mapping[str, Any]
    delays: Series
    to_near: Any
    """From a time of the sender's clock (ns) to one since this end began."""
    sender_name: Cause
    receiver_name: Cause
    connected: bool
    """Whether flows are TCP connections."""

    @property
    def allowance_ns(self) -> float:
        """How much later than the least delay a packet usually is."""
        rows = self.delays[1]
        return float(np.median(rows[:, 1] - rows[:, 0])) if len(rows) else 0.0

    def due_ns(self, flow: int, number: int) -> float:
        """When a packet was due, by the sender's clock."""
        schedule = self.schedule
        slot = number * schedule["flows"] + flow
        return float(schedule["start_ns"] + slot * schedule["interval_ns"] // schedule["flows"])

    def latest_ns(self, flow: int, number: int) -> float:
        """When a packet was sent at the latest, by the sender's clock."""
        slot = number * self.schedule["flows"] + flow
        late = self._late.get(slot)
        return self.due_ns(flow, number) + self.schedule["late_ns"] if late is None else float(late)

    def offered(self, flow: int) -> int:
        """One more than the last number of a flow that was due."""
        return -(-(int(self.schedule["next"]) - flow) // int(self.schedule["flows"]))

    def skipped(self, flow: int, first: int, last: int) -> list[tuple[int, int]]:
        """The numbers of a flow, from first to last, that were never sent, as ranges."""
        flows, found = int(self.schedule["flows"]), []
        low, high = first * flows + flow, last * flows + flow
        for slip in self.schedule["slips"]:
            if slip["sent"] or slip["last"] < low or slip["first"] > high:
                continue
            begin = max(first, -(-(slip["first"] - flow) // flows))
            end = min(last, (slip["last"] - flow) // flows)
            if begin <= end:
                found.append((begin, end))
        return found

    @cached_property
    def _late(self) -> dict[int, int]:
        return {slip["first"]: slip["at_ns"] for slip in self.schedule["slips"] if slip["sent"]}

    def excess_ns(self, arrival: Mapping[str, Any] | None) -> float | None:
        """How much longer than the least delay a packet took."""
        if arrival is None or not len(self.delays[0]):
            return None
        least = least_near(self.delays, arrival["arrived_ns"])
        return float(max(0.0, arrival["arrived_ns"] - arrival["sent_ns"] - least))


def outcome_of(record: Mapping[str, Any]) -> Outcome:
    """Of the last record of a run."""
    near, far = record["near"], record.get("far")
    begun_ns = int(near["sent"]["start_ns"])
    clocks = Clocks(far["delays"] if far else None, near["delays"], begun_ns)
    directions, delays = {}, {}
    restarted = len(record.get("sessions", ())) > 1
    connected = any(flow.get("connections") for flow in near["flows"])  # an end of a mesh has none
    if far:
        forward = Direction(
            "forward",
            near["sent"],
            far,
            clocks.forward or _series(far["delays"]),
            lambda ns: ns - begun_ns,
            "near host",
            "far host",
            connected,
        )
        directions["forward"] = list(_flows(forward, near, None, far))
        if restarted:
            _with_forward_restarts(record, directions["forward"], begun_ns)
        delays["forward"] = _above_least(forward.delays, clocks.near_ns)
    schedule = far["sent"] if far else _schedule_without_far(near)
    reverse = Direction("reverse", schedule, near, clocks.reverse, clocks.near_ns, "far host", "near host", connected)
    directions["reverse"] = list(_flows(reverse, near, None if restarted else far, far))
    if restarted:
        _with_reverse_restarts(record, directions["reverse"], begun_ns)
    delays["reverse"] = _above_least(reverse.delays, lambda ns: ns - begun_ns)
    ends = {"near": _ends(near)}
    if far:
        ends["far"] = _ends(far)
    for flows in directions.values():
        for flow in flows:
            flow.interruptions = [
                _by_connection(one, near["flows"][flow.flow]["breaks"], begun_ns) for one in flow.interruptions
            ]
    marks = [
        {**mark, "begun_ns": mark["begun_ns"] - begun_ns, "ended_ns": mark["ended_ns"] - begun_ns}
        for mark in record.get("marks", ())
    ]
    return Outcome(
        begun_ns=begun_ns,
        length_ns=float(record["ended_ns"] - begun_ns),
        interval_ns=float(near["sent"]["interval_ns"]),
        directions=directions,
        ends=ends,
        delays=delays,
        marks=marks,
        forward_unknown=not far,
    )


def _by_connection(one: Interruption, breaks: Sequence[Mapping[str, Any]], begun_ns: int) -> Interruption:
    """TCP: whether it ended on the connection on which it began."""
    until_ns = min(one.end.highest, one.end.likely + NS_PER_S)
    broken = any(one.begin.lowest <= each["at_ns"] - begun_ns <= until_ns for each in breaks if each["begun"])
    return replace(one, ended="new connection") if broken and one.ended == "same session" else one


def _with_forward_restarts(record: Mapping[str, Any], flows: Sequence[FlowOutcome], begun_ns: int) -> None:
    """Replaces what lies before the last far end by what is known of the ones before."""
    for flow in flows:
        arrivals = record["far"]["flows"][flow.flow]["arrivals"]
        first_ns = math.inf if arrivals["first"] is None else arrivals["first"]["sent_ns"] - begun_ns
        flow.interruptions = [one for one in flow.interruptions if one.begin.likely >= first_ns]
        found = [_restarted("forward", flow.flow, one, begun_ns) for one in forward_restarts(record, flow.flow)]
        if arrivals["first"] is None and found:
            found[-1] = _endless(found[-1])
        flow.interruptions = [*found, *flow.interruptions]
        earlier = record["near"]["flows"][flow.flow]["earlier"]
        flow.received += sum(one["heard"]["received"] for one in earlier if one["heard"] is not None)
        flow.lost = max(0, flow.sent - flow.received)


def _with_reverse_restarts(record: Mapping[str, Any], flows: Sequence[FlowOutcome], begun_ns: int) -> None:
    """Replaces interruptions in which the far end changed, whose clocks and numbers are of two of them."""
    renewed = [session["opened_ns"] - begun_ns for session in record["sessions"][1:]]
    for flow in flows:
        flow.interruptions = [
            one
            for one in flow.interruptions
            if not any(one.begin.lowest <= at_ns <= one.end.highest for at_ns in renewed)
        ]
        found = [_restarted("reverse", flow.flow, one, begun_ns) for one in reverse_restarts(record, flow.flow)]
        last = record["near"]["flows"][flow.flow]["arrivals"]["last"]
        if found and (last is None or last["arrived_ns"] - begun_ns < renewed[-1]):
            found[-1] = _endless(found[-1])
        flow.interruptions = sorted([*found, *flow.interruptions], key=lambda one: one.begin.likely)


def _restarted(direction: str, flow: int, one: Restart, begun_ns: int) -> Interruption:
    def since(time: Between) -> Between:
        return Between(time.lowest - begun_ns, time.likely - begun_ns, time.highest - begun_ns)

    length = one.end.since(one.begin).at_least(0.0)
    lost = one.last - one.first + 1
    ended: End = "another address" if one.moved else "new session"
    return Interruption(direction, flow, since(one.begin), since(one.end), length, lost, 0, "path", ended, None, None)


def _endless(one: Interruption) -> Interruption:
    end = Between(one.end.lowest, one.end.likely, math.inf)
    return replace(one, end=end, length=replace(one.length, highest=math.inf), ended="never")


def _schedule_without_far(near: Mapping[str, Any]) -> dict[str, Any]:
    """The far end's schedule as far as this end knows it: by the last packet that came of any flow."""
    flows = near["flows"]
    lasts = [flow["arrivals"]["last"] for flow in flows]
    last = max((one for one in lasts if one), key=lambda one: int(one["number"]), default=None)
    sent = near["sent"]
    per_flow = sent["interval_ns"]
    if last is None:
        return {**sent, "slips": [], "skipped": 0}
    start_ns = last["sent_ns"] - last["number"] * per_flow
    # What it would have sent since, had it gone on until this end stopped.
    due = (near["now_ns"] - last["arrived_ns"]) // per_flow + last["number"] + 1
    return {**sent, "start_ns": start_ns, "next": max(0, due - 1) * len(flows), "slips": [], "skipped": 0}


def _above_least(series: Series, to_near: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    times, rows = series
    if not len(times):
        return times, rows
    least = np.array([least_near(series, time) for time in times])
    return np.array([to_near(time) for time in times]), rows - least[:, None]


def _local(number: int, near: Mapping[str, Any], far: Mapping[str, Any] | None) -> str:
    """This end's address of a flow; that of a connection is known to the far end."""
    local = str(near["flows"][number]["local"])
    seen = far["flows"][number]["from"] if far else []
    return str(seen[-1][1]) if local.endswith(":0") and seen else local


def _flows(
    direction: Direction, near: Mapping[str, Any], begun_by: Mapping[str, Any] | None, far: Mapping[str, Any] | None
) -> Iterator[FlowOutcome]:
    for number, flow in enumerate(direction.receiver["flows"]):
        arrivals = flow["arrivals"]
        offered = direction.offered(number)
        first = 0
        if begun_by is not None:
            begun = begun_by["flows"][number]["begun"]
            first = offered if begun is None else int(begun) // int(direction.schedule["flows"])
        elif direction.name == "reverse":
            first = int(arrivals["first"]["number"]) if arrivals["first"] else 0
        found = _together(list(_interruptions(direction, number, arrivals, first, offered)))
        away = sum(end - begin + 1 for begin, end in direction.skipped(number, first, max(first, offered - 1)))
        sent = max(0, offered - first - away)
        received = min(max(0, int(arrivals["received"]) - _behind(arrivals, offered)), sent)
        yield FlowOutcome(
            flow=number,
            local=_local(number, near, far),
            sent=sent,
            received=received,
            lost=sent - received,
            duplicated=int(arrivals["duplicated"]),
            reordered=int(arrivals["reordered"]),
            held=sum(int(pause["held"]) for pause in arrivals["pauses"]),
            unlisted=int(arrivals["unlisted"]),
            interruptions=found,
        )


def _together(found: Sequence[Interruption]) -> list[Interruption]:
    """Packets that were lost while others were held are of the same interruption, as where a queue or a connection was
    full: it was over when the first of those came that had been held."""
    held = [one for one in found if one.held]
    rest = []
    for one in found:
        if one.held:
            continue
        places = [
            place
            for place, other in enumerate(held)
            if one.begin.likely <= other.end.highest and one.end.likely >= other.begin.lowest
        ]
        if places and math.isfinite(one.end.highest):
            held[places[0]] = replace(held[places[0]], lost=held[places[0]].lost + one.lost)
        else:
            rest.append(one)
    merged: list[Interruption] = []
    for one in sorted([*held, *rest], key=lambda one: one.begin.likely):
        last = merged[-1] if merged else one
        if merged and one.cause == last.cause != "path" and one.begin.lowest <= last.end.highest:
            # Stamps that were kept while the receiver was stopped: all of one stop.
            length = one.end.since(last.begin).at_least(0.0)
            merged[-1] = replace(
                one, begin=last.begin, length=length, lost=last.lost + one.lost, held=last.held + one.held
            )
        else:
            merged.append(one)
    return merged


def _missing(arrivals: Mapping[str, Any], first: int, offered: int) -> Iterator[tuple[int, int, int]]:
    """First and last number of each range that did not come, and how many of it: also before the first that came, and
    behind the last. What was due after the sender had been asked is left out: nobody knows whether it was sent."""
    if arrivals["first"] is None:
        if offered > first:
            yield first, offered - 1, offered - first
        return
    if (begin := int(arrivals["first"]["number"])) > first:
        yield first, begin - 1, begin - first
    for gap in arrivals["missing"]:
        if int(gap["first"]) < offered:
            yield int(gap["first"]), min(int(gap["last"]), offered - 1), int(gap["count"])
    if offered > (end := int(arrivals["next"])):
        yield end, offered - 1, offered - end


def _behind(arrivals: Mapping[str, Any], offered: int) -> int:
    """How many came of those that were due after the sender had been asked."""
    missing = sum(
        min(int(gap["count"]), int(gap["last"]) - max(int(gap["first"]), offered) + 1)
        for gap in arrivals["missing"]
        if int(gap["last"]) >= offered
    )
    return max(0, int(arrivals["next"]) - offered - missing)


def _interruptions(
    direction: Direction, flow: int, arrivals: Mapping[str, Any], first: int, offered: int
) -> Iterator[Interruption]:
    pauses = {int(pause["after"]["number"]): pause for pause in arrivals["pauses"]}
    gaps = {int(gap["first"]): gap for gap in arrivals["missing"]}
    with_loss = set()
    for begin, end, count in _missing(arrivals, first, offered):
        lost = _without(direction.skipped(flow, begin, end), begin, end)
        if not lost:
            continue
        number_lost = min(count, sum(high - low + 1 for low, high in lost))
        gap = gaps.get(begin)
        behind = end + 1 if gap is None else int(gap["last"]) + 1
        pause = pauses.get(behind)
        if pause is not None and (sent := _sent_in(pause)) is not None:
            number_lost = min(number_lost, sent)
            if not number_lost:
                continue
        with_loss.add(behind)
        before, after = _sides(gap, pause, arrivals, behind)
        yield _interruption(direction, flow, (lost[0][0], lost[-1][1]), number_lost, before, after, pause)
    quiet_ns = direction.schedule["interval_ns"]
    for number, pause in pauses.items():
        # One in which numbers are missing that were never sent is no loss, and may be one all the same.
        if number in with_loss or pause["held"] == 0 or number >= offered:
            continue
        excess = direction.excess_ns(pause["after"])
        if excess is not None and excess > quiet_ns:
            yield _interruption(direction, flow, None, 0, pause["before"], pause["after"], pause)


def _sent_in(pause: Mapping[str, Any]) -> int | None:
    """How many packets were sent between those on both sides, as the sender told with them: also where its list of what
    it did not send is gone with it. None if it did not tell, as one of keisoku before."""
    counts = [pause[side].get("sent_before", 0) for side in ("before", "after")]
    return int(counts[1] - counts[0] - 1) if counts[1] > counts[0] else None


def _sides(
    gap: Mapping[str, Any] | None, pause: Mapping[str, Any] | None, arrivals: Mapping[str, Any], behind: int
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The packets that came before and behind missing ones, with the stamps that are known of them."""
    if pause is not None and gap is not None:
        before = dict(pause["before"])
        if gap["after_ns"] is not None and gap["after_ns"] != before["sent_ns"]:
            before = {"sent_ns": gap["after_ns"], "arrived_ns": None}
        return before, dict(pause["after"])
    if gap is not None:
        return {"sent_ns": gap["after_ns"], "arrived_ns": None}, {"sent_ns": gap["before_ns"], "arrived_ns": None}
    first, last = arrivals["first"], arrivals["last"]
    if first is not None and int(first["number"]) == behind:
        return None, dict(first)
    return (dict(last) if last is not None else None), None


def _interruption(
    direction: Direction,
    flow: int,
    lost: tuple[int, int] | None,
    count: int,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    pause: Mapping[str, Any] | None,
) -> Interruption:
    allowance_ns = direction.allowance_ns
    held = int(pause["held"]) if pause is not None else 0
    known_after = after if after is not None and after.get("arrived_ns") is not None else None
    excess = direction.excess_ns(known_after) or 0.0
    if lost is not None:
        earliest = direction.due_ns(flow, lost[0]) - direction.schedule["interval_ns"]
        begin_low = earliest if before is None else float(before["sent_ns"])
        begin_high = max(begin_low, direction.latest_ns(flow, lost[0]) + allowance_ns)
    else:
        assert before is not None and after is not None
        begin_low = float(before["sent_ns"])
        begin_high = max(begin_low, float(after["sent_ns"]) + allowance_ns)
    begin = Between.from_ends(begin_low, begin_high)
    if after is None:
        last = direction.due_ns(flow, lost[1]) if lost is not None else begin_low
        end = Between(last, last, math.inf)
    elif held:
        came = float(after["sent_ns"]) + excess
        end = Between(came - allowance_ns, came, came + allowance_ns)
    else:
        assert lost is not None
        end = Between.from_ends(direction.due_ns(flow, lost[1]), float(after["sent_ns"]) + excess)
    length = end.since(begin).at_least(0.0)
    likely = length.lowest if math.isinf(length.highest) else (length.lowest + length.highest) / 2
    near = direction.to_near
    return Interruption(
        direction=direction.name,
        flow=flow,
        begin=Between(*(near(time) for time in (begin.lowest, begin.likely, begin.highest))),
        end=Between(near(end.lowest), near(end.likely), math.inf if math.isinf(end.highest) else near(end.highest)),
        length=Between(length.lowest, likely, length.highest),
        lost=count,
        held=held,
        cause=_cause(direction, flow, count, before, after, pause),
        ended="never" if after is None else "same session",
        delay_before_ns=direction.excess_ns(before if before and before.get("arrived_ns") is not None else None),
        delay_after_ns=direction.excess_ns(known_after),
    )


def _cause(
    direction: Direction,
    flow: int,
    lost: int,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    pause: Mapping[str, Any] | None,
) -> Cause:
    """Whose it was. Where the receiver's host did not receive in all of that time and for long, nobody can say that the
    path was interrupted; nor where the sender's stopped in the call that sent the first packet which came late."""
    if pause is None:
        return "path"
    if lost and pause["dropped"] >= lost:
        return direction.receiver_name
    begin_ns, end_ns = pause["before"]["arrived_ns"], pause["after"]["arrived_ns"]
    unexplained_ns = 2 * direction.schedule["interval_ns"] + EDGE_NS
    stopped_ns = 0
    for stop in direction.receiver["host"]["stops"]:
        from_ns, until_ns = stop["from_ns"], stop["until_ns"]
        if direction.connected:
            # Of bytes that wait in a connection the kernel keeps some of the stamps, as of one that came later.
            from_ns, until_ns = max(from_ns, begin_ns), min(until_ns, end_ns)
        # What the kernel stamped while the program was stopped shows that the host was not.
        inside = begin_ns <= from_ns + EDGE_NS and end_ns >= until_ns - EDGE_NS
        # Packets are only late by several short stops, one behind the other.
        if inside and until_ns - from_ns >= (LONG_STOP_NS if lost else 0):
            stopped_ns += until_ns - from_ns
    if stopped_ns and end_ns - begin_ns - stopped_ns <= unexplained_ns:
        return direction.receiver_name
    if not lost and after is not None:
        late_ns = direction.latest_ns(flow, int(after["number"])) - after["sent_ns"]
        if (direction.excess_ns(after) or 0.0) - late_ns <= direction.schedule["interval_ns"]:
            return direction.sender_name
    return "path"


def _without(ranges: Sequence[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    """What is left of first to last without these ranges, which are in order."""
    found, begin = [], first
    for low, high in ranges:
        if low > begin:
            found.append((begin, low - 1))
        begin = max(begin, high + 1)
    if begin <= last:
        found.append((begin, last))
    return found


def _ends(end: Mapping[str, Any]) -> Ends:
    stops = [stop["until_ns"] - stop["from_ns"] for stop in end["host"]["stops"]]
    schedule = end["sent"]
    skips = [slip["last"] - slip["first"] + 1 for slip in schedule["slips"] if not slip["sent"]]
    slot_ns = schedule["interval_ns"] / schedule["flows"]
    return Ends(
        stops=len(stops) + int(end["host"]["unlisted"]),
        longest_ns=float(max(stops, default=0)),
        not_sent=int(schedule["skipped"]),
        blind_ns=float(sum(skips) * slot_ns),
        longest_blind_ns=float(max(skips, default=0) * slot_ns),
        steps_ns=tuple(float(step["by_ns"]) for step in end["host"]["steps"]),
        suspended_ns=tuple(float(step["by_ns"]) for step in end["host"]["suspended"]),
        refused={str(number): int(count) for number, count in end["refused"].items()},
    )
