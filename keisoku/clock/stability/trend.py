"""Frequency offset and linear drift of a clock, with uncertainties that its kind of noise gives them.

Ordinary least squares on phase; its errors are those under power-law noise, not under white noise, because the
residuals of a clock are not white over long times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keisoku.clock.stability.deviation import deviation
from keisoku.clock.stability.freedom import ADEV, HDEV
from keisoku.clock.stability.noise import identify
from keisoku.clock.stability.power_law import Floats, phase_covariance

BLOCKS_MAX = 240
"""Phase is averaged over so many blocks first; more would change nothing but the time it takes."""
_BLOCKS_MIN = 48
_LEVEL_SHARE = 12
"""The level of the noise is taken at this share of the whole span, the longest at which the HDEV is well known."""


@dataclass(frozen=True)
class Trend:
    """Expanded uncertainties (k = 2); None if there are too few points to know them."""

    offset: float
    """Mean fractional frequency over the stretch."""
    offset_uncertainty: float | None
    drift: float
    """Of fractional frequency, per s."""
    drift_uncertainty: float | None


def trend(phase_s: Floats, tau0_s: float) -> Trend:
    """Of one stretch of phase; missing points (NaN) are left out. Raises ValueError for fewer than 3 phases."""
    m = max(1, len(phase_s) // BLOCKS_MAX)
    at, blocks = _blocks(phase_s, m, tau0_s)
    if len(at) < 3:
        raise ValueError("a trend needs three phases")
    middle, unit = (at[0] + at[-1]) / 2, (at[-1] - at[0]) / 2
    scaled = (at - middle) / unit
    line, parabola = (np.linalg.pinv(np.vander(scaled, order + 1, increasing=True)) for order in (1, 2))
    offset = float(line[1] @ blocks) / unit
    drift = 2.0 * float(parabola[2] @ blocks) / unit**2
    noise = _noise(_gridded(phase_s, m), m * tau0_s) if len(at) >= _BLOCKS_MIN else None
    if noise is None:
        return Trend(offset, None, drift, None)
    alpha, level = noise
    # Covariances hold per block; places of missing blocks are left out of them.
    place = np.rint((at - at[0]) / (m * tau0_s))
    covariance = level * phase_covariance(place[:, None] - place[None, :], alpha, 1.0)
    drift_error = _error(parabola[2], covariance) * 2.0 / unit**2
    if alpha >= 0:
        return Trend(offset, 2.0 * _error(line[1], covariance) / unit, drift, 2.0 * drift_error)
    # The frequency of such a clock has no mean; its change between long windows is used instead.
    window = len(at) // _LEVEL_SHARE
    wander = deviation(ADEV, [_gridded(phase_s, m)], window, m * tau0_s)
    return Trend(offset, 2.0 * wander, drift, 2.0 * drift_error)


def _error(weights: Floats, covariance: Floats) -> float:
    return math.sqrt(max(0.0, float(weights @ covariance @ weights)))


def _noise(blocks: Floats, tau_s: float) -> tuple[int, float] | None:
    """α at long averaging times, and the factor of the covariance; None if they cannot be determined."""
    found = [alpha for m in (1, 2, 4) if (alpha := identify(blocks, m)) is not None]
    window = max(1, len(blocks) // _LEVEL_SHARE)
    observed = deviation(HDEV, [blocks], window, tau_s)  # which is blind to a drift
    if not found or not observed > 0:
        return None
    alpha = min(found)
    zero, one, two, three = phase_covariance(window * np.arange(4.0), alpha, 1.0)
    expected = (20.0 * zero - 30.0 * one + 12.0 * two - 2.0 * three) / (6.0 * (window * tau_s) ** 2)
    return alpha, observed**2 / expected


def _gridded(phase: Floats, m: int) -> Floats:
    """Means of every m phases that are there; NaN where there is none. The last block may hold fewer."""
    table = np.append(phase, np.full(-len(phase) % m, np.nan)).reshape(-1, m)
    present = np.isfinite(table)
    counts = present.sum(axis=1)
    sums = np.where(present, table, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _blocks(phase: Floats, m: int, tau0_s: float) -> tuple[Floats, Floats]:
    """Mean times (s) and phases of the blocks that hold something."""
    times = np.where(np.isfinite(phase), np.arange(len(phase)) * tau0_s, np.nan)
    at, means = _gridded(times, m), _gridded(phase, m)
    present = np.isfinite(means)
    return at[present], means[present]
