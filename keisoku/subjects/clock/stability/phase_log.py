"""A log of readings as phase on a grid; missing readings, cuts, steps and suspends are found and reported.

Phase is never interpolated: a missing point is NaN, and where the clock's phase may have changed (a step, a suspend,
another boot) a new stretch begins, which no figure crosses.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from keisoku.errors import PlanError
from keisoku.subjects.clock.stability.frequency_step import find_frequency_steps
from keisoku.subjects.clock.stability.power_law import Floats
from keisoku.subjects.clock.stability.step import find_steps

Integers = NDArray[np.int64]
Reason = Literal["gap", "step", "suspend", "reboot", "clock source", "reference went back", "frequency step"]
LEAST_TAU0_S = 1e-9
"""Readings are dated in nanoseconds."""
GAP_POINTS = 10_000
"""A longer gap than this, and than all points together, cuts the log: it would be nothing but missing points."""
POINTS_MIN = 8
"""A shorter stretch is left out of the analysis."""


@dataclass(frozen=True)
class Break:
    """Where something happened to the log, in s of the reference since it began."""

    at_s: float
    reason: Reason
    size_s: float
    """Length of the gap, change of phase, or time suspended, in s; change of frequency, as a share; 0: none."""


@dataclass(frozen=True)
class Stretch:
    """Phase (s) at every `tau0` from `start_s` on; NaN where a reading is missing."""

    start_s: float
    phase_s: Floats

    @property
    def readings(self) -> int:
        """How many points are there."""
        return int(np.count_nonzero(np.isfinite(self.phase_s)))


@dataclass(frozen=True)
class PhaseLog:
    """Phase of a clock against its reference, after `rate` was taken as the clock's."""

    tau0_s: float
    rate: float
    """Clock units (ticks, ns) per second of the reference; 1 for a log of phase."""
    stretches: tuple[Stretch, ...]
    breaks: tuple[Break, ...] = ()
    spikes: int = 0
    """Number of single outlying readings, which are left out."""
    short: int = 0
    """Number of readings in stretches too short for an analysis, left out as well."""
    wide: int = 0
    """Readings whose bounds were so wide that they would only add noise; left out before anything else."""
    bound_s: float | None = None
    """Median of the readings' hard error bounds."""

    @property
    def readings(self) -> int:
        """That are used."""
        return sum(stretch.readings for stretch in self.stretches)

    @property
    def missing(self) -> int:
        """Points of the grid without a reading, inside of stretches."""
        return sum(len(stretch.phase_s) - stretch.readings for stretch in self.stretches)

    @property
    def span_s(self) -> float:
        """From the first reading to the last."""
        last = self.stretches[-1]
        return last.start_s + (len(last.phase_s) - 1) * self.tau0_s - self.stretches[0].start_s


@dataclass(frozen=True)
class Readings:
    """Columns of a log, one entry a reading, in the order of time."""

    reference_ns: Integers
    clock: Integers
    """ns, or ticks."""
    bound_ns: Floats | None = None
    boot: Integers | None = None
    """Changes with every boot."""
    clock_source: Integers | None = None
    """Changes when the kernel takes another clock source."""
    suspended_ns: Integers | None = None
    """Time that the machine was suspended since it booted."""

    def narrow(self) -> tuple[Readings, int]:
        """The readings that were not delayed, and the number of those that were; chosen by bounds, not by phase."""
        if self.bound_ns is None or not len(self.clock):
            return self, 0
        kept = self.bound_ns <= WIDE * float(np.median(self.bound_ns))
        wide = int(np.count_nonzero(~kept))
        if not wide:
            return self, 0
        columns: dict[str, Any] = {name: None if held is None else held[kept] for name, held in vars(self).items()}
        return Readings(**columns), wide


WIDE = 5.0
"""A reading whose bound is so many times the median was delayed by the scheduler or by a queue."""
SUSPENDED_MIN_NS = 100_000_000
"""A smaller change may be the error of the reading."""


def phase_log(readings: Readings, tau0_s: float) -> PhaseLog:
    """The log's phase on the grid of `tau0_s`.

    Readings may come late: phase is that of the moment of the reading, and because the clock's own rate was taken
    away before, being late by 1 ms shifts it by a picosecond for each ppb that the rate has left its mean.
    Raises PlanError for fewer than eight readings, and for a grid that has no length.
    """
    if not tau0_s >= LEAST_TAU0_S:
        raise PlanError("every", f"{tau0_s:g} s is not a time from one reading to the next", "log anew")
    readings, wide = readings.narrow()
    _enough(len(readings.clock))
    order = _Cuts.of(readings, tau0_s)
    longest = max(order.runs(), key=lambda run: run[1] - run[0])
    rate = _rate(readings, *longest)
    since_s = np.asarray((readings.reference_ns - readings.reference_ns[0]) * 1e-9, np.float64)
    phase_s = np.asarray((readings.clock - readings.clock[0] - rate * since_s) / rate, np.float64)
    bounds_s = None if readings.bound_ns is None else np.asarray(readings.bound_ns * 1e-9, np.float64)
    return replace(_assembled(phase_s, order, tau0_s, rate, bounds_s), wide=wide)


def from_phase(phase_s: Floats, tau0_s: float, place: Integers | None = None) -> PhaseLog:
    """A log of phase at equal intervals; NaN where it is missing. Raises PlanError for fewer than eight phases.

    `place` is how many intervals of `tau0_s` (s) after the first each phase is, rising; None: they follow each other.
    """
    present = np.flatnonzero(np.isfinite(phase_s))
    _enough(len(present))
    index = present if place is None else place[present]
    return _assembled(phase_s[present], _Cuts(index, tau0_s), tau0_s, 1.0, None)


