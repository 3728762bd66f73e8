"""The search for the moment at which a server's clock, seen to whole seconds only, goes to the next one.

It says when to ask, and is told what was answered. Every answer bounds the difference of the clocks from both
sides; asking several times around the moment at which a second is expected to end leaves a part of that, second by
second, until it is no wider than a round trip.
"""

from __future__ import annotations

import math
from statistics import median

from keisoku.subjects.clock.rate import OSCILLATOR

_S = 1_000_000_000
ASKED_PER_SECOND = 5
"""Number of parts into which the unknown interval around each second's end is divided."""
ENOUGH_TRIPS = 1.5
"""A search ends when the edge is known to so many usual round trips, plus the possible drift of the two clocks."""
_APART = 2 * OSCILLATOR
"""Relative: two oscillators may be off to either side."""


class DateEdge:
    """Bounds of how far the server is ahead of the local clock, in ns, both since an origin that the caller chose."""

    def __init__(self) -> None:
        """Bounds before any answer."""
        # Whole ns: a double cannot hold a time of day to the ns.
        self.low_ns: int | float = -math.inf
        self.high_ns: int | float = math.inf
        self.contradictions = 0
        """Number of answers that contradict earlier ones: the date was made in advance, or a clock was stepped."""
        self._last_ns = 0
        self._trips: list[int] = []

    @property
    def width_ns(self) -> float:
        """Width of the interval that is still unknown."""
        return self.high_ns - self.low_ns

    @property
    def trip_ns(self) -> int:
        """The shortest round trip so far, which limits how narrow the bounds can get."""
        return min(self._trips, default=0)

    @property
    def ended(self) -> bool:
        """True if further requests would not help."""
        return bool(self._trips) and self.width_ns <= ENOUGH_TRIPS * median(self._trips) + 3 * _APART * _S

    def add(self, sent_ns: int, date_s: int, received_ns: int) -> None:
        """The server wrote the second `date_s` at some moment between sending and receiving, by the local clock."""
        low, high = date_s * _S - received_ns, (date_s + 1) * _S - sent_ns
        # What was known before may have faded: two oscillators may differ by twice 100 ppm.
        faded = math.ceil(_APART * max(0, received_ns - self._last_ns)) if self._trips else 0
        self.low_ns, self.high_ns = self.low_ns - faded, self.high_ns + faded
        if low > self.high_ns or high < self.low_ns:
            self.contradictions += 1
            self.low_ns, self.high_ns = low, high
        else:
            self.low_ns, self.high_ns = max(low, self.low_ns), min(high, self.high_ns)
        self._last_ns = received_ns
        self._trips.append(received_ns - sent_ns)

    def ask_at_ns(self, now_ns: int) -> int:
        """When to send the next request, not before `now_ns`, so that it divides what is unknown of the next edge."""
        if not self._trips:
            return now_ns
        low, high, half_trip = int(self.low_ns), int(self.high_ns), self.trip_ns // 2
        # The next second whose end is not yet over for certain when a request could be there.
        second = (now_ns + half_trip + low) // _S + 1
        # Sent within what is unknown in any case: one way may take all of the trip.
        part = max((high - low) // ASKED_PER_SECOND - half_trip, (high - low) // (2 * ASKED_PER_SECOND))
        return max(now_ns, second * _S - high + part)

    def edge(self, second: int) -> tuple[int, int]:
        """Between which local times the server's clock went to `second`."""
        return math.floor(second * _S - self.high_ns), math.ceil(second * _S - self.low_ns)
