"""What the ends of a mesh have seen, pair by pair, on one line of time: that of the host that asked them.

Lengths are by the clock of one sender each, and no other clock is in them. The places of interruptions on the line of
time are known as well as the clocks of the ends were read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keisoku.subjects.device.analysis.outage import Between
from keisoku.subjects.stream.outage.analysis import Ends, FlowOutcome, Interruption, Outcome, outcome_of

FORWARD, REVERSE = "forward", "reverse"


@dataclass(frozen=True)
class Way:
    """From one end to another, by their places in the list."""

    sender: int
    receiver: int
    flow: FlowOutcome
    """Times are ns since the measurement began."""
    blind_ns: float
    """The longest time in which the sender was away: an interruption may lie in it unseen."""


@dataclass(frozen=True)
class MeshOutcome:
    """All that is known of a run."""

    names: list[str]
    ways: list[Way]
    """Each direction of each pair of which something is known, in the order of senders and receivers."""
    unknown: list[tuple[int, int]]
    """Directions of which nothing is known, because the receiver could not be asked afterwards."""
    hosts: list[Ends | None]
    length_ns: float
    interval_ns: float
    marks: list[dict[str, Any]]
    clocks_ns: float
    """How well the ends' clocks are related, at worst."""

    def label(self, way: Way) -> str:
        """'10.0.0.1 → 10.0.0.2'."""
        return f"{self.names[way.sender]} → {self.names[way.receiver]}"

    def as_one(self) -> Outcome:
        """The same as one outcome, with a direction for each way."""
        directions = {}
        for way in self.ways:
            name = self.label(way)
            own = [replace(one, direction=name) for one in way.flow.interruptions]
            directions[name] = [replace(way.flow, interruptions=own)]
        return Outcome(
            begun_ns=0,
            length_ns=self.length_ns,
            interval_ns=self.interval_ns,
            directions=directions,
            ends={},
            delays={},
            marks=self.marks,
        )


class Clock:
    """Readings of an end's clock, each between two of this host's; ns."""

    def __init__(self, readings: Sequence[Sequence[int]]) -> None:
        found = np.array(readings, np.int64).reshape(-1, 3)
        middle = (found[:, 0] + found[:, 2]) // 2
        self._theirs, self._ahead = found[:, 1], found[:, 1] - middle
        self._ours = middle
        self.width_ns = float((found[:, 2] - found[:, 0]).max(initial=0)) / 2

    def here(self, theirs_ns: float) -> float:
        """This host's time in ns at a time (ns) of the end's clock."""
        return theirs_ns - float(np.interp(theirs_ns, self._theirs, self._ahead))

    def there(self, ours_ns: float) -> float:
        """The end's time in ns at one (ns) of this host's clock."""
        return ours_ns + float(np.interp(ours_ns, self._ours, self._ahead))


def mesh_outcome_of(record: Mapping[str, Any]) -> MeshOutcome:
    """Of the last record of a run."""
    begun_ns, ended_ns = int(record["begun_ns"]), int(record["ended_ns"])
    clocks = [Clock(end["clock"]) for end in record["ends"]]
    ways: list[Way] = []
    unknown: list[tuple[int, int]] = []
    seen_hosts: dict[int, Ends] = {}
    interval_ns = 0.0
    for pair in record["pairs"]:
        places = (int(pair["near"]), int(pair["far"]))
        seen = [
            None if one is None else _until(one, record["ends"][place]["host"], clocks[place].there(ended_ns))
            for place, one in zip(places, pair["seen"], strict=True)
        ]
        unknown += [(places[1 - side], places[side]) for side in (0, 1) if seen[side] is None]
        if seen[0] is None:
            # What the other one has received is known nevertheless.
            places, seen = (places[1], places[0]), [seen[1], seen[0]]
        near, far = seen
        if near is None:
            continue
        found = outcome_of({"near": near, "far": far, "marks": (), "ended_ns": near["now_ns"]})
        interval_ns = found.interval_ns
        start_ns = int(near["sent"]["start_ns"])

        def since(ns: float, clock: Clock = clocks[places[0]], start_ns: int = start_ns) -> float:
            return clock.here(start_ns + ns) - begun_ns

        for direction, flows in found.directions.items():
            way = places if direction == FORWARD else places[::-1]
            sender = found.ends.get("near" if direction == FORWARD else "far")
            if not flows[0].sent:  # the far end heard nothing, and does not know where to send
                unknown.append(way)
                continue
            moved = [_on_line(one, since) for one in flows[0].interruptions]
            # The ends send since before the measurement began.
            flow = replace(flows[0], interruptions=[one for one in moved if one.end.highest >= 0])
            ways.append(Way(*way, flow, 0.0 if sender is None else sender.longest_blind_ns))
        for place, name in zip(places, ("near", "far"), strict=True):
            if (own := found.ends.get(name)) is not None:
                seen_hosts[place] = _worse(seen_hosts.get(place), own)
    marks = [
        {**mark, "begun_ns": mark["begun_ns"] - begun_ns, "ended_ns": mark["ended_ns"] - begun_ns}
        for mark in record["marks"]
    ]
    return MeshOutcome(
        names=[str(end["name"]) for end in record["ends"]],
        ways=sorted(ways, key=lambda way: (way.sender, way.receiver)),
        unknown=sorted(unknown),
        hosts=[seen_hosts.get(place) for place in range(len(clocks))],
        length_ns=float(ended_ns - begun_ns),
        interval_ns=interval_ns,
        marks=marks,
        clocks_ns=max((clock.width_ns for clock in clocks), default=0.0),
    )


def _until(seen: Mapping[str, Any], host: Any, end_ns: float) -> dict[str, Any]:
    """As a near end records it, with what was due until then: the ends are not asked at the same time."""
    sent = seen["sent"]
    due = int((end_ns - sent["start_ns"]) // (sent["interval_ns"] / sent["flows"])) + 1
    flows = [{**flow, "local": "", "breaks": (), "earlier": ()} for flow in seen["flows"]]
    return {
        **seen,
        "host": host,
        "flows": flows,
        "sent": {**sent, "next": max(0, min(int(sent["next"]), due))},
        "now_ns": round(end_ns),
    }


def _on_line(one: Interruption, since: Any) -> Interruption:
    def moved(time: Between) -> Between:
        return Between(*(ns if np.isinf(ns) else since(ns) for ns in (time.lowest, time.likely, time.highest)))

    return replace(one, begin=moved(one.begin), end=moved(one.end))


def _worse(one: Ends | None, other: Ends) -> Ends:
    """Of an end: its sessions have the same host, and each its own packets that were not sent."""
    if one is None:
        return other
    return replace(
        other,
        not_sent=one.not_sent + other.not_sent,
        blind_ns=max(one.blind_ns, other.blind_ns),
        longest_blind_ns=max(one.longest_blind_ns, other.longest_blind_ns),
    )
