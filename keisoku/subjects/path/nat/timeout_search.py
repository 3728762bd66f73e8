"""Which idle times bindings are left for, to find how long a NAT keeps them. It does no I/O and reads no clock.

A binding shows one idle time, as what tries it may refresh it. So many are left for as many times at once, and where
the first that was closed leaves time, as many again between it and the last that was open.
"""

from __future__ import annotations

import math

NS_PER_S = 1_000_000_000
LEAST_NS = NS_PER_S
DOUBLED, EVEN = 1 / 3, 16
"""Up to this share of the longest time idle times are doubled, because there is time for more between them; from
there on they are even, so many."""
AGAIN = 4
"""Idle times of each further wave."""
NEAR_SHARE, NEAR_NS = 0.05, NS_PER_S // 4
"""An interval that is no wider than this share of its end, or than this time, is narrow enough."""
CONFIRMED = 2
"""So many closed ones end a wave."""


class TimeoutSearch:
    """Of one kind of bindings."""

    def __init__(self, longest_ns: int) -> None:
        self._longest_ns = longest_ns
        self.open_ns = 0
        """The longest idle time after which a binding was open."""
        self._closed_ns: list[int] = []
        self._last_called = False

    @property
    def closed_ns(self) -> float:
        """The shortest idle time above it after which one was closed; infinite if there is none."""
        return min((one for one in self._closed_ns if one > self.open_ns), default=math.inf)

    def first(self) -> list[int]:
        """Idle times of the first wave."""
        if self._longest_ns <= LEAST_NS:
            return [max(self._longest_ns, 0)]
        found, even_from = [], max(round(DOUBLED * self._longest_ns), LEAST_NS)
        doubled = LEAST_NS
        while doubled < even_from:
            found.append(doubled)
            doubled *= 2
        step = (self._longest_ns - even_from) / EVEN
        return found + [round(even_from + step * number) for number in range(EVEN + 1)]

    def next(self, left_ns: float) -> list[int]:
        """Those of another wave that takes no longer than `left_ns`; none if there is nothing to find in that time."""
        lower, upper = self.open_ns, self.closed_ns
        if not upper <= left_ns or upper - lower <= max(NEAR_SHARE * upper, NEAR_NS):
            return []
        return [round(lower + (upper - lower) * number / (AGAIN + 1)) for number in range(1, AGAIN + 1)]

    def is_useful(self, idle_ns: int) -> bool:
        """Whether it is of use to try a binding that was idle for so long."""
        return idle_ns > self.open_ns and sum(one <= idle_ns for one in self._closed_ns) < CONFIRMED

    def last_call(self, idle_ns: int) -> bool:
        """Whether to try a binding before its time, as there is no more. One is enough."""
        if self._last_called or not self.is_useful(idle_ns):
            return False
        self._last_called = True
        return True

    def add(self, idle_least_ns: int, idle_most_ns: int, is_open: bool) -> None:
        """What became of a binding that was idle for a time between these."""
        if is_open:
            self.open_ns = max(self.open_ns, idle_least_ns)
        else:
            self._closed_ns.append(idle_most_ns)
