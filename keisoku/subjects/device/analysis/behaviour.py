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

from keisoku.ground.statistics.change_points import PARAMETERS, local_noise, penalty, pieces
from keisoku.ground.statistics.line_fit import POINTS_MIN, LineFit, fit_line
from keisoku.ground.statistics.uncertainty import COVERAGE_FACTOR, deviation, student
from keisoku.subjects.device.analysis.samples import Sample
from keisoku.subjects.device.analysis.stamp_phase import tilt_share

RESOLUTION_NS = 1.0
"""Timestamps are whole nanoseconds: a smaller change is not significant."""
FULL = "full and dropping"
"""Meaning of a piece in which a queue is full and loses frames."""
SIGNIFICANT = 3.0
"""A slope or a step is significant if it differs from zero by more than so many standard errors."""
NEAR = 4.0
"""A sample belongs to a line if it lies within so many standard deviations of the noise."""
OUTLYING = 8.0
"""An interval's largest latency is an outlier if it exceeds the others by so many robust standard deviations."""
GRAIN = 0.9
"""Standard error of a slope in grains (`Piece.grain_ns`) over the time between its first and last sample: what is off
may be off alike in many samples in a row."""
DROPS = 1.0
"""Standard error of the level at which a buffer is full, in halves of a frame's service time."""
TEETH = 1.5
"""Where frames are lost, a stall is longer than so many of them take to leave."""
RECURRING = 3
"""A period needs at least three events."""


@dataclass(frozen=True)
class Piece:
    """Samples on one straight line. Errors are standard errors (k = 1)."""

    samples: tuple[Sample, ...]
    fit: LineFit
    slope_error: float
    """ns/s; larger than the standard error of the fit where consecutive residuals are correlated, and at least what
    the grain of frames and timestamps leaves."""
    lost_frames: float
    meaning: str
    """'filling', 'draining', 'flat', 'full and dropping' or 'losing frames'."""
    grain_ns: float
    """By how much a mean may be off: an interval holds one frame more or less, and timestamps have a resolution."""
    fitted_s: NDArray[np.float64]
    """Times of the samples that the line was fitted to."""

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
        return 1e9 / self.service_ns

    @property
    def service_ns(self) -> float:
        """From one departure to the next."""
        return _service_ns(self.samples)

    def error_at(self, at_s: float) -> float:
        """Standard error (k = 1) of the line in ns at a time."""
        count = len(self.fitted_s)
        variance = float((self.fit.residuals**2).sum()) / max(1, count - PARAMETERS)
        factor = student(max(1, count - PARAMETERS)) / COVERAGE_FACTOR
        middle_ns = math.hypot(factor * math.sqrt(variance / count), self.grain_ns / math.sqrt(3))
        return math.hypot(middle_ns, self.slope_error * (at_s - float(self.fitted_s.mean())))


@dataclass(frozen=True)
class Jump:
    """A step of latency between two pieces, within `start_s` to `end_s`; errors are k = 1."""

    start_s: float
    end_s: float
    step_ns: float
    step_error_ns: float


@dataclass(frozen=True)
class Bend:
    """When a piece ends and the next one begins, with its standard error (k = 1)."""

    at_s: float
    error_s: float


@dataclass(frozen=True)
class FirstDrop:
    """When the first frame that was lost was sent, and how much later or earlier it might have been (k = 1)."""

    at_s: float
    scatter_s: float


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
    bends: list[Bend]
    """Between each piece and the next."""
    jumps: list[Jump]
    stalls: Stalls | None


@dataclass
class _Stretch:
    """Indices of the samples on one line, and of its outliers."""

    inside: list[int]
    outside: list[int]


