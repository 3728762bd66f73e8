"""Behaviour of latency over time: straight pieces of a series with their slopes, jumps between them, periodic stalls.

It uses latencies and losses of intervals only, never a plan or a device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from keisoku.analysis.change_points import PARAMETERS, noise, penalty, pieces
from keisoku.analysis.line import POINTS_MIN, LineFit, fit_line
from keisoku.device.analysis.samples import Sample

RESOLUTION_NS = 1.0
"""Timestamps are whole nanoseconds: a smaller change is not significant."""
SIGNIFICANT = 3.0
"""A slope or a step is significant if it differs from zero by more than so many standard errors."""
NEAR = 4.0
"""A sample belongs to a line if it lies within so many standard deviations of the noise."""
OUTLYING = 8.0
"""An interval's largest latency is an outlier if it exceeds the others by so many robust standard deviations."""
RECURRING = 3
"""A period needs at least three events."""


@dataclass(frozen=True)
class Piece:
    """Samples on one straight line. Errors are standard errors (k = 1)."""

    samples: tuple[Sample, ...]
    fit: LineFit
    slope_error: float
    """ns/s; larger than the standard error of the fit where consecutive residuals are correlated."""
    lost_frames: float
    meaning: str
    """'filling', 'draining', 'flat', 'full and dropping' or 'losing frames'."""

    @property
    def start_s(self) -> float:
        """When its first sample began."""
        return self.samples[0].start_s

    @property
    def end_s(self) -> float:
        """When its last sample ended."""
        return self.samples[-1].end_s

    @property
    def forwarded_fps(self) -> float:
        """Frames/s that left the device: the service rate of a queue while there is one."""
        seconds = sum(sample.end_s - sample.start_s for sample in self.samples)
        return sum(sample.forwarded_frames for sample in self.samples) / seconds


@dataclass(frozen=True)
class Jump:
    """A step of latency between two pieces, within `start_s` to `end_s`; errors are k = 1."""

    start_s: float
    end_s: float
    step_ns: float
    step_error_ns: float


@dataclass(frozen=True)
class Stalls:
    """Periodic stalls; errors are standard errors (k = 1)."""

    count: int
    period_s: float
    period_error_s: float
    longest_wait_ns: float
    """Mean of the longest wait in each stall; the stall itself is longer by at most one gap between frames."""


@dataclass(frozen=True)
class Behaviour:
    """What was found in one trial, in order of time."""

    pieces: list[Piece]
    jumps: list[Jump]
    stalls: Stalls | None


@dataclass
class _Stretch:
    """Indices of the samples on one line, and of its outliers."""

    inside: list[int]
    outside: list[int]


def behaviour(samples: Sequence[Sample]) -> Behaviour:
    """Finds the pieces by exact change-point detection on the means, then classifies them.

    Raises ValueError for fewer than three samples.
    """
    if len(samples) < POINTS_MIN:
        raise ValueError(f"behaviour over time needs at least {POINTS_MIN} samples, got {len(samples)}")
    x = np.array([sample.at_s for sample in samples])
    y = np.array([sample.mean_ns for sample in samples])
    sigma = noise(y, RESOLUTION_NS + _of_times(samples, x, y))
    stretches = _joined(x, y, sigma, [list(range(*ends)) for ends in pieces(x, y, sigma)])
    base_ns = min(sample.min_ns for sample in samples)
    found = [_piece([samples[index] for index in stretch.inside], base_ns) for stretch in stretches]
    jumps = [jump for one, other in pairwise(found) if (jump := _jump(one, other))]
    return Behaviour(found, jumps, _stalls(samples, stretches, found))


