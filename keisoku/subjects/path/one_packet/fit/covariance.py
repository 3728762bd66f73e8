"""How well the plane of a hop is known: covariance of its three coefficients, from the scatter of its round trips.

No resampling: sizes drawn anew have other leverages than those that were probed, and round trips drawn anew count
their scatter a second time; intervals from both were twice as wide as the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics.uncertainty import student
from keisoku.subjects.path.one_packet.fit.minimum import HopSamples
from keisoku.subjects.path.one_packet.fit.quantile import tame
from keisoku.subjects.path.one_packet.fit.slope import NORMAL, Floats, Identifiable, SlopeFit

FIXED, FORWARD, REVERSE = range(3)
"""Columns of a covariance."""
MEDIAN_EFFICIENCY = 0.37
"""Of a median absolute deviation: as if it was the standard deviation of so many of the points."""

STAMP_NS = 0.5
"""Of a round trip in whole ns, which is all that is known of one that never varies."""
CHOSEN = 1.2
"""A quantile is the best of several by its estimated scatter, and a hop is probed until that seems small enough: both
prefer scatters that were estimated too small, by so much on 220 random paths
(benchmarks/accuracy/path_intervals.py)."""


@dataclass(frozen=True)
class Covariance:
    """Of (fixed, forward, reverse); ns and ns/byte. Reverse has zeros where it is not identifiable."""

    matrix: Floats
    freedom: float
    """Degrees of freedom that the scatter was estimated with."""

    def error(self, columns: Sequence[int]) -> float:
        """Standard error of the sum of these coefficients: ns, or ns per byte of slopes."""
        chosen = np.zeros(3)
        chosen[list(columns)] = 1.0
        variance = float(chosen @ self.matrix @ chosen)
        return float(np.sqrt(max(variance, 0.0)))

    def half_width(self, columns: Sequence[int]) -> float:
        """Half of the 95 % interval of that sum; infinite if there are too few points."""
        return self.error(columns) * student(self.freedom) if self.freedom >= 1 else float("inf")


def of_minima(fit: SlopeFit, samples: HopSamples) -> Covariance:
    """Of a plane through minima, each of which scatters alike."""
    kept = fit.kept
    matrix = normal_matrix(samples.sizes[kept], samples.replies[kept], fit.kind, np.ones(int(kept.sum())))
    freedom = MEDIAN_EFFICIENCY * (samples.sizes.size - matrix.shape[0])
    return Covariance(_inverse(matrix) * (scatter_of_all(fit, samples) ** 2 + STAMP_NS**2), freedom)


def of_quantile(fit: SlopeFit, samples: HopSamples, level: float) -> Covariance:
    """Of a quantile plane, whose `scatter` is that of one cell (Koenker 2005, §3.2).

    Where cells differ by more than their round trips explain, as where a length costs a host more than its neighbours
    do, the error is larger by as much (Birge's ratio).
    """
    kept = np.flatnonzero(tame(fit, samples.sizes, samples.replies, samples.samples, level))
    cells = [samples.samples[place] for place in kept]
    counts = np.array([cell.size for cell in cells], dtype=np.float64)
    sizes, replies = samples.sizes[kept], samples.replies[kept]
    matrix = normal_matrix(sizes, replies, fit.kind, counts)
    below = np.array([(cell < line).sum() for cell, line in zip(cells, fit.predict(sizes, replies), strict=True)])
    freedom = kept.size - matrix.shape[0]
    if freedom < 1:
        return Covariance(_inverse(matrix), 0.0)
    scores = (below - level * counts) / np.sqrt(counts * level * (1 - level))
    excess = max(1.0, float(scores @ scores) / freedom)
    alone = (fit.scatter**2 * excess * CHOSEN**2 + STAMP_NS**2) * float(counts.sum()) / kept.size
    return Covariance(_inverse(matrix) * alone, freedom)


def scatter_of_all(fit: SlopeFit, samples: HopSamples) -> float:
    """Standard deviation of all minima about their plane in ns, robustly: half of them may be wild."""
    return NORMAL * float(np.median(np.abs(samples.minima - fit.predict(samples.sizes, samples.replies))))


def normal_matrix(sizes: Floats, replies: Floats, kind: Identifiable, weights: Floats) -> Floats:
    """XᵀWX of a plane at these lengths in bytes, with as many columns as `kind` separates."""
    columns = [np.ones_like(sizes), sizes] + ([replies] if kind == "both" else [])
    design = np.column_stack(columns)
    made: Floats = design.T @ (design * weights[:, None])
    return made


def _inverse(matrix: Floats) -> Floats:
    """Padded with zeros to all three coefficients."""
    whole = np.zeros((3, 3))
    whole[: matrix.shape[0], : matrix.shape[0]] = np.linalg.pinv(matrix)
    return whole