def _enough(count: int) -> None:
    if count < POINTS_MIN:
        raise PlanError("log", f"a clock needs more than so few readings ({count})", f"log at least {POINTS_MIN}")


@dataclass
class _Cuts:
    """Before which readings a new stretch begins, and why."""

    index: Integers
    """Place on the grid of each reading."""
    tau0_s: float
    cuts: dict[int, tuple[Reason, float]] = field(default_factory=dict)
    gaps: list[tuple[int, float]] = field(init=False, default_factory=list)
    """After which reading, and how long (s)."""

    @classmethod
    def of(cls, readings: Readings, tau0_s: float) -> _Cuts:
        """Each stretch has a grid of its own: nothing is known of phase between them."""
        cuts = cls(np.zeros(0, np.int64), tau0_s)
        cuts._cut(np.minimum(np.diff(readings.reference_ns), 0), "reference went back", 0, 1e-9)
        cuts._cut(_changes(readings.clock_source), "clock source", 0, 0.0)
        cuts._cut(_changes(readings.suspended_ns), "suspend", SUSPENDED_MIN_NS, 1e-9)
        cuts._cut(_changes(readings.boot), "reboot", 0, 0.0)
        edges = [0, *sorted(cuts.cuts), len(readings.reference_ns)]
        parts, base = [], 0
        for first, last in pairwise(edges):
            since = readings.reference_ns[first:last] - readings.reference_ns[first]
            place = np.rint(since / (tau0_s * 1e9)).astype(np.int64)
            parts.append(place + base)
            # The next one begins as much later as the reference says, if it can say it.
            after = readings.reference_ns[last] - readings.reference_ns[last - 1] if last < edges[-1] else 0
            base = int(parts[-1][-1]) + max(1, round(int(after) / (tau0_s * 1e9)))
        return cls(np.concatenate(parts), tau0_s, cuts.cuts)

    def __post_init__(self) -> None:
        steps = np.diff(self.index)
        found = [int(at) for at in np.flatnonzero(steps > 1) if int(at) + 1 not in self.cuts]
        self.gaps = [(at, float(steps[at]) * self.tau0_s) for at in found]
        for at, length in self.gaps:
            if steps[at] > max(GAP_POINTS, len(self.index)):
                self.cuts[at + 1] = ("gap", length)

    def _cut(self, change: Integers, reason: Reason, least: int, unit_s: float) -> None:
        for at in np.flatnonzero(np.abs(change) > least):
            self.cuts[int(at) + 1] = (reason, float(abs(change[at])) * unit_s)

    def runs(self) -> list[tuple[int, int]]:
        """Stretches as ranges of readings."""
        edges = [0, *sorted(self.cuts), len(self.index)]
        return [(first, last) for first, last in pairwise(edges) if last > first]


def _changes(column: Integers | None) -> Integers:
    return np.zeros(0, np.int64) if column is None else np.diff(column)


def _rate(readings: Readings, first: int, last: int) -> float:
    """By least squares over one stretch; only as good as is needed to make phase small."""
    at = (readings.reference_ns[first:last] - readings.reference_ns[first]) * 1e-9
    value = (readings.clock[first:last] - readings.clock[first]).astype(np.float64)
    if last - first < 2 or at[-1] <= 0 or value[-1] <= 0:
        raise PlanError("log", "its clock or its reference stands still", "log a running clock")
    coarse = value[-1] / at[-1]
    residual = value - coarse * at
    centred = at - at.mean()
    return float(coarse + np.dot(centred, residual) / np.dot(centred, centred))


def _assembled(phase_s: Floats, order: _Cuts, tau0_s: float, rate: float, bounds_s: Floats | None) -> PhaseLog:
    breaks = [Break(float(order.index[at]) * tau0_s, reason, size) for at, (reason, size) in order.cuts.items()]
    breaks += [
        Break(float(order.index[at]) * tau0_s, "gap", length) for at, length in order.gaps if at + 1 not in order.cuts
    ]
    stretches: list[Stretch] = []
    spikes = short = 0
    for first, last in order.runs():
        kept = np.concatenate(([True], np.diff(order.index[first:last]) > 0))  # a second reading at one place
        index, phase = order.index[first:last][kept], phase_s[first:last][kept]
        found = find_steps(index, phase, None if bounds_s is None else bounds_s[first:last][kept])
        spikes += len(found.spikes)
        phase = phase.copy()
        phase[list(found.spikes)] = np.nan
        breaks += [Break(float(index[at]) * tau0_s, "step", size) for at, size in found.steps]
        edges = [0, *(at for at, _ in found.steps), len(index)]
        for start, end in pairwise(edges):
            if end - start < POINTS_MIN:
                short += end - start
            else:
                stretch = _stretch(index[start:end], phase[start:end], tau0_s)
                stretches.append(stretch)
                bends = find_frequency_steps(stretch.phase_s, tau0_s)
                breaks += [Break(stretch.start_s + at * tau0_s, "frequency step", size) for at, size in bends]
    if not stretches:
        raise PlanError("log", "no stretch without a step or an interruption is long enough", "log for longer")
    return PhaseLog(
        tau0_s=tau0_s,
        rate=rate,
        stretches=tuple(stretches),
        breaks=tuple(sorted(breaks, key=lambda one: one.at_s)),
        spikes=spikes,
        short=short,
        bound_s=None if bounds_s is None else float(np.median(bounds_s)),
    )


def _stretch(index: Integers, phase: Floats, tau0_s: float) -> Stretch:
    grid = np.full(int(index[-1] - index[0]) + 1, np.nan)
    grid[index - index[0]] = phase
    return Stretch(float(index[0]) * tau0_s, grid)
