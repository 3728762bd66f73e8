"""Tukey's biweight estimate of the centre of many differences, and its interval.

It gives no weight to differences far out, so it needs fewer pairs than the signed ranks where many are disturbed
(`benchmarks/detection/paired.py`). Its interval is not exact as theirs is, and needs `LEAST` differences. Hoaglin,
Mosteller and Tukey, Understanding Robust and Exploratory Data Analysis, chapters 11 and 12; Kafadar, Journal of
Research of the NBS 88 (1983).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.distribution import student_quantile

LEAST = 40
"""From so many differences on, intervals covered as promised (`benchmarks/detection/paired.py`)."""
_TUNING = 5.0
"""Differences that are farther from the centre than so many median absolute deviations have no weight."""
_FREEDOM = 0.7
"""Degrees of freedom of Student's t, as a share of those of a mean (Kafadar)."""
_STEPS = 50
_CLOSE = 1e-9
"""The estimate has settled when it moves by less than this share of the spread."""

Differences = NDArray[np.float64]


def centre(differences: Differences) -> tuple[float, float] | None:
    """The estimate and its standard error; None if half of the differences or more are equal, or all weights vanish.

    Differences are finite, at least one.
    """
    estimate = float(np.median(differences))
    spread = float(np.median(np.abs(differences - estimate)))
    if spread == 0:
        return None
    for _ in range(_STEPS):
        far = (differences - estimate) / (_TUNING * spread)
        weights = np.where(np.abs(far) < 1, (1 - far**2) ** 2, 0.0)
        moved = float(np.average(differences, weights=weights)) - estimate
        estimate += moved
        if abs(moved) < _CLOSE * spread:
            break
    off = differences - estimate
    far = off / (_TUNING * spread)
    near = np.abs(far) < 1
    slope = float(((1 - far**2) * (1 - 5 * far**2))[near].sum())
    if slope <= 0:
        return None
    return estimate, math.sqrt(float((off**2 * (1 - far**2) ** 4)[near].sum())) / slope


def interval(differences: Differences, error: float) -> tuple[float, float, float] | None:
    """Centre, and lower and upper end of the interval that misses it with a probability of `error`; None as above, and
    for fewer than `LEAST` differences or infinite ones."""
    if len(differences) < LEAST or not np.isfinite(differences).all():
        return None
    found = centre(differences)
    if found is None:
        return None
    estimate, standard_error = found
    half = standard_error * student_quantile(_FREEDOM * (len(differences) - 1), 1 - error / 2)
    return estimate, estimate - half, estimate + half