def _of_times(samples: Sequence[Sample], x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Error of a mean on a slope because an interval may hold one frame more or less: half a gap in time."""
    gap_s = float(np.median([(one.end_s - one.start_s) / max(1, one.forwarded_frames) for one in samples]))
    return float(np.median(np.abs(np.diff(y) / np.diff(x)))) * gap_s / 2


def _joined(x: NDArray[np.float64], y: NDArray[np.float64], sigma: float, parts: list[list[int]]) -> list[_Stretch]:
    """Makes parts too short for a line outliers of their neighbours, and joins neighbours that lie on one line."""
    stretches: list[_Stretch] = []
    waiting: list[int] = []
    for part in parts:
        if len(part) < POINTS_MIN:
            waiting += part
            continue
        last = stretches[-1] if stretches else None
        if last is not None:
            apart = _squares(x, y, last.inside) + _squares(x, y, part)
            # The residuals of two lines are noise as well, and with few samples a better estimate of it.
            left = apart / max(1, len(last.inside) + len(part) - 2 * PARAMETERS)
            if _squares(x, y, last.inside + part) - apart <= penalty(len(x)) * max(sigma**2, left):
                last.inside += part
                last.outside += waiting
                waiting = []
                continue
        # Two samples always lie on a line: those that lie on a neighbour's belong to it.
        while last is not None and waiting and _fits(x, y, last.inside, waiting[0], sigma):
            last.inside.append(waiting.pop(0))
        while waiting and _fits(x, y, part, waiting[-1], sigma):
            part = [waiting.pop(), *part]
        stretches.append(_Stretch(part, waiting))
        waiting = []
    if not stretches:
        return [_Stretch(sorted(waiting), [])]
    while waiting and _fits(x, y, stretches[-1].inside, waiting[0], sigma):
        stretches[-1].inside.append(waiting.pop(0))
    stretches[-1].outside += waiting
    return stretches


def _fits(x: NDArray[np.float64], y: NDArray[np.float64], indices: list[int], index: int, sigma: float) -> bool:
    return bool(abs(y[index] - fit_line(x[indices], y[indices]).at(x[index])) <= NEAR * sigma)


def _squares(x: NDArray[np.float64], y: NDArray[np.float64], indices: list[int]) -> float:
    return float((fit_line(x[indices], y[indices]).residuals ** 2).sum())


def _piece(samples: list[Sample], base_ns: float) -> Piece:
    fit = fit_line([sample.at_s for sample in samples], [sample.mean_ns for sample in samples])
    slope_error = fit.slope_error * correlation(fit.residuals)
    lost = sum(sample.lost_frames for sample in samples)
    span_s = samples[-1].at_s - samples[0].at_s
    rise_ns = abs(fit.slope) * span_s
    scatter_ns = float(np.std(fit.residuals))
    steep = abs(fit.slope) > SIGNIFICANT * slope_error and rise_ns > max(RESOLUTION_NS, scatter_ns)
    level_ns = fit.at((samples[0].at_s + samples[-1].at_s) / 2)
    if steep:
        meaning = "filling" if fit.slope > 0 else "draining"
    elif lost and level_ns - base_ns > max(RESOLUTION_NS, 2 * scatter_ns):
        meaning = "full and dropping"
    else:
        meaning = "losing frames" if lost else "flat"
    return Piece(tuple(samples), fit, slope_error, lost, meaning)


def correlation(residuals: NDArray[np.float64]) -> float:
    """Factor by which a standard error grows where one sample's deviation goes on in the next (AR(1))."""
    square = float((residuals**2).sum())
    if len(residuals) < 10 or square == 0:
        return 1.0
    share = float((residuals[1:] * residuals[:-1]).sum()) / square
    return math.sqrt((1 + share) / (1 - share)) if share > 2 / math.sqrt(len(residuals)) else 1.0


def _jump(one: Piece, other: Piece) -> Jump | None:
    """The step where the second line begins, if it is significant; a change of slope alone is no jump."""
    at_s = (one.samples[-1].at_s + other.samples[0].at_s) / 2
    step_ns = other.fit.at(at_s) - one.fit.at(at_s)
    error_ns = math.hypot(_error_at(one, at_s), _error_at(other, at_s))
    # A bend between two samples looks like a step of at most the change of slope over their distance.
    bend_ns = abs(other.fit.slope - one.fit.slope) * (other.samples[0].at_s - one.samples[-1].at_s) / 2
    if abs(step_ns) <= max(RESOLUTION_NS, SIGNIFICANT * error_ns, bend_ns):
        return None
    return Jump(one.end_s, max(one.end_s, other.start_s), step_ns, error_ns)


def _error_at(piece: Piece, at_s: float) -> float:
    times = [sample.at_s for sample in piece.samples]
    variance = float((piece.fit.residuals**2).sum()) / max(1, len(times) - 2)
    return math.sqrt(variance / len(times) + (piece.slope_error * (at_s - sum(times) / len(times))) ** 2)


def _stalls(samples: Sequence[Sample], stretches: list[_Stretch], found: list[Piece]) -> Stalls | None:
    waits = _waits(samples, stretches, found)
    events: list[tuple[float, float]] = []
    for index in sorted(waits):
        wait_ns = waits[index]
        if events and index - 1 in waits:
            # A stall that begins in one interval may last into the next.
            events[-1] = (events[-1][0], max(events[-1][1], wait_ns))
        else:
            events.append((samples[index].at_s, wait_ns))
    if len(events) < RECURRING:
        return None
    interval_s = samples[0].end_s - samples[0].start_s
    times = np.array([time for time, _ in events])
    gaps = np.diff(times)
    step_s = float(np.median(gaps))
    numbers = np.concatenate([[0.0], np.cumsum(np.round(gaps / step_s))])
    if step_s < 2 * interval_s or (np.diff(numbers) < 1).any() or numbers[-1] + 1 > 1.5 * len(events):
        return None
    line = fit_line(numbers, times)
    if np.abs(line.residuals).max() > interval_s:
        return None
    # The time of an event is known to one interval: a rectangular distribution of its width.
    floor_s = interval_s / math.sqrt(12) / math.sqrt(float(((numbers - numbers.mean()) ** 2).sum()))
    longest_ns = sum(wait for _, wait in events) / len(events)
    return Stalls(len(events), line.slope, max(line.slope_error, floor_s), longest_ns)


def _waits(samples: Sequence[Sample], stretches: list[_Stretch], found: list[Piece]) -> dict[int, float]:
    """By sample: by how much its slowest frame exceeds the line, where that is an outlier."""
    maxima = np.array([sample.max_ns for sample in samples])
    excess = np.zeros(len(samples))
    for stretch, piece, before in zip(stretches, found, [None, *found], strict=False):
        for index in stretch.inside:
            excess[index] = maxima[index] - piece.fit.at(samples[index].at_s)
        for index in stretch.outside:
            line = before if before is not None and index < stretch.inside[0] else piece
            excess[index] = maxima[index] - line.fit.at(samples[index].at_s)
        # At the link's full rate latency keeps the step: the first sample of a later line may hold it.
        first = stretch.inside[0]
        if before is not None and not any(index < first for index in stretch.outside):
            excess[first] = max(excess[first], maxima[first] - before.fit.at(samples[first].at_s))
    middle = float(np.median(excess))
    spread = max(1.4826 * float(np.median(np.abs(excess - middle))), RESOLUTION_NS)
    return {
        index: wait_ns - middle for index, wait_ns in enumerate(excess.tolist()) if wait_ns > middle + OUTLYING * spread
    }
