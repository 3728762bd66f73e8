"""Latency that grows through a trial without loss: how fast, and whose clock or rate it is.

Pure; a cause is named only where what was measured tells it from the others.
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


@dataclass(frozen=True)
class Drift:
    """Slope of latency over time in ns/s with its standard error (k = 1); 1 ns/s is 0.001 ppm."""

    slope: float
    error: float
    seconds: float
    """Of a trial: what is below a nanosecond in that time is nothing."""

    @property
    def ppm(self) -> float:
        """By how much frames leave more slowly than they come."""
        return self.slope * 1e-3

    @property
    def ppm_error(self) -> float:
        """Standard error (k = 1) of `ppm`."""
        return self.error * 1e-3

    @property
    def is_there(self) -> bool:
        """True if the slope differs from nothing."""
        return abs(self.slope) > max(SIGNIFICANT * self.error, RESOLUTION_NS / self.seconds)


def drift(trials: Sequence[Sequence[Sample]]) -> Drift | None:
    """The mean slope of several trials; None if none has samples enough for an error.

    Its error is the larger of what the residuals and what the differences between trials say.
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


def difference(one: Drift, other: Drift) -> Drift:
    """What `one` has and `other` has not."""
    return Drift(one.slope - other.slope, math.hypot(one.error, other.error), min(one.seconds, other.seconds))


def cause(at_rate: Drift, lowered: Drift | None, lost: bool, below_line_ppm: float | None) -> str:
    """Why latency changes through a trial, in a few words.

    `lowered` is the same at a lower rate, where a queue no longer grows; `lost` tells whether frames were lost at the
    first rate; `below_line_ppm` is how far the rate at which frames leave lies below the link's (None: it has none).
    """
    if not at_rate.is_there:
        return "frames are lost, no drift" if lost else "no drift"
    if lowered is not None and lowered.is_there:
        left = difference(at_rate, lowered)
        same = abs(left.slope) <= max(SIGNIFICANT * left.error, RESOLUTION_NS / left.seconds)
        if same:
            # No queue: it would depend on the rate. The stamps drift, not the frames.
            return "the tester's two clocks"
        if lowered.slope * at_rate.slope < 0:
            return "a queue, which is worked off at the lower rate"
        return "a queue, and the tester's two clocks beside it or a rate still too high"
    if at_rate.slope < 0:
        return "a backlog from before is worked off"
    if lowered is None:
        return "a queue or the tester's two clocks: only a lower rate could tell"
    if below_line_ppm is None:
        return "a queue; the link has no rate that could tell a clock from a slow device"
    if below_line_ppm > TOLERANCE_PPM:
        return "the device forwards at a lower rate"
    return "frames are lost: the clocks' surplus has filled the buffer" if lost else "the clocks differ"
