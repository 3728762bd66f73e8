"""One comparison of this machine's counter with a reference: a value of the reference, and ticks on both sides of it.

Holds for every reference, a clock read between two reads of the counter or an exchange with a server alike. The
bound is hard; where within it the value was read is not known; code that takes the middle says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """The reference showed `reference_ns` while the counter was between `before` and `after` ticks."""

    before: int
    reference_ns: int
    after: int

    @property
    def width(self) -> int:
        """Ticks from one side to the other; the error is half of it at most."""
        return self.after - self.before


def narrowest(readings: Sequence[Reading]) -> Reading:
    """The reading with the narrowest bracket. Raises ValueError if there is none."""
    return min(readings, key=lambda reading: reading.width)


class Translation:
    """From a kernel clock's ns to ticks, between two readings of that clock: for stamps that the kernel took.

    Raises ValueError if the readings are not in order: the clock was set back between them.
    """

    def __init__(self, first: Reading, last: Reading) -> None:
        """The two are milliseconds apart, so that no slewing matters between them."""
        if last.reference_ns <= first.reference_ns or last.before <= first.after:
            raise ValueError("a clock went back between two readings of it")
        self._first = first
        self._ticks_per_ns = ((last.before + last.after) - (first.before + first.after)) / (
            2 * (last.reference_ns - first.reference_ns)
        )
        self._half = (max(first.width, last.width) + 1) // 2
        self.ticks_per_ns = self._ticks_per_ns

    def ticks(self, clock_ns: int) -> tuple[int, int]:
        """Bounds of the counter when the clock showed `clock_ns`."""
        middle = (self._first.before + self._first.after) // 2
        at = middle + round((clock_ns - self._first.reference_ns) * self._ticks_per_ns)
        return at - self._half - 1, at + self._half + 1
