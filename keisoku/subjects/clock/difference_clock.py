"""A clock for intervals that is never stepped: Cd(t) = C0 + p̄·ticks(t), and the time of day kept apart from it.

Feed-forward, as RADclock does it (Veitch, Ridoux, Korada: Robust Synchronization of Absolute and Difference Clocks
over Networks, 2009): a newly learnt rate converts later ticks and never changes past time.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase
from keisoku.subjects.clock.rate import OSCILLATOR, WANDER, Part, Rate
from keisoku.subjects.clock.reading import Reading

WINDOW = 64
"""Number of recent readings from which the time of day is computed."""
WARM_UP = 16
"""Readings after which the shortest path delay counts as known; until then a reading is as uncertain as its bracket."""
FLOOR_NS = 10.0
"""Least error of a reading in ns: the step of a virtual TSC, or a clock's rounding to ns."""


@dataclass(frozen=True)
class TickInterval:
    """A length of time with its standard uncertainty (k = 1), both in ns."""

    ns: float
    standard_ns: float

    def quantity(self) -> Quantity:
        """Expanded, with the rate as its only contribution."""
        return budget.figure(self.ns, "ns", [budget.normal(phrase("difference clock: rate"), self.standard_ns)])


class DifferenceClock:
    """A clock whose rate improves with each good reading and is never worse than the oscillator's own."""

    def __init__(self, first: Reading, period_ns: float, relative_error: float = OSCILLATOR / math.sqrt(3)) -> None:
        """`period_ns`: the best known period of a tick, with its relative standard uncertainty."""
        self.period_ns = period_ns
        self.relative_error = relative_error
        self.refused = 0
        """Number of readings that no oscillator explains: the reference was stepped, or the path to it changed."""
        self._anchor_ticks = first.before
        self._anchor_ns = 0.0
        self._base = first
        self._least = first.width
        self._taken = 0
        self._refused_together = 0
        self._widths: deque[int] = deque([first.width], maxlen=WINDOW)
        self.origin_ns = first.reference_ns
        """The reference's time at which this clock showed 0."""
        self._recent: deque[Reading] = deque([first], maxlen=WINDOW)

    def ns(self, ticks: int) -> float:
        """What the clock shows: ns since its first reading. Continuous, whatever was learned in between."""
        return self._anchor_ns + (ticks - self._anchor_ticks) * self.period_ns

    def interval(self, begin: int, end: int) -> TickInterval:
        """The interval between two ticks, by the rate as it is known now."""
        ns = (end - begin) * self.period_ns
        return TickInterval(ns, abs(ns) * math.hypot(self.relative_error, WANDER / math.sqrt(3)))

    def rate(self, clock: str) -> Rate:
        """For the budget of figures that are intervals by this clock."""
        return Rate(
            clock,
            0.0,
            (
                Part(phrase("clock: rate of the difference clock"), standard=self.relative_error),
                Part(phrase("clock: wander of the oscillator"), half_width=WANDER),
            ),
            phrase(
                "difference clock, rate known to {relative_error:.3g} ppb (k = 1)",
                relative_error=self.relative_error * 1e9,
            ),
        )

    def learn(self, reading: Reading) -> bool:
        """Learns from a later reading; False if it was refused as impossible or bounds too little."""
        self._taken += 1
        self._widths.append(reading.width)
        self._least = min(self._least, reading.width)
        span_ns = reading.reference_ns - self._base.reference_ns
        ticks = ((reading.before - self._base.before) + (reading.after - self._base.after)) / 2
        if span_ns <= 0 or ticks <= 0:
            return self._refuse(reading)
        error = math.hypot(self._error_ns(self._base), self._error_ns(reading)) / span_ns
        period_ns = span_ns / ticks
        off = abs(period_ns / self.period_ns - 1)
        if self._taken > WARM_UP and off > WANDER + 3 * (error + self.relative_error):
            return self._refuse(reading)
        self._refused_together = 0
        self._recent.append(reading)
        if error < self.relative_error:
            self._go_on_from(reading.before)
            self.period_ns, self.relative_error = period_ns, error
        if self._taken < WARM_UP and reading.width < self._base.width:
            self._base = reading
        return True

    def _refuse(self, reading: Reading) -> bool:
        """After many refusals in a row the past is taken to be wrong: the rate begins anew, the clock goes on."""
        self.refused += 1
        self._refused_together += 1
        if self._refused_together >= WINDOW:
            self._base, self._least, self._taken, self._refused_together = reading, reading.width, 0, 0
            self._widths.clear()
            self._recent.clear()
            self._recent.append(reading)
            self._widths.append(reading.width)
            self.relative_error = max(self.relative_error, OSCILLATOR / math.sqrt(3))
        return False

    def offset_ns(self) -> tuple[float, float]:
        """What to subtract from this clock to get the reference's time since `origin_ns`, and half the bound of that.

        Of recent readings the best count most, exp(-(excess / floor)²), each as the middle of its bracket; the bound is
        half of the narrowest bracket, because the ways there and back may differ by all of it.
        """
        total = weighted = 0.0
        half = [reading.width * self.period_ns / 2 for reading in self._recent]
        scale = max(FLOOR_NS, 0.1 * min(half))
        for reading, width in zip(self._recent, half, strict=True):
            weight = math.exp(-min(((width - min(half)) / scale) ** 2, 500.0))
            middle = self.ns(reading.before) + width
            total += weight
            weighted += weight * (middle - (reading.reference_ns - self.origin_ns))
        return weighted / total, min(half)

    def _error_ns(self, reading: Reading) -> float:
        """Half of what a reading took longer than the shortest one: a delay common to all does not change the rate.

        At least the lower quartile of recent ones, because the shortest possible delay may not have been seen yet.
        """
        half_ns = self.period_ns / 2
        if self._taken < WARM_UP:
            return max(FLOOR_NS, reading.width * half_ns)
        usual = sorted(self._widths)[len(self._widths) // 4] - self._least
        return max(FLOOR_NS, max(reading.width - self._least, usual) * half_ns)

    def _go_on_from(self, ticks: int) -> None:
        """The next period counts from here, so that the clock does not jump."""
        self._anchor_ns, self._anchor_ticks = self.ns(ticks), ticks
