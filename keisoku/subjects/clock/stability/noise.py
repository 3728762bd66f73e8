"""Which power-law noise dominates phase at an averaging time, by its lag-1 autocorrelation.

W. J. Riley and C. A. Greenhall, "Power law noise identification using the lag 1 autocorrelation", EFTF 2004.
"""

from __future__ import annotations

import math

import numpy as np

from keisoku.subjects.clock.stability.power_law import Floats

POINTS_MIN = 30
"""Least number of phases for an identification (Riley and Greenhall, §4)."""
_POINTS_MAX = 65_536
"""More phases do not improve the identification."""
_ALPHA_MIN, _ALPHA_MAX = -2, 2


def identify(phase: Floats, m: int, averaged: bool = False) -> int | None:
    """The exponent α of the noise at τ = m·τ0; None if fewer than 30 phases remain when every m-th is taken.

    `averaged`: means of every m phases are taken instead, as a modified deviation sees the clock. A parabola
    (offsets of time and frequency, linear drift) is taken away before. What is missing is left out.
    """
    taken = (_block_means(phase, m) if averaged and m > 1 else phase[::m])[:_POINTS_MAX]
    present = np.isfinite(taken)
    if np.count_nonzero(present) < POINTS_MIN:
        return None
    at = np.linspace(-1.0, 1.0, len(taken))
    fit = np.polynomial.polynomial.polyfit(at[present], taken[present], 2)
    series = taken - np.polynomial.polynomial.polyval(at, fit)
    differenced = 0
    while True:
        correlation = _lag1(series)
        if correlation is None:
            return None
        # Fractional integration of order δ has this lag-1 correlation; below 1/4 it is stationary.
        delta = correlation / (1.0 + correlation) if correlation > -1.0 else -math.inf
        if delta < 0.25 or differenced == 2:
            break
        series, differenced = np.diff(series), differenced + 1
    exponent = -2.0 * (delta + differenced)  # of S_x
    return int(np.clip(round(exponent + 2.0), _ALPHA_MIN, _ALPHA_MAX)) if math.isfinite(exponent) else _ALPHA_MAX


def _block_means(phase: Floats, m: int) -> Floats:
    return np.asarray(phase[: len(phase) // m * m].reshape(-1, m).mean(axis=1))


def _lag1(series: Floats) -> float | None:
    """None for a constant."""
    present = np.isfinite(series)
    if np.count_nonzero(present) < POINTS_MIN // 2:
        return None
    around = np.where(present, series - series[present].mean(), 0.0)
    pairs = np.count_nonzero(present[1:] & present[:-1])
    power = float(np.dot(around, around)) / np.count_nonzero(present)
    if power == 0.0 or pairs == 0:
        return None
    return float(np.dot(around[1:], around[:-1])) / pairs / power
