"""Which member of an ECMP group or LAG each flow took, by the ports at which its frames arrived, and whether the flows
are spread as a hash spreads them.

A hash of a flow's headers is the same for each of its frames, so a flow of which frames arrive at two ports is not
hashed but sprayed. Flows of different headers fall on the members independently of each other if the hash is good
(RFC 2991 §6, RFC 2992), so their numbers are multinomial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from keisoku.ground.statistics.multinomial import chance_of_less, deviating, shares
from keisoku.subjects.device.record.facts import StreamFacts

_DEVIATIONS, _STAYS = 4.0, 0.75
"""Flowlets change their member less often than frames that are sprayed one by one: by so many standard deviations, and
at most so often; they would do the second if they were of 1.33 frames on average."""
Fate = Literal["one", "sprayed", "copied", "absent"]


@dataclass(frozen=True)
class FlowWay:
    """Where the frames of one flow arrived."""

    frames: dict[int, int]
    """At each port that had some, duplicates among them."""
    fate: Fate
    """'one': all at one port; 'copied': some of them twice; 'absent': none anywhere."""
    changes: int
    """How often consecutive arrivals were at two ports."""
    reordered: int

    @property
    def port(self) -> int:
        """Where most of its frames arrived. Raises ValueError for a flow that did not arrive."""
        return max(self.frames, key=lambda port: self.frames[port])


def flow_ways(streams: Sequence[StreamFacts]) -> list[FlowWay]:
    """For each flow of a trial."""
    found = []
    for stream in streams:
        arrived = stream.egress.arrived if stream.egress is not None else []
        frames = {one.port: one.frames for one in arrived if one.frames}
        fate: Fate = "absent" if not frames else "one" if len(frames) == 1 else "sprayed"
        if fate == "sprayed" and stream.tracked.duplicated.count:
            fate = "copied"
        changes = stream.egress.changes if stream.egress is not None else 0
        found.append(FlowWay(frames, fate, changes, stream.tracked.reordered.count))
    return found


Kind = Literal["even", "more even", "uneven", "polarised", "one member"]


@dataclass(frozen=True)
class Verdict:
    """What the numbers of flows say; indices are of members, from 0."""

    kind: Kind
    ends: list[tuple[float, float]]
    """Of each member's share, a ratio: all of them together contain the true shares with the confidence asked for."""
    deviating: list[int]
    """Members whose expected share is outside, the furthest first."""
    empty: list[int]
    """Those of them that took no flow."""


def judge(counts: Sequence[int], expected: Sequence[float], confidence: float) -> Verdict:
    """`counts` are flows, at least one, `expected` the shares as ratios. Members are named that are as expected with a
    probability of at most 1 - `confidence`; so are counts called more even that are not."""
    ends, whole = shares(counts, confidence), sum(counts)
    off = deviating(counts, expected, confidence)
    off.sort(key=lambda place: -abs(counts[place] / whole - expected[place]))
    empty = sorted(place for place in off if not counts[place])
    kind: Kind = "even"
    if empty:
        kind = "one member" if len(empty) == len(counts) - 1 else "polarised"
    elif off:
        kind = "uneven"
    elif chance_of_less(counts, expected) <= 1 - confidence:
        kind = "more even"
    return Verdict(kind, ends, off, empty)


@dataclass(frozen=True)
class Spraying:
    """How flows that are not hashed are divided over the members."""

    flows: int
    reordered: int
    """Frames of these flows."""
    stay_frames: float
    """How many of them in a row arrive at one member, on average."""
    by_flowlets: bool | None
    """Whether they stay longer at a member than frames do that are sprayed one by one; None: not known."""


def spraying(flows: Sequence[FlowWay]) -> Spraying | None:
    """Of the sprayed ones; None if there are none."""
    own = [flow for flow in flows if flow.fate == "sprayed"]
    if not own:
        return None
    frames = sum(sum(flow.frames.values()) for flow in own)
    stay_frames = frames / (sum(flow.changes for flow in own) + len(own))
    return Spraying(len(own), sum(flow.reordered for flow in own), stay_frames, _are_flowlets(own))


def _are_flowlets(flows: Sequence[FlowWay]) -> bool | None:
    """Changes of the member are counted as frames arrive: where some were overtaken, it is not known how often the
    device changed it."""
    flows = [flow for flow in flows if not flow.reordered]
    by_port: Counter[int] = Counter()
    for flow in flows:
        by_port.update(flow.frames)
    frames = by_port.total()
    steps = frames - len(flows)
    if not steps:
        return None
    # Two frames in a row that are sprayed independently are at two ports with this probability.
    chance = 1 - sum((count / frames) ** 2 for count in by_port.values())
    changes = sum(flow.changes for flow in flows)
    by_chance = steps * chance - _DEVIATIONS * sqrt(steps * chance * (1 - chance))
    return changes < min(by_chance, _STAYS * steps * chance)
