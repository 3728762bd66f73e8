"""Steps and spikes in phase: changes that the clock's own noise does not explain.

A spike is one reading that is off alone; a step stays. It decides by robust spreads, which steps
and spikes themselves do not widen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.clock.stability.power_law import Floats

SIGNIFICANT = 10.0
"""In standard deviations of neighbouring differences."""
_NEIGHBOURS = 6
_TRIMMED = 0.95
"""Share of differences that gives the spread where half of them are nothing (coarse clocks)."""
_NORMAL_MAD = 1.4826
_NORMAL_MEAN = 1.2533


@dataclass(frozen=True)
class StepPlace:
    """Places are indices into the readings looked at."""

    steps: tuple[tuple[int, float], ...]
    """First reading after the step, and by how much phase changed (s)."""
    spikes: tuple[int, ...]


def find_steps(index: NDArray[np.int64], phase: Floats, bounds: Floats | None = None) -> StepPlace:
    """Of phase (s) at places `index` of a grid; `bounds` are the readings' hard error bounds (s).

    A change across a gap must exceed what noise up to a random walk of frequency makes of it.
    """
    if len(phase) < 2 * _NEIGHBOURS:
        return StepPlace((), ())
    spacing = np.diff(index).astype(np.float64)
    slope = np.diff(phase) / spacing
    change = np.abs(np.diff(slope))
    spread = _spread(change)
    far = change > SIGNIFICANT * spread
    candidate = np.flatnonzero(np.concatenate((far, [False])) | np.concatenate(([False], far)))
    unusual = np.zeros(len(slope), bool)
    unusual[candidate] = True
    steps: list[tuple[int, float]] = []
    spikes: list[int] = []
    passed = -1
    for at in candidate.tolist():
        jump = _jump(slope, spacing, unusual, spread, at)
        if at <= passed or abs(jump) <= _limit(spread, spacing, bounds, at):
            continue
        if at + 1 < len(slope) and abs(jump + _jump(slope, spacing, unusual, spread, at + 1)) < abs(jump) / 2:
            spikes.append(at + 1)
            passed = at + 1
        elif at == len(slope) - 1:
            spikes.append(at + 1)  # nothing after it tells whether it stays
        elif at == 0:
            spikes.append(0)
        else:
            steps.append((at + 1, jump))
    return StepPlace(tuple(steps), tuple(spikes))


def _spread(change: Floats) -> float:
    robust = _NORMAL_MAD * float(np.median(change))
    trimmed = change[change <= np.quantile(change, _TRIMMED)]
    return max(robust, _NORMAL_MEAN * float(trimmed.mean()), 1e-18)


def _jump(slope: Floats, spacing: Floats, unusual: NDArray[np.bool_], spread: float, at: int) -> float:
    """How much phase changes there beyond what it does around."""
    low, high = max(0, at - _NEIGHBOURS), at + 1 + _NEIGHBOURS
    before = slope[low:at][~unusual[low:at]]
    after = slope[at + 1 : high][~unusual[at + 1 : high]]
    if len(before) >= _NEIGHBOURS // 2 and len(after) >= _NEIGHBOURS // 2:
        sides = np.median(before), np.median(after)
        if abs(sides[1] - sides[0]) > SIGNIFICANT * spread:
            # The frequency changed there, within the interval or at its end: what lies between is no jump of phase.
            return float((slope[at] - np.clip(slope[at], min(sides), max(sides))) * spacing[at])
    around = np.concatenate((slope[low:at], slope[at + 1 : high]))
    usual = around[~np.concatenate((unusual[low:at], unusual[at + 1 : high]))]
    return float((slope[at] - np.median(usual if len(usual) else around)) * spacing[at])


def _limit(spread: float, spacing: Floats, bounds: Floats | None, at: int) -> float:
    noise: float = SIGNIFICANT * spread * float(spacing[at]) ** 1.5
    return noise if bounds is None else max(noise, 2.0 * float(bounds[at] + bounds[at + 1]))
