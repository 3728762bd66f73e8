"""How the clocks of two ports are related: offset and drift from simultaneous readings, with uncertainties.

Clocks are read, never set. A relation holds for the time around its readings; later it is less certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.errors import EngineError
from keisoku.ground.statistics.line_fit import POINTS_MIN, LineFit, fit_line
from keisoku.ground.statistics.uncertainty import combine, rectangular

_RESOLUTION_NS = 1.0
_GROUPS = 8
"""Groups of consecutive readings whose means have errors that are nearly independent."""


@dataclass(frozen=True)
class Reading:
    """The other clock showed `other_ns` while the reference was between `before_ns` and `after_ns`."""

    before_ns: int
    other_ns: int
    after_ns: int

    @property
    def width_ns(self) -> int:
        """How long the reading took on the reference."""
        return self.after_ns - self.before_ns


@dataclass(frozen=True)
class Relation:
    """One clock by another: other = reference + offset + drift · (reference - at), with standard uncertainties."""

    offset_ns: int
    """Whole, because a double holds no ns of a time of day."""
    drift_ppb: float
    """How much faster the other clock runs than the reference, in 1e-9."""
    offset_uncertainty_ns: float
    drift_uncertainty_ppb: float
    at_ns: int
    """Reference time at which the offset holds."""
    same_clock: bool = False

    def uncertainty_ns(self, reference_ns: int | None = None) -> float:
        """Standard uncertainty of the offset at a reference time; without one, at `at_ns`."""
        away_ns = 0 if reference_ns is None else abs(reference_ns - self.at_ns)
        return combine(self.offset_uncertainty_ns, self.drift_uncertainty_ppb * away_ns * 1e-9)

    def offset_at(self, reference_ns: int) -> int:
        """Other minus reference in ns, at a reference time."""
        return self.offset_ns + round(self.drift_ppb * 1e-9 * (reference_ns - self.at_ns))


SAME_CLOCK = Relation(0, 0.0, rectangular(_RESOLUTION_NS / 2), 0.0, 0, same_clock=True)
"""Both ports stamp with CLOCK_MONOTONIC: nothing is unknown but the rounding of a reading to whole ns."""


def relate(readings: Sequence[Reading]) -> Relation:
    """The relation that a straight line through the readings gives, at their middle.

    The line's standard errors are those of its residuals' scatter (type A), of single readings or of the means of
    consecutive ones, whichever is larger: the moment within a reading at which the other clock is read moves with the
    speed of the core, for many readings in a row, so that their errors are alike. A reading that takes longer in one
    direction than in the other shifts all offsets alike: half of their mean width, as a rectangular
    distribution, bounds that (type B, GUM 4.3.7). Where readings become narrower or wider, as the core becomes faster
    or slower, that shift changes with them and looks like a drift: half of the widths' own slope bounds it.
    Raises EngineError for fewer than three readings.
    """
    if any(reading.width_ns < 0 for reading in readings):
        raise EngineError("the reference clock ran backwards while clocks were compared; compare them again")
    if len(readings) < POINTS_MIN:
        raise EngineError(f"two clocks cannot be related by {len(readings)} readings; at least 3 are needed")
    # The wider half was interrupted, or missed a cache: it bounds less.
    widths = sorted(reading.width_ns for reading in readings)
    widest = widths[max(len(widths) // 2, POINTS_MIN - 1)]
    usable = [reading for reading in readings if reading.width_ns <= widest]
    first = usable[0]
    width_ns = sum(reading.width_ns for reading in usable) / len(usable)
    middle = [(reading.before_ns - first.before_ns) + reading.width_ns / 2 for reading in usable]
    centre = sum(middle) / len(middle)
    start_offset = first.other_ns - first.before_ns
    offsets = [(reading.other_ns - reading.before_ns) - start_offset - reading.width_ns / 2 for reading in usable]
    try:
        line = fit_line([(ns - centre) * 1e-9 for ns in middle], offsets)
        constant_error, slope_error = _errors(np.array(middle) - centre, np.array(offsets), line)
        widening = fit_line([(ns - centre) * 1e-9 for ns in middle], [reading.width_ns for reading in usable])
    except ValueError as error:
        raise EngineError(f"two clocks cannot be related: {error}") from error
    return Relation(
        offset_ns=start_offset + round(line.constant),
        drift_ppb=line.slope,
        offset_uncertainty_ns=combine(constant_error, rectangular((width_ns + _RESOLUTION_NS) / 2)),
        drift_uncertainty_ppb=combine(slope_error, rectangular(abs(widening.slope) / 2)),
        at_ns=first.before_ns + round(centre),
    )


def _errors(ns: NDArray[np.float64], offsets_ns: NDArray[np.float64], line: LineFit) -> tuple[float, float]:
    """Standard errors of the line's constant in ns and of its slope in 1e-9: the larger of single readings and groups.

    Means of consecutive groups keep what neighbours have in common (batch means, Law, Simulation Modeling §9.5.3).
    """
    if len(ns) < _GROUPS * POINTS_MIN:
        return line.constant_error, line.slope_error
    order = np.array_split(np.argsort(ns), _GROUPS)
    grouped = fit_line([ns[group].mean() * 1e-9 for group in order], [offsets_ns[group].mean() for group in order])
    return max(line.constant_error, grouped.constant_error), max(line.slope_error, grouped.slope_error)


def between(first: Relation, second: Relation) -> Relation:
    """From the clock of `first` to that of `second`, both related to one reference, at the time of `first`.

    The two are independent: they were read through different devices.
    """
    return Relation(
        offset_ns=second.offset_at(first.at_ns) - first.offset_ns,
        drift_ppb=second.drift_ppb - first.drift_ppb,
        offset_uncertainty_ns=combine(first.uncertainty_ns(), second.uncertainty_ns(first.at_ns)),
        drift_uncertainty_ppb=combine(first.drift_uncertainty_ppb, second.drift_uncertainty_ppb),
        at_ns=first.at_ns,
        same_clock=first.same_clock and second.same_clock,
    )
