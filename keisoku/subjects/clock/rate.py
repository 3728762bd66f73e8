"""Accuracy of the rate of the clock that measures intervals, and its contribution to an error budget.

A rate comes from a calibration or, without one, from the tolerance of an oscillator. Records are never changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.language import phrase

OSCILLATOR = 1e-4
"""± 100 ppm: what Ethernet allows an oscillator (IEEE 802.3, 22.2.2.1), and more than the ± 20 to 50 ppm of PCs."""
WANDER = 5e-7
"""By how much a PC's oscillator may have left its calibrated rate, from temperature and age: RADclock's own bound."""
SLEW = 5e-4
"""By how much the kernel lets NTP steer CLOCK_MONOTONIC (MAXFREQ of linux/timex.h)."""


@dataclass(frozen=True)
class Part:
    """One contribution to the uncertainty of the rate, relative (1e-9 is 1 ppb)."""

    source: str
    half_width: float | None = None
    """Bound without a preferred value in it."""
    standard: float | None = None
    """Standard uncertainty, from repeated observations."""

    def contribution(self, sensitivity: float) -> Contribution:
        """To a figure that changes by `sensitivity` with a relative change of the rate by 1."""
        if self.standard is not None:
            return budget.normal(self.source, self.standard, sensitivity=sensitivity)
        return budget.rectangular(self.source, self.half_width or 0.0, sensitivity=sensitivity)


@dataclass(frozen=True)
class Rate:
    """Rate of a clock against the SI second."""

    clock: str
    fast: float = 0.0
    """By how much it runs fast, relative: known, so taken off each interval."""
    parts: tuple[Part, ...] = ()
    statement: str = ""
    """Where this is known from, as text."""

    def corrected(self, interval: float) -> float:
        """An interval by this clock, in seconds of the reference's (whatever its unit)."""
        return interval / (1.0 + self.fast)

    def contributions(self, interval: float) -> tuple[Contribution, ...]:
        """Contributions to an interval; for a frequency or a bandwidth give that figure: the effect is as large.

        They have the unit of what is given.
        """
        return tuple(part.contribution(interval) for part in self.parts)

    def with_rate(self, figure: Quantity, interval: float | None = None) -> Quantity:
        """`figure` with this clock's contributions in its budget and uncertainty.

        `interval` is what the figure changes by with a relative change of the rate by 1: by default its value. A
        figure whose other uncertainty is not known stays without one.
        """
        if figure.uncertainty is None or not self.parts:
            return figure
        of_rate = self.contributions(figure.value if interval is None else interval)
        before: Sequence[Contribution] = figure.budget or (
            (budget.normal("measurement", figure.uncertainty / 2),) if figure.uncertainty else ()
        )
        found = budget.figure(figure.value, figure.unit, (*before, *of_rate))
        return found.model_copy(update={"covers": figure.covers})


SECOND = Rate("second")
"""Rate of simulated time, without any uncertainty."""


def nominal_rate(clock: str, half_width: float = OSCILLATOR) -> Rate:
    """Rate of a clock that was not calibrated; the half-width is a ratio."""
    said = phrase("clock: rate not calibrated, the oscillator's own, stated as ± {ppm:g} ppm", ppm=half_width * 1e6)
    return Rate(clock, 0.0, (Part(said, half_width=half_width),), said)
