"""Latency that grows during a trial without loss: how fast it grows, and which clock or rate is the cause.

A cause is named only where the measurement distinguishes it from the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.analysis.line import POINTS_MIN, fit_line
from keisoku.device.analysis.behaviour import RESOLUTION_NS, SIGNIFICANT, correlation
from keisoku.device.analysis.samples import Sample

TOLERANCE_PPM = 200.0
"""IEEE 802.3: each of two clocks may be off by ±100 ppm."""

MARGIN_PPM = 10.0
"""How far below the slowest port a load lies that no queue grows at, besides twice the standard error of the drift."""
CHANCE = 1e-4
"""How often samples without a trend may seem to have one: one of a thousand sweeps of ten sizes."""


@dataclass(frozen=True)
class Drift:
    """Slope of latency over time in ns/s with its standard error (k = 1); 1 ns/s is 0.001 ppm."""

    slope: float
    error: float
    seconds: float
    """Length of the trial: a change below a nanosecond in that time is not significant."""

    @property
    def ppm(self) -> float:
        """By how much the rate of departures is below the rate of arrivals."""
        return self.slope * 1e-3

    @property
    def ppm_error(self) -> float:
        """Standard error (k = 1) of `ppm`."""
        return self.error * 1e-3

    @property
    def is_there(self) -> bool:
        """True if the slope differs significantly from zero."""
        return abs(self.slope) > max(SIGNIFICANT * self.error, RESOLUTION_NS / self.seconds)


def drift(trials: Sequence[Sequence[Sample]]) -> Drift | None:
    """The mean slope of several trials; None if no trial has enough samples for a standard error.

    Its standard error is estimated from the residuals and from the differences between trials; the larger one counts.
    """
    fits = []
    for samples in trials:
        if len(samples) >= POINTS_MIN:
            fit = fit_line([sample.at_s for sample in samples], [sample.mean_ns for sample in samples])
            fits.append((fit.slope, fit.slope_error * correlation(fit.residuals)))
    if not fits:
        return None
    slopes = [slope for slope, _ in fits]
    within = math.sqrt(sum(error**2 for _, error in fits)) / len(fits)
    between = float(np.std(slopes, ddof=1)) / math.sqrt(len(fits)) if len(fits) > 1 else 0.0
    seconds = max(samples[-1].end_s - samples[0].start_s for samples in trials if samples)
    return Drift(sum(slopes) / len(slopes), max(within, between), seconds)


def trend(samples: Sequence[Sample]) -> Drift | None:
    """How latency changes during one trial, or None if chance could do as much.

    Stricter than `Drift.is_there`, because it is asked of each of many trials.
    """
    found = drift([samples])
    if found is None:
        return None
    change_ns = abs(found.slope) * found.seconds
    limit = _limit(len(samples) - 2)
    return found if abs(found.slope) > limit * found.error and change_ns > RESOLUTION_NS else None


def _limit(freedom: int) -> float:
    """Standard errors that a slope of independent samples exceeds with a probability of `CHANCE` (Student's t)."""
    from scipy import special  # takes a while to load, and not every command needs it

    return float(special.stdtrit(freedom, 1 - CHANCE / 2))


def difference(one: Drift, other: Drift) -> Drift:
    """`one` less `other`."""
    return Drift(one.slope - other.slope, math.hypot(one.error, other.error), min(one.seconds, other.seconds))


def cause(at_rate: Drift, lowered: Drift | None, lost: bool, below_line_ppm: float | None) -> str:
    """Why latency changes during a trial, in a few words.

    `lowered` is the drift at a lower rate, where a queue no longer grows; `lost` tells whether frames were lost at the
    first rate; `below_line_ppm` is how far the rate at which frames leave lies below the link's (None: it has none).
    """
    if not at_rate.is_there:
        return "frames are lost, no drift" if lost else "no drift"
    if lowered is not None and lowered.is_there:
        left = difference(at_rate, lowered)
        same = abs(left.slope) <= max(SIGNIFICANT * left.error, RESOLUTION_NS / left.seconds)
        if same:
            # There is no queue, as its growth would depend on the rate: the timestamps drift.
            return "the tester's two clocks"
        if lowered.slope * at_rate.slope < 0:
            return "a queue, which drains at the lower rate"
        return "a queue, and also the tester's two clocks or a rate that is still too high"
    if at_rate.slope < 0:
        return "a queue from before the trial drains"
    if lowered is None:
        return "a queue or the tester's two clocks: only a trial at a lower rate can distinguish them"
    if below_line_ppm is None:
        return "a queue; its cause is unknown because the link has no rate of its own"
    if below_line_ppm > TOLERANCE_PPM:
        return "the device forwards at a lower rate"
    return "frames are lost: the clocks differ, which has filled the buffer" if lost else "the clocks differ"
