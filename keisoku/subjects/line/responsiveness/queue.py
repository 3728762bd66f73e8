"""How long packets wait in the queue of each direction, above the least that they take while the path is idle.

One-way times need no synchronised clocks for that: the offset between both is in the least time too, and how it changes
is followed from one idle time to the next. It does no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.subjects.line.responsiveness.condition import DATAGRAM_BYTES, WAYS, Way
from keisoku.subjects.line.responsiveness.outcome import UDP_BYTES, Outcome, Times

SETTLED = 0.05
"""A queue is full if the first and the second half of the time differ by less, relatively, or by less than a packet."""
OFFERED = 1.1
"""An overload is one if at least so much more came than left."""


@dataclass(frozen=True)
class Floor:
    """The least one-way times, as they change with the clocks."""

    at_ns: Times
    least_ns: dict[Way, Times]

    @classmethod
    def from_idle(cls, idle: Sequence[Outcome]) -> Floor | None:
        """None if no idle time was measured."""
        used = [one for one in idle if len(one.at_ns)]
        if not used:
            return None
        at = np.array([one.at_ns[int(np.argmin(one.one_way_ns["up"]))] for one in used])
        return cls(at, {way: np.array([one.one_way_ns[way].min() for one in used]) for way in WAYS})

    def waits(self, of: Outcome, way: Way) -> Times:
        """How many ns each STAMP packet waited, in the ramp too."""
        return np.asarray(of.one_way_ns[way] - np.interp(of.at_ns, self.at_ns, self.least_ns[way]))


@dataclass(frozen=True)
class Depth:
    """What an overload shows of one round; ns."""

    waits_ns: float
    """Median after the ramp."""
    packet_ns: float
    """Time of one packet of the overload, at the rate at which the queue drained."""
    least_ns: float
    """What every packet waited at the end of the overload: a host that is busy makes single ones wait longer."""
    full: bool
    """It did not grow any more."""
    rate_bps: float
    """At which the queue drained."""

    @property
    def length_ns(self) -> float:
        """Of the queue, to half a packet: it takes a packet only if it has room for all of it, so up to one is free."""
        return self.waits_ns + self.packet_ns / 2


def depth(floor: Floor, of: Outcome, way: Way, carried_bps: float = 0.0) -> Depth | None:
    """None if no packet came through, or if this host did not offer more than the path carried.

    `carried_bps` is what TCP had: a sender that was held up lets the queue run empty, so that less of UDP arrives.
    """
    waits, rate = floor.waits(of, way)[of.settled], max(of.rates_bps.get(way, 0.0), carried_bps)
    if len(waits) < 4 or not rate or (of.offered_bps or 0.0) < OFFERED * rate:
        return None
    first, second = np.array_split(waits, 2)
    grew = float(np.median(second) - np.median(first))
    middle = float(np.median(waits))
    packet_ns = 8e9 * (DATAGRAM_BYTES + UDP_BYTES) / rate
    least = float(np.array_split(waits, 4)[-1].min())
    return Depth(middle, packet_ns, least, abs(grew) <= max(SETTLED * middle, packet_ns), rate)
