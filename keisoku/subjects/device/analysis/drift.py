"""Latency that grows during a trial without loss: how fast it grows, and which clock or rate is the cause.

A cause is named only where the measurement distinguishes it from the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.line_fit import POINTS_MIN, fit_line
from keisoku.ground.statistics.uncertainty import COVERAGE_FACTOR, deviation, rectangular, student
from keisoku.language import phrase
from keisoku.subjects.device.analysis.behaviour import RESOLUTION_NS, SIGNIFICANT, correlation
from keisoku.subjects.device.analysis.group_line import exceeds
from keisoku.subjects.device.analysis.samples import Sample
from keisoku.subjects.device.analysis.stamp_phase import tilt_share

TOLERANCE_PPM = 200.0
"""IEEE 802.3: each of two clocks may be off by ±100 ppm."""

MARGIN_PPM = 10.0
"""How far below the slowest port a load lies that no queue grows at, besides twice the standard error of the drift."""
ARITHMETIC_NS = 0.001
"""Latencies are kept to the picosecond."""
STEP_REACH = 1.5
"""Largest slope that errors within ± half a step can give to a line, in steps over its length."""
NEAR = 4.0
"""A sample belongs to the line of the later ones if it lies within so many standard deviations of it."""
PARTS = 3
WANDERS = 8.0
"""A slope changes beyond chance if those of parts of a trial differ by more than so many standard errors of one."""
WANDER_PPM = 0.5
"""A crystal's frequency may change by so much."""
CHANCE = 1e-4
"""How often samples without a trend may seem to have one: one of a thousand sweeps of ten sizes."""


@dataclass(frozen=True)
class Drift:
    """Slope of latency over the time at which frames are due, in ns/s, with its standard error (k = 1); 1 ns/s is
    0.001 ppm."""

    slope: float
    error: float
    seconds: float
    """Length of the trial: a change below a nanosecond in that time is not significant."""
    wander: float = 0.0
    """By how much the slope changes during a trial (k = 1); 0 where it does not beyond chance. The mean over the trial
    is there all the same."""

    @property
    def ppm(self) -> float:
        """By how much departures are farther apart than arrivals."""
        return self.slope * 1e-3

    @property
    def ppm_error(self) -> float:
        """Standard error (k = 1) of `ppm` at any time of the trials."""
        return self.reach * 1e-3

    @property
    def reach(self) -> float:
        """Standard error (k = 1) of the slope at any time of the trials, in ns/s."""
        return math.hypot(self.error, self.wander)

    @property
    def is_there(self) -> bool:
        """True if the slope differs significantly from zero."""
        return abs(self.slope) > max(SIGNIFICANT * self.error, RESOLUTION_NS / self.seconds)


def drift(trials: Sequence[Sequence[Sample]], resolution_ns: float = 0.0) -> Drift | None:
    """The mean slope of several trials; None if no trial has enough samples for a standard error.

    The first samples of a trial are left out where they do not lie on the line of the others: a queue that grows hides
    the jitter of the frames only once it is longer. The standard error, enlarged by Student's factor, is that of the
    residuals, or of the differences between trials where these are larger than the residuals explain (an F test).
    """
    fits = [_fit(samples, resolution_ns) for samples in trials if len(samples) >= POINTS_MIN]
    if not fits:
        return None
    slopes = np.array([slope for slope, _, _ in fits])
    squares = np.array([error**2 for _, error, _ in fits])
    freedom = sum(freedom for _, _, freedom in fits)
    count = len(fits)
    error = math.sqrt(float(squares.sum())) / count * student(freedom) / COVERAGE_FACTOR
    if count > 1:
        between, within = deviation(slopes) ** 2, float(squares.mean())
        if exceeds(between, count - 1, within, freedom):
            error = math.sqrt(between / count) * student(count - 1) / COVERAGE_FACTOR
        elif exceeds(within, freedom, between, count - 1):
            # Trials agree better than chance would have it: their errors are the same, and do not average.
            error *= math.sqrt(count)
    seconds = max(samples[-1].end_s - samples[0].start_s for samples in trials if samples)
    slope = float(slopes.mean())
    # Steps that a growth crosses at most once move all later samples alike.
    frames = min(sum(one.forwarded_frames for one in samples) for samples in trials if samples)
    steps_ns = (resolution_ns, ARITHMETIC_NS)
    unseen_ns = [step_ns * tilt_share(slope * seconds, frames, step_ns) for step_ns in steps_ns]
    unseen = STEP_REACH * max(unseen_ns) / seconds
    wander = max(_wander(samples, slope) for samples in trials if len(samples) >= POINTS_MIN)
    return Drift(slope, math.hypot(error, rectangular(unseen)), seconds, wander)


