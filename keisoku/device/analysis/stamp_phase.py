"""What the steps of timestamps leave in the mean of many frames: all of it or nothing, by the phases that frames meet.

A mean over frames that leave at any phase of the clock is as good as if stamps had no steps; where every frame leaves
at the same phase, each has the same error.
"""

from __future__ import annotations

import numpy as np

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
