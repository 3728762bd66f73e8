"""A counter's frequency from readings against a reference: two-point, least squares, hard bounds.

Frequencies are in Hz, i.e. ticks in 1e9 ns of the reference; errors are standard uncertainties (k = 1)
unless their name says bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.line_fit import fit_line
from keisoku.subjects.clock.cost.resolution import common_step
from keisoku.subjects.clock.reading import Reading, narrowest

READINGS_FOR_A_LINE = 20
END_SHARE = 0.1
"""Share of the readings at each end, whose narrowest one is a point of the two-point estimate."""
BLOCKS = 10
"""Number of stretches that are left out in turn (jackknife), to see how far the slope depends on each of them."""
BOUNDED_MOST = 2000
"""Readings that enter the hard bounds, whose work grows with their square."""


@dataclass(frozen=True)
class Frequency:
    """An estimate and what makes it uncertain (k = 1), all in Hz."""

    hz: float
    scatter_hz: float
    """From the scatter of the readings, or from their widths."""
    ways_hz: float = 0.0
    """From what no scatter shows: path delays that become longer or shorter during the comparison."""

    @property
    def standard_hz(self) -> float:
        """Both together."""
        return math.hypot(self.scatter_hz, self.ways_hz)

    @property
    def relative(self) -> float:
        """Standard uncertainty as a share of the frequency."""
        return self.standard_hz / self.hz


@dataclass(frozen=True)
class Fit:
    """A least-squares line and what is left of the readings."""

    frequency: Frequency
    at_s: NDArray[np.float64]
    """Time of each reading, from the first."""
    residual_ns: NDArray[np.float64]
    """By how much the counter's middle was ahead of the line."""
    half_width_ns: NDArray[np.float64]


def two_point(readings: Sequence[Reading], read_error_ns: float | None = None) -> Frequency:
    """From the narrowest reading near the beginning and near the end: √2·σ/T, by a reading's error σ.

    Without one, the middle may be off by half a bracket, rectangular. Raises ValueError for less than two readings or
    no time between them.
    """
    if len(readings) < 2:
        raise ValueError("a frequency needs two readings")
    end = max(1, int(len(readings) * END_SHARE))
    first, last = narrowest(readings[:end]), narrowest(readings[-end:])
    span_ns = last.reference_ns - first.reference_ns
    ticks = ((last.before - first.before) + (last.after - first.after)) / 2
    if span_ns <= 0 or ticks <= 0:
        raise ValueError("the reference or the counter went back")
    hz = ticks / span_ns * 1e9
    if read_error_ns is None:
        errors = [reading.width / hz * 1e9 / 2 / math.sqrt(3) for reading in (first, last)]
        standard_ns = math.hypot(*errors)
    else:
        standard_ns = math.sqrt(2) * read_error_ns
    return Frequency(hz, hz * standard_ns / span_ns, hz * _ways_ns([r.width / hz * 1e9 for r in readings]) / span_ns)


def least_squares(readings: Sequence[Reading]) -> Fit:
    """From all readings, wide ones with less weight.

    The error is the larger of the line's own and of a jackknife over ten stretches: correlation between neighbouring
    residuals makes the former too small. Raises ValueError for fewer than 20 readings or no time between them.
    """
    if len(readings) < READINGS_FOR_A_LINE:
        raise ValueError(f"a line needs {READINGS_FOR_A_LINE} readings")
    rough = two_point(readings).hz
    origin = readings[0]
    at_s = np.array([reading.reference_ns - origin.reference_ns for reading in readings], dtype=np.float64) / 1e9
    ticks = np.array([((reading.before - origin.before) + (reading.after - origin.before)) / 2 for reading in readings])
    # Only the residuals of a line of the rough frequency are fitted: a double then keeps the ns of a year.
    left_ns = (ticks - rough * at_s) / rough * 1e9
    width_ns = np.array([reading.width for reading in readings], dtype=np.float64) / rough * 1e9
    sigma = _errors(width_ns)
    line = fit_line(at_s, left_ns, sigma)
    hz = rough * (1 + line.slope * 1e-9)
    error = max(line.slope_error, _jackknife(at_s, left_ns, sigma))
    ways_hz = hz * _ways_ns(width_ns.tolist()) / float(at_s[-1] * 1e9)
    return Fit(Frequency(hz, hz * error * 1e-9, ways_hz), at_s, line.residuals, width_ns / 2)