def _wander(samples: Sequence[Sample], slope: float) -> float:
    """By how much the slope of parts of a trial differs from `slope` (k = 1), if they differ beyond chance; in ns/s.

    A queue that is shorter than the jitter grows otherwise at first, so only the later half decides.
    """
    x, y = np.array([one.at_s for one in samples]), np.array([one.mean_ns for one in samples])
    half = len(samples) // 2
    if len(samples) - half < PARTS * POINTS_MIN:
        return 0.0
    parts = [fit_line(x[part], y[part]) for part in np.array_split(np.arange(half, len(x)), PARTS)]
    slopes = [part.slope for part in parts]
    error = math.sqrt(sum((part.slope_error * correlation(part.residuals)) ** 2 for part in parts) / PARTS)
    grain = RESOLUTION_NS / (x[-1] - x[half]) * PARTS
    if max(slopes) - min(slopes) <= max(WANDERS * error, grain, WANDER_PPM * 1e3):
        return 0.0
    local = [fit_line(x[part], y[part]).slope for part in np.array_split(np.arange(1, len(x)), 2 * PARTS)]
    return max(abs(one - slope) for one in local) / COVERAGE_FACTOR


def _fit(samples: Sequence[Sample], resolution_ns: float) -> tuple[float, float, int]:
    """Slope, its standard error, and degrees of freedom, of the samples from where on they lie on one line."""
    x, y = np.array([one.at_s for one in samples]), np.array([one.mean_ns for one in samples])
    first = len(samples) // 2
    while first and first > len(samples) - POINTS_MIN:
        first -= 1
    fit = fit_line(x[first:], y[first:])
    # A sample in which latency grows by many steps of the stamps averages them out.
    grown_ns = max(ARITHMETIC_NS, abs(fit.slope) * float(np.median(np.diff(x))))
    steps_ns = resolution_ns / 4 * min(1.0, resolution_ns / grown_ns)
    scatter_ns = max(deviation(fit.residuals, fitted=2), ARITHMETIC_NS, steps_ns)
    while first and abs(y[first - 1] - fit.predict(x[first - 1])) <= NEAR * scatter_ns * _far(x[first:], x[first - 1]):
        first -= 1
        fit = fit_line(x[first:], y[first:])
    if len(samples) - first > 2 * POINTS_MIN:
        # The queue may have grown past the jitter within the first sample that is near the line.
        first += 1
        fit = fit_line(x[first:], y[first:])
    return fit.slope, fit.slope_error * correlation(fit.residuals), len(samples) - first - 2


def _far(x: NDArray[np.float64], at: float) -> float:
    """Standard error of a new sample at `at` about the line of those at `x`, in standard deviations of one."""
    return math.sqrt(1 + 1 / len(x) + (at - x.mean()) ** 2 / float(((x - x.mean()) ** 2).sum()))


def trend(samples: Sequence[Sample]) -> Drift | None:
    """How latency changes during one trial, or None if chance could do as much.

    Stricter than `Drift.is_there`, because it is asked of each of many trials.
    """
    if len(samples) < POINTS_MIN:
        return None
    fit = fit_line([sample.at_s for sample in samples], [sample.mean_ns for sample in samples])
    seconds = samples[-1].end_s - samples[0].start_s
    found = Drift(fit.slope, fit.slope_error * correlation(fit.residuals), seconds)
    significant = abs(found.slope) > _limit(len(samples) - 2) * found.error
    return found if significant and abs(found.slope) * seconds > RESOLUTION_NS else None


def _limit(freedom: int) -> float:
    """Standard errors that a slope of independent samples exceeds with a probability of `CHANCE` (Student's t)."""
    from keisoku.ground.statistics.distribution import student_quantile  # not needed before the first frame

    return student_quantile(freedom, 1 - CHANCE / 2)


def difference(one: Drift, other: Drift) -> Drift:
    """`one` less `other`."""
    wander = math.hypot(one.wander, other.wander)
    return Drift(one.slope - other.slope, math.hypot(one.error, other.error), min(one.seconds, other.seconds), wander)


def is_same(one: Drift, other: Drift) -> bool:
    """Whether the two differ by no more than their errors and the resolution."""
    left = difference(one, other)
    return abs(left.slope) <= max(SIGNIFICANT * left.reach, RESOLUTION_NS / left.seconds)


def cause(at_rate: Drift, lowered: Drift | None, lost: bool, below_line_ppm: float | None) -> str:
    """Why latency changes during a trial, in a few words.

    `lowered` is the drift at a lower rate, where a queue no longer grows; `lost` tells whether frames were lost at the
    first rate; `below_line_ppm` is how far the rate at which frames leave lies below the link's (None: it has none).
    """
    if not at_rate.is_there:
        return phrase("frames are lost, no drift") if lost else phrase("no drift")
    if lowered is not None and lowered.is_there:
        if is_same(at_rate, lowered):
            # There is no queue, as its growth would depend on the rate: the timestamps drift.
            return phrase("the tester's two clocks")
        if lowered.slope * at_rate.slope < 0:
            return phrase("a queue, which drains at the lower rate")
        return phrase("a queue, and also the tester's two clocks or a rate that is still too high")
    if at_rate.slope < 0:
        return phrase("a queue from before the trial drains")
    if lowered is None:
        return phrase("a queue or the tester's two clocks: only a trial at a lower rate can distinguish them")
    if below_line_ppm is None:
        return phrase("a queue; its cause is unknown because the link has no nominal speed")
    if below_line_ppm > TOLERANCE_PPM:
        return phrase("the device forwards at a lower rate")
    return (
        phrase("frames are lost: the clocks differ, which has filled the buffer")
        if lost
        else phrase("the clocks differ")
    )
