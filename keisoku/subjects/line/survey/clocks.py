"""How well the clocks of both ends agree in rate, from one-way times of an idle line. It does no I/O."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import student
from keisoku.subjects.line.responsiveness.outcome import Outcome
from keisoku.subjects.line.responsiveness.queue import Floor

FEWEST = 3
"""Idle times that a line through them, and how far they are from it, needs."""


def runs_fast(idle: Sequence[Outcome]) -> Quantity | None:
    """By how much the far clock runs faster than the near one, in ppm; None if there are too few idle times.

    Half of the difference of both ways' least times: what a path does to both ways alike cancels.
    """
    floor = Floor.from_idle(idle)
    if floor is None or len(floor.at_ns) < FEWEST:
        return None
    ahead = (floor.least_ns["up"] - floor.least_ns["down"]) / 2
    at = floor.at_ns - floor.at_ns.mean()
    spread = float((at**2).sum())
    if spread <= 0:
        return None
    slope = float((at * ahead).sum()) / spread
    off = ahead - ahead.mean() - slope * at
    error = float(np.sqrt((off**2).sum() / (len(at) - 2) / spread))
    return Quantity(value=1e6 * slope, unit="ppm", uncertainty=1e6 * student(len(at) - 2) * error)
