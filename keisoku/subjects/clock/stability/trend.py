"""Frequency offset and linear drift of a clock, with uncertainties that its kind of noise gives them.

Ordinary least squares on phase; its errors are those under power-law noise, not under white noise, because the
residuals of a clock are never white for long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics.uncertainty import student
from keisoku.subjects.clock.stability.deviation import deviation
from keisoku.subjects.clock.stability.freedom import ADEV, CONFIDENCE, HDEV, freedom
from keisoku.subjects.clock.stability.noise import identify
from keisoku.subjects.clock.stability.power_law import Floats, phase_covariance

BLOCKS_MAX = 240
"""Phase is averaged over so many blocks first; more would change nothing but the time it takes."""
_BLOCKS_MIN = 48
_LEVEL_SHARE = 12
"""The level of the noise is taken at this share of the whole span, the longest at which the HDEV is well known."""


@dataclass(frozen=True)
class Trend:
    """Expanded uncertainties (95 %); None if there are too few points to know them."""

    offset: float
    """Mean fractional frequency over the stretch."""
    offset_uncertainty: float | None
    drift: float
    """Of fractional frequency, per s."""
    drift_uncertainty: float | None


def trend(phase_s: Floats, tau0_s: float) -> Trend:
    """Of one stretch of phase; missing points (NaN) are left out. Raises ValueError for fewer than 3 phases."""
    m = max(1, len(phase_s) // BLOCKS_MAX)
    if np.count_nonzero(np.isfinite(phase_s)) < 3:
        raise ValueError("a trend needs three phases")
    blocks = _blocks(phase_s, m) if m > 1 else phase_s
    present = np.flatnonzero(np.isfinite(blocks))
    if len(present) < 3:
        raise ValueError("a trend needs three phases")
    at = present * (m * tau0_s)
    middle, unit = (at[0] + at[-1]) / 2, (at[-1] - at[0]) / 2
    scaled = (at - middle) / unit
    line, parabola = (np.linalg.pinv(np.vander(scaled, order + 1, increasing=True)) for order in (1, 2))
    offset = float(line[1] @ blocks[present]) / unit
    drift = 2.0 * float(parabola[2] @ blocks[present]) / unit**2
    noise = _noise(blocks, m * tau0_s) if len(present) >= _BLOCKS_MIN else None
    if noise is None:
        return Trend(offset, None, drift, None)
    alpha, level, factor = noise
    # Covariances hold per block; places of missing blocks are left out of them.
    covariance = level * phase_covariance((present[:, None] - present[None, :]).astype(np.float64), alpha, 1.0)
    drift_error = _error(parabola[2], covariance) * 2.0 / unit**2
    if alpha >= 0:
        return Trend(offset, factor * _error(line[1], covariance) / unit, drift, factor * drift_error)
    # The frequency of such a clock has no mean to be estimated: what it does between long windows stands for it.
    window = len(present) // _LEVEL_SHARE
    wander = deviation(ADEV, [blocks], window, m * tau0_s)
    return Trend(offset, factor * wander, drift, factor * drift_error)


def _error(weights: Floats, covariance: Floats) -> float:
    return math.sqrt(max(0.0, float(weights @ covariance @ weights)))


def _noise(blocks: Floats, tau_s: float) -> tuple[int, float, float] | None:
    """α at long averaging times, what the covariance is multiplied by, and k for 95 %; None if it cannot be told.

    k is Student's, for the degrees of freedom of the deviation that the level was taken from.
    """
    found = [alpha for m in (1, 2, 4) if (alpha := identify(blocks, m)) is not None]
    window = max(1, len(blocks) // _LEVEL_SHARE)
    observed = deviation(HDEV, [blocks], window, tau_s)  # which is blind to a drift
    if not found or not observed > 0:
        return None
    alpha = min(found)
    zero, one, two, three = phase_covariance(window * np.arange(4.0), alpha, 1.0)
    expected = (20.0 * zero - 30.0 * one + 12.0 * two - 2.0 * three) / (6.0 * (window * tau_s) ** 2)
    factor = student(freedom(HDEV, alpha, window, len(blocks)), CONFIDENCE)
    return alpha, observed**2 / expected, factor


def _blocks(phase: Floats, m: int) -> Floats:
    """Phase in the middle of every m points; NaN where less than half as many are there as in the usual block.

    A block that lacks some has its mean elsewhere than in its middle: a parabola is taken away before, and given back
    in the middle. Those with few points, such as the last one, are noisier than the covariance of all says.
    """
    size = -(-len(phase) // m) * m
    at = np.linspace(-1.0, 1.0, size)
    present = np.isfinite(phase)
    fit = np.polynomial.polynomial.polyfit(at[: len(phase)][present], phase[present], 2)
    curve = np.polynomial.polynomial.polyval(at, fit)
    table = np.append(phase, np.full(size - len(phase), np.nan)) - curve
    there = np.isfinite(table.reshape(-1, m))
    counts = there.sum(axis=1)
    sums = np.where(there, table.reshape(-1, m), 0.0).sum(axis=1)
    return np.where(
        2 * counts >= np.median(counts[counts > 0]),
        sums / np.maximum(counts, 1) + curve.reshape(-1, m).mean(axis=1),
        np.nan,
    )