def behaviour(
    samples: Sequence[Sample], resolution_ns: float = RESOLUTION_NS, first_drop: FirstDrop | None = None
) -> Behaviour:
    """Finds the pieces by exact change-point detection on the means, then classifies them.

    `resolution_ns` is that of timestamps; `first_drop` is of the first frame that was lost. Raises ValueError for
    fewer than three samples.
    """
    if len(samples) < POINTS_MIN:
        raise ValueError(f"behaviour over time needs at least {POINTS_MIN} samples, got {len(samples)}")
    x = np.array([sample.at_s for sample in samples])
    y = np.array([sample.mean_ns for sample in samples])
    base_ns = min(sample.min_ns for sample in samples)
    grain_ns = np.array([one.at_error_s for one in samples]) * _slopes(x, y)
    sigma = local_noise(y, np.maximum(RESOLUTION_NS + grain_ns, _of_drops(samples, base_ns)))
    stretches = _joined(x, y, sigma, [list(range(*ends)) for ends in pieces(x, y, sigma)])
    _settle(x, y, RESOLUTION_NS + grain_ns, stretches)
    found = [
        _piece(samples, stretch.inside, sigma, base_ns, resolution_ns, begins=stretch is stretches[0])
        for stretch in stretches
    ]
    jumps = [jump for one, other in pairwise(found) if (jump := _jump(one, other))]
    bends = [_filled(one, other, first_drop) or _bend(one, other) for one, other in pairwise(found)]
    return Behaviour(found, bends, jumps, _stalls(samples, stretches, found))


