"""Steps of frequency: bends of phase that the clock's own noise does not explain, and that stay.

At a bend the second difference of phase over τ is the same for every τ; of noise it is not, and a single reading that
is off makes one that falls as 1/τ.
"""

from __future__ import annotations

import numpy as np

from keisoku.subjects.clock.stability.power_law import Floats

SIGNIFICANT = 10.0
"""In robust standard deviations of the differences over the same time."""
_SHARE = 64
"""Bends are looked for over this share of the stretch at most, so that they do not hide themselves in the spread."""
_STAYS = (0.6, 1.6)
"""Ratio of the difference over four times as long to it, within which it stays."""
_PLACES = 4
"""A time is looked at from so many places within itself."""
_NORMAL_MAD, _NORMAL_MEAN = 1.4826, 1.2533
_TRIMMED = 0.95


def find_frequency_steps(phase: Floats, tau0_s: float) -> list[tuple[int, float]]:
    """Places in phase (s; NaN is missing), in order, and by how much the fractional frequency changed there."""
    found: list[tuple[int, float]] = []
    m = 1
    while m <= len(phase) // _SHARE:
        found += [step for step in _over(phase, m, tau0_s) if all(abs(step[0] - at) > 8 * m for at, _ in found)]
        m *= 2
    return sorted(found)


def _over(phase: Floats, m: int, tau0_s: float) -> list[tuple[int, float]]:
    at = np.arange(4 * m, len(phase) - 4 * m, max(1, m // _PLACES))
    short, long = (_bend(phase, at, reach) / (reach * tau0_s) for reach in (m, 4 * m))
    short_centre, short_spread = _centre_and_spread(short)
    long_centre, long_spread = _centre_and_spread(long)
    if not (short_spread > 0 and long_spread > 0):
        return []
    short, long = short - short_centre, long - long_centre
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = long / short
    far = (np.abs(short) > SIGNIFICANT * short_spread) & (np.abs(long) > SIGNIFICANT * long_spread)
    far &= (ratio > _STAYS[0]) & (ratio < _STAYS[1])
    steps: list[tuple[int, float]] = []
    while far.any():
        best = int(np.argmax(np.where(far, np.abs(short), 0.0)))
        steps.append((int(at[best]), float(long[best])))
        far &= np.abs(at - at[best]) > 8 * m
    return steps


def _bend(phase: Floats, at: np.ndarray[tuple[int], np.dtype[np.int64]], m: int) -> Floats:
    return np.asarray(phase[at + m] - 2.0 * phase[at] + phase[at - m])


def _centre_and_spread(values: Floats) -> tuple[float, float]:
    """NaN-free and robust; the centre is what a drift makes, the spread is never that of coarse clocks' zeros."""
    there = values[np.isfinite(values)]
    if not len(there):
        return 0.0, 0.0
    centre = float(np.median(there))
    away = np.abs(there - centre)
    trimmed = away[away <= np.quantile(away, _TRIMMED)]
    return centre, max(_NORMAL_MAD * float(np.median(away)), _NORMAL_MEAN * float(trimmed.mean()))
