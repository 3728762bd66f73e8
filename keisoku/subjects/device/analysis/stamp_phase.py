"""What the steps of timestamps leave in a figure of many frames: all of it or nothing, by the phases that frames meet.

A mean over frames that leave at any phase of the clock is as good as if stamps had no steps; where every frame leaves
at the same phase, each has the same error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keisoku.subjects.device.analysis.shape import moments
from keisoku.subjects.device.record.counts import Latency

WIDE = 2.0
"""Steps that latencies must reach beyond a percentile on both sides: nearer to the end of a distribution, each frame's
error of up to a step may be that of the percentile."""
FRAMES_MOST = 100_000
"""Enough to show phases that repeat; more would only show that the rest is smaller still."""


def phase_share(gap: float, frames: int) -> float:
    """Largest error of a mean as a share of the step of the stamps: 1 if all frames have one phase, 1 / q for q phases.

    `gap` is the time between frames in steps. It is the discrepancy of the phases on the circle: how much more or
    fewer of them any arc can hold than its length says (Kuipers and Niederreiter, Uniform Distribution of Sequences,
    §2.1).
    """
    count = min(frames, FRAMES_MOST)
    if count < 1:
        return 1.0
    # Phases that are one but for the rounding of the gap are one; a phase just below the step is that of the step.
    phases = np.sort(np.round(np.arange(count) * gap % 1.0, 9) % 1.0)
    places = np.arange(count)
    above = ((places + 1) / count - phases).max()
    below = (phases - places / count).max()
    return float(min(1.0, above + below))


def tilt_share(growth_ns: float, frames: int, step_ns: float) -> float:
    """By how much steps of the stamps can tilt a line through latencies that grow by `growth_ns` over so many frames,
    as a share of a step at its ends.

    All of it if the latencies cross one step or none; where they cross many, each part of the line meets all phases.
    A growth by whole steps from frame to frame crosses none.
    """
    if not step_ns or frames < 1:
        return 1.0
    each = abs(growth_ns) / frames / step_ns
    return min(1.0, 1 / max(1e-9, frames * abs(each - round(each))))


def percentile_share(value_ns: float, latencies: Sequence[Latency], step_ns: float, mean_share: float) -> float:
    """Largest error of a percentile as a share of the step of the stamps; `mean_share` is that of the mean.

    A stamped latency is below a multiple of the step as often as the true one is below the middle before it, where
    frames meet all phases and latencies lie evenly over some steps: then it is off by half a step at most. The stamps
    also widen the distribution, by a variance of 1/6 of the step's square (two errors of rounding), which moves a
    percentile the further from the mean it is.
    """
    known = moments(latencies)
    if step_ns == 0 or min(value_ns - known.min_ns, known.max_ns - value_ns) < WIDE * step_ns:
        return 1.0
    wider = step_ns**2 / 6
    square = known.deviation_ns**2
    moved = abs(value_ns - known.mean_ns) * (1 - math.sqrt(max(0.0, 1 - wider / square))) if square else step_ns
    return min(1.0, (1 + mean_share) / 2 + moved / step_ns)