def _slopes(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Steepness around each sample in ns/s, that of neither a step nor a single sample that stands out."""
    steps = np.abs(np.diff(y) / np.diff(x))
    around = [np.sort(steps[max(0, place - 2) : place + 2]) for place in range(len(x))]
    return np.array([near[min(1, len(near) - 1)] if len(near) > 2 else near[0] for near in around])


def _of_drops(samples: Sequence[Sample], base_ns: float) -> NDArray[np.float64]:
    """In a full buffer latency falls by a frame's service time with each frame that is dropped, and rises again: this
    is the grain of a queue, not a change."""
    service_ns = np.array([one.gap_s * 1e9 for one in samples])
    full = [
        one.lost_frames > 0 and one.mean_ns - base_ns > 2 * each
        for one, each in zip(samples, service_ns.tolist(), strict=True)
    ]
    return np.where(full, service_ns, 0.0)


def _joined(
    x: NDArray[np.float64], y: NDArray[np.float64], sigma: NDArray[np.float64], parts: list[list[int]]
) -> list[_Stretch]:
    """Makes parts too short for a line outliers of their neighbours, and joins neighbours that lie on one line."""
    stretches: list[_Stretch] = []
    waiting: list[int] = []
    for part in parts:
        if len(part) < POINTS_MIN:
            waiting += part
            continue
        last = stretches[-1] if stretches else None
        if last is not None:
            apart = _squares(x, y, sigma, last.inside) + _squares(x, y, sigma, part)
            # The residuals of two lines are noise as well, and with few samples a better estimate of it.
            left = apart / max(1, len(last.inside) + len(part) - 2 * PARAMETERS)
            if _squares(x, y, sigma, last.inside + part) - apart <= penalty(len(x)) * max(1.0, left):
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


def _settle(
    x: NDArray[np.float64], y: NDArray[np.float64], floor: NDArray[np.float64], stretches: list[_Stretch]
) -> None:
    """Moves samples at the end of a noisy stretch that lie on the line of a quieter neighbour to it.

    How noisy the series is there was not known when it was cut.
    """
    for one, other in pairwise(stretches):
        for line, noisy, place in ((one, other, 0), (other, one, -1)):
            own, near = _own_noise(x, y, line.inside), _own_noise(x, y, noisy.inside)
            while len(noisy.inside) > POINTS_MIN and not other.outside and own < near:
                index = noisy.inside[place]
                fit = fit_line(x[line.inside], y[line.inside])
                if abs(y[index] - fit.predict(x[index])) > NEAR * max(own, floor[index]):
                    break
                line.inside.insert(len(line.inside) if place == 0 else 0, noisy.inside.pop(place))


def _own_noise(x: NDArray[np.float64], y: NDArray[np.float64], indices: list[int]) -> float:
    return deviation(fit_line(x[indices], y[indices]).residuals, fitted=0)


def _fits(
    x: NDArray[np.float64], y: NDArray[np.float64], indices: list[int], index: int, sigma: NDArray[np.float64]
) -> bool:
    fit = fit_line(x[indices], y[indices], sigma[indices])
    return bool(abs(y[index] - fit.predict(x[index])) <= NEAR * sigma[index])


def _squares(x: NDArray[np.float64], y: NDArray[np.float64], sigma: NDArray[np.float64], indices: list[int]) -> float:
    residuals = fit_line(x[indices], y[indices], sigma[indices]).residuals
    return float(((residuals / sigma[indices]) ** 2).sum())


def _piece(
    series: Sequence[Sample],
    inside: list[int],
    sigma: NDArray[np.float64],
    base_ns: float,
    resolution_ns: float,
    begins: bool,
) -> Piece:
    samples = [series[index] for index in inside]
    # Where a piece borders on another one, the change may lie in its outermost sample.
    first = int(inside[0] > 0 and len(inside) > 2 * POINTS_MIN)
    last = int(inside[-1] < len(series) - 1 and len(inside) > 2 * POINTS_MIN)
    fitted = inside[first : len(inside) - last]
    if begins and len(fitted) > 2 * POINTS_MIN:
        fitted = fitted[_straight_from(series, fitted, resolution_ns) :]
    x = np.array([series[index].at_s for index in fitted])
    sigmas = sigma[fitted]
    fit = fit_line(x, [series[index].mean_ns for index in fitted], sigmas)
    grain_ns = abs(fit.slope) * max(one.at_error_s for one in samples) + resolution_ns / 2
    # Few samples show their scatter badly (GUM G.3).
    own = fit.slope_error * correlation(fit.residuals / sigmas) * student(len(fitted) - PARAMETERS) / COVERAGE_FACTOR
    # A line that crosses many steps of the stamps meets all their phases from its beginning to its end.
    frames = sum(series[index].forwarded_frames for index in fitted)
    phases = tilt_share(fit.slope * (x[-1] - x[0]), frames, resolution_ns)
    tilt_ns = grain_ns - resolution_ns / 2 * (1 - phases)
    slope_error = math.hypot(own, GRAIN * tilt_ns / (x[-1] - x[0]))
    lost = sum(sample.lost_frames for sample in samples)
    span_s = samples[-1].at_s - samples[0].at_s
    rise_ns = abs(fit.slope) * span_s
    scatter_ns = deviation(fit.residuals, fitted=0)
    # The latency of a full buffer rises and falls by the time of a frame, as long as it takes to lose one: a part of
    # that is no filling.
    tooth_ns = _service_ns(samples) if lost else 0.0
    steep = abs(fit.slope) > SIGNIFICANT * slope_error and rise_ns > max(RESOLUTION_NS, scatter_ns, tooth_ns)
    level_ns = fit.predict((samples[0].at_s + samples[-1].at_s) / 2)
    if steep:
        meaning = "filling" if fit.slope > 0 else "draining"
    elif lost and level_ns - base_ns > max(RESOLUTION_NS, 2 * scatter_ns):
        meaning = FULL
    else:
        meaning = "losing frames" if lost else "flat"
    return Piece(tuple(samples), fit, slope_error, lost, meaning, grain_ns, x)


def _straight_from(series: Sequence[Sample], indices: list[int], resolution_ns: float) -> int:
    """The place of the first sample from which on all lie on the line of the later half.

    A queue that grows hides the jitter of the frames only once it is longer than that: before, latency grows faster.
    """
    x, y = (np.array([getattr(series[index], name) for index in indices]) for name in ("at_s", "mean_ns"))
    first = len(indices) // 2
    while first:
        fit = fit_line(x[first:], y[first:])
        square = float(((x[first:] - x[first:].mean()) ** 2).sum())
        far = math.sqrt(1 + 1 / len(fit.residuals) + (x[first - 1] - x[first:].mean()) ** 2 / square)
        grain_ns = max(resolution_ns / 2, abs(fit.slope) * series[indices[first - 1]].at_error_s)
        noise_ns = max(deviation(fit.residuals, fitted=PARAMETERS), grain_ns)
        if abs(y[first - 1] - fit.predict(x[first - 1])) > NEAR * far * noise_ns:
            break
        first -= 1
    return first


def _service_ns(samples: Sequence[Sample]) -> float:
    seconds = sum(sample.end_s - sample.start_s for sample in samples)
    return 1e9 * seconds / max(1, sum(sample.forwarded_frames for sample in samples))


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
    step_ns = other.fit.predict(at_s) - one.fit.predict(at_s)
    # A bend between two samples looks like a step of at most the change of slope over their distance.
    bend_ns = abs(other.fit.slope - one.fit.slope) * (other.samples[0].at_s - one.samples[-1].at_s) / 2
    # A queue grows by whole frames; where it is full, it falls by one whenever a frame is dropped.
    full_ns = max((piece.service_ns for piece in (one, other) if piece.meaning == FULL), default=0.0)
    error_ns = math.hypot(one.error_at(at_s), other.error_at(at_s))
    if abs(step_ns) <= max(RESOLUTION_NS, SIGNIFICANT * error_ns, bend_ns, full_ns):
        return None
    error_ns = math.hypot(error_ns, bend_ns / math.sqrt(3), min(one.service_ns, other.service_ns) / math.sqrt(3))
    return Jump(one.end_s, max(one.end_s, other.start_s), step_ns, error_ns)


def _bend(one: Piece, other: Piece) -> Bend:
    """Where two lines meet if they do, else between the last sample of one and the first of the other."""
    low_s, high_s = one.samples[-1].at_s, other.samples[0].at_s
    between = Bend((low_s + high_s) / 2, (high_s - low_s) / 2 / math.sqrt(3))
    change = one.fit.slope - other.fit.slope
    if _jump(one, other) is not None or abs(change) <= SIGNIFICANT * math.hypot(one.slope_error, other.slope_error):
        return between
    # A full buffer's mean latency is below the longest by half of the time of the frame that is dropped.
    grain_ns = max((piece.service_ns for piece in (one, other) if piece.meaning == FULL), default=0.0) / 2
    full_ns = grain_ns if other.meaning == FULL else -grain_ns
    at_s = (other.fit.constant + full_ns - one.fit.constant) / change
    margin_s = one.samples[-1].end_s - one.samples[-1].start_s
    if not low_s - margin_s <= at_s <= high_s + margin_s:
        return between
    error_ns = math.hypot(one.error_at(at_s), other.error_at(at_s), DROPS * grain_ns, _scatter_ns(one, other))
    # It cannot be known better than to a frame.
    return Bend(at_s, math.hypot(error_ns / abs(change), min(one.service_ns, other.service_ns) * 1e-9 / math.sqrt(3)))


def _filled(one: Piece, other: Piece, drop: FirstDrop | None) -> Bend | None:
    """A buffer is full when it first drops a frame: None where a loss does not tell when that was."""
    if drop is None or one.meaning != "filling" or other.meaning != FULL:
        return None
    around = [sample for piece in (one, other) for sample in piece.samples if sample.end_s >= one.samples[-1].start_s]
    if not around[0].start_s <= drop.at_s <= other.samples[0].end_s:
        return None
    # Times are those of arrivals, and the frame that comes last into a full buffer waits longest.
    full_s = drop.at_s + max(sample.max_ns for sample in (one.samples[-1], *other.samples)) * 1e-9
    return Bend(full_s, math.hypot(one.service_ns * 1e-9 / math.sqrt(3), drop.scatter_s))


def _scatter_ns(one: Piece, other: Piece) -> float:
    """Standard error of where a line meets an even latency that scatters: a queue begins at some frame's latency."""
    even = [piece for piece in (one, other) if piece.meaning == "flat"]
    widths = [float(np.median([sample.max_ns - sample.min_ns for sample in piece.samples])) for piece in even]
    return max(widths, default=0.0) / math.sqrt(12)


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
    excess, grain = np.zeros(len(samples)), np.zeros(len(samples))

    def exceeds(index: int, line: Piece) -> float:
        sample, slope = samples[index], line.fit.slope
        # The line ends an interval as high, and the next frame would be as much higher, as its slope says.
        grain[index] = abs(slope) * sample.gap_s
        return sample.max_ns - line.fit.predict(sample.end_s if slope > 0 else sample.start_s)

    for stretch, piece, before in zip(stretches, found, [None, *found], strict=False):
        for index in stretch.inside:
            excess[index] = exceeds(index, piece)
        for index in stretch.outside:
            excess[index] = exceeds(index, before if before is not None and index < stretch.inside[0] else piece)
        # At the link's full rate latency keeps the step: the first sample of a later line may hold it.
        first = stretch.inside[0]
        if before is not None and not any(index < first for index in stretch.outside):
            excess[first] = max(excess[first], exceeds(first, before))
    middle = float(np.median(excess))
    spread = max(1.4826 * float(np.median(np.abs(excess - middle))), RESOLUTION_NS)
    # A full buffer rises by the time of a frame until it loses one, and falls by it: that is no wait for a stall.
    tooth_ns = TEETH * _service_ns(samples) if any(one.lost_frames for one in samples) else 0.0
    return {
        index: wait_ns - middle
        for index, wait_ns in enumerate(excess.tolist())
        if wait_ns > middle + max(OUTLYING * max(spread, grain[index]), tooth_ns)
    }
