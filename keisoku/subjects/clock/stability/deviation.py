"""Overlapping ADEV, MDEV and HDEV, and MTIE, of phase on a grid.

Phase that is missing (NaN) takes the terms that need it with it; nothing is interpolated. From the equations of
NIST SP 1065 (W. J. Riley, 2008) §5.2 and ITU-T G.810 II.5. Up to 10⁷ points take seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.subjects.clock.stability.freedom import Statistic
from keisoku.subjects.clock.stability.power_law import Floats

_PRESENT_MIN = 0.9
"""Share of the phases averaged over τ that must be there for a modified deviation."""


@dataclass(frozen=True)
class Terms:
    """Squared terms of one stretch of phase."""

    mean_square: float
    """Of the terms, in the unit of phase; 0 if there are none."""
    count: int
    """Of terms that had all their phases."""


def terms(statistic: Statistic, phase: Floats, m: int) -> Terms:
    """All overlapping terms at τ = m·τ0; one that needs a missing phase is left out."""
    if len(phase) < statistic.reach(m):
        return Terms(0.0, 0)
    if statistic.order == 2:
        found = phase[2 * m :] - 2.0 * phase[m:-m] + phase[: -2 * m]
    else:
        found = phase[3 * m :] - 3.0 * phase[2 * m : -m] + 3.0 * phase[m : -2 * m] - phase[: -3 * m]
    if statistic.modified:
        found = _window_means(found, m)
    missing = np.isnan(found)
    count = len(found) - int(np.count_nonzero(missing))
    found[missing] = 0.0
    return Terms(float(np.dot(found, found)) / count if count else 0.0, count)


def deviation(statistic: Statistic, stretches: Sequence[Floats], m: int, tau0: float) -> float:
    """The deviation at τ = m·τ0 over stretches of phase (s) that no term may cross; NaN if none holds a term."""
    return pooled_deviation(statistic, [terms(statistic, phase, m) for phase in stretches], m * tau0)


def pooled_deviation(statistic: Statistic, parts: Sequence[Terms], tau: float) -> float:
    """The deviation that the terms of several stretches give together; NaN if there are none.

    `tau` is in the unit of time of the phases; a deviation of frequency is a ratio.
    """
    count = sum(part.count for part in parts)
    if not count:
        return math.nan
    mean_square = sum(part.mean_square * (part.count / count) for part in parts)
    return math.sqrt(mean_square / _NORM[statistic.order]) / tau


_NORM = {2: 2.0, 3: 6.0}
"""White frequency of variance σ² gives terms of this times (σ·τ)², by the order of the difference."""


def mtie(phase: Floats, windows: Sequence[int]) -> Iterator[float]:
    """Largest peak-to-peak phase within any `m` intervals, for each m of `windows` (ascending); NaN if none fits.

    Windows of 2^k points are joined to those of any length (binary decomposition, S. Bregni and S. Maccabruni, 2000).
    A missing phase is passed over: where there are some, the result is a lower bound.
    """
    missing = np.isnan(phase)
    high, low = np.where(missing, -np.inf, phase), np.where(missing, np.inf, phase)
    length = 1
    for m in windows:
        points = m + 1
        if points > len(phase):
            yield math.nan
            continue
        while 2 * length <= points:
            high, low = np.maximum(high[length:], high[:-length]), np.minimum(low[length:], low[:-length])
            length *= 2
        shift = points - length
        end = len(high) - shift
        spread = np.maximum(high[shift:], high[:end]) - np.minimum(low[shift:], low[:end])
        most = float(spread.max())
        yield most if math.isfinite(most) else math.nan


def _window_means(values: Floats, m: int) -> Floats:
    """Means of those of every `m` consecutive values that are there; NaN where more than a tenth is missing."""
    missing = np.isnan(values)
    if not missing.any():
        return _window_sums(values, m) / m
    present = m - _window_sums(missing.astype(np.float64), m)
    sums = _window_sums(np.where(missing, 0.0, values), m)
    return np.where(present >= _PRESENT_MIN * m, sums / np.maximum(present, 1), np.nan)


def _window_sums(values: Floats, m: int) -> Floats:
    sums = np.concatenate((np.zeros(1), np.cumsum(values)))
    return np.asarray(sums[m:] - sums[:-m])
