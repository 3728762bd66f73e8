"""Local modes of the rates that pairs show, as pathrate looks for them.

Dovrolis, Ramanathan, Moore, "Packet-dispersion techniques and a capacity-estimation methodology" (ToN 2004): a path has
a mode at its capacity, lower ones where other packets came between, higher ones where the first of a pair was delayed.
Bins are an eighth of the range between deciles, as in pathrate; a mode is the densest bin with its falling flanks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BIN_SHARE = 0.125
LEAST_BIN = 0.005
"""Of the median: narrower bins would resolve the stamps."""
LEAST_SHARE = 0.05
"""Share of all pairs that a mode must have."""
MOST = 8
_RISE = 1.1
"""A flank ends where counts rise again by this factor."""


@dataclass(frozen=True)
class Mode:
    """Rates in bit/s."""

    low_bps: float
    high_bps: float
    centre_bps: float
    """Median of the pairs in its densest bin."""
    pairs: int
    share: float


def bin_width(rates_bps: NDArray[np.float64]) -> float:
    """The width of a bin in bit/s."""
    low, middle, high = np.quantile(rates_bps, [0.1, 0.5, 0.9])
    return float(max(BIN_SHARE * (high - low), LEAST_BIN * middle))


def local_modes(rates_bps: NDArray[np.float64]) -> list[Mode]:
    """Modes by their rate, from all pairs; not finite rates are left out."""
    rates = np.sort(rates_bps[np.isfinite(rates_bps)])
    if len(rates) < 20:
        return []
    width = bin_width(rates)
    total = len(rates)
    modes: list[Mode] = []
    while len(rates) >= LEAST_SHARE * total and len(modes) < MOST:
        ends = np.searchsorted(rates, rates + width, side="right")
        counts = ends - np.arange(len(rates))
        first = int(np.argmax(counts))
        low, high = rates[first], rates[ends[first] - 1]
        centre = float(np.median(rates[first : ends[first]]))
        low, high = _flank(rates, low, -width, counts[first]), _flank(rates, high, width, counts[first])
        inside = (rates >= low) & (rates <= high)
        if inside.sum() >= LEAST_SHARE * total:
            modes.append(Mode(float(low), float(high), centre, int(inside.sum()), float(inside.sum() / total)))
        rates = rates[~inside]
    return sorted(modes, key=lambda mode: mode.centre_bps)


def _flank(rates: NDArray[np.float64], edge: float, step: float, count: int) -> float:
    """How far the bell reaches from `edge` on, bin by bin, as long as counts fall and are not nothing."""
    before = count
    while True:
        low, high = sorted((edge, edge + step))
        here = int(((rates > low) & (rates <= high) if step > 0 else (rates >= low) & (rates < high)).sum())
        if here == 0 or here > _RISE * before:
            return float(edge)
        before, edge = here, edge + step