def hard_bounds(readings: Sequence[Reading]) -> tuple[float, float] | None:
    """Bounds of a constant frequency; None if no single line goes through all readings.

    Assumes nothing but the brackets, that the reference shows whole ns, rounded down, and the counter multiples of its
    step: a bracket may reach so much further.
    """
    chosen = _thinned(readings)
    try:
        further = counter_step(readings) + two_point(readings).hz * 1e-9
    except ValueError:
        return None
    before = np.array([reading.before - chosen[0].before for reading in chosen], dtype=np.float64)
    after = np.array([reading.after - chosen[0].before for reading in chosen], dtype=np.float64) + further
    at_ns = np.array([reading.reference_ns - chosen[0].reference_ns for reading in chosen], dtype=np.float64)
    low, high = 0.0, math.inf
    for index in range(len(chosen) - 1):
        span = at_ns[index + 1 :] - at_ns[index]
        if not (span > 0).all():
            return None
        low = max(low, float(((before[index + 1 :] - after[index]) / span).max()))
        high = min(high, float(((after[index + 1 :] - before[index]) / span).min()))
    return (low * 1e9, high * 1e9) if low <= high else None


def counter_step(readings: Sequence[Reading]) -> int:
    """Ticks by which the counter moves, as far as the widths of brackets show it; 1 where they do not."""
    differences = Counter(abs(after.width - before.width) for before, after in pairwise(readings))
    del differences[0]
    return common_step(sorted(differences.items())) or 1


def read_error_ns(fit: Fit) -> float:
    """Standard deviation of a narrow reading about the line, in ns."""
    narrow = fit.residual_ns[fit.half_width_ns <= np.median(fit.half_width_ns)]
    return float(np.sqrt(np.mean(narrow**2)))


def estimate(readings: Sequence[Reading]) -> Frequency:
    """Least squares where there are readings enough for it, else two-point."""
    if len(readings) >= READINGS_FOR_A_LINE:
        return least_squares(readings).frequency
    return two_point(readings)


def _ways_ns(width_ns: Sequence[float]) -> float:
    """By how much the middles of brackets may have moved between beginning and end without any scatter, in ns.

    Half of the median excess over the narrowest bracket may lie in one direction for long: a rectangular distribution
    at both ends. Brackets of a local clock are all as wide as the narrowest, and the result is 0.
    """
    usual = sorted(width_ns)[len(width_ns) // 2] - min(width_ns)
    return math.sqrt(2) * usual / 2 / math.sqrt(3)


def _errors(width_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Possible error of each reading relative to the others: half the excess of its bracket over the narrowest.

    The delay of the narrowest is common to all and does not change a rate (RADclock's quality of an exchange).
    """
    excess = (width_ns - width_ns.min()) / 2
    floor = max(float(np.quantile(excess, 0.25)), float(width_ns.min()) / 20, 1.0)
    errors: NDArray[np.float64] = np.sqrt(floor**2 + excess**2)
    return errors


def _jackknife(at_s: NDArray[np.float64], left_ns: NDArray[np.float64], sigma: NDArray[np.float64]) -> float:
    block = np.minimum(np.arange(len(at_s)) * BLOCKS // len(at_s), BLOCKS - 1)
    slopes = np.array(
        [fit_line(at_s[block != out], left_ns[block != out], sigma[block != out]).slope for out in range(BLOCKS)]
    )
    return float(np.sqrt((BLOCKS - 1) / BLOCKS * ((slopes - slopes.mean()) ** 2).sum()))


def _thinned(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The narrowest reading of each of so many stretches, in order."""
    if len(readings) <= BOUNDED_MOST:
        return readings
    edges = np.linspace(0, len(readings), BOUNDED_MOST + 1).astype(int)
    return [narrowest(readings[start:end]) for start, end in pairwise(edges)]
