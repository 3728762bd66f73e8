"""The two-variable fit of a hop: minimum RTT = fixed + forward · L + reverse · R, robust against delays.

Source: Jacobson's pathchar (one variable); the second variable separates the way back, whose share of a reply's
length stops growing at 576 bytes (RFC 1812 §4.3.2.3). It never guesses a slope that the sizes cannot separate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Identifiable = Literal["both", "forward", "sum"]
"""Slopes that the sizes can separate: both; forward alone (replies of one length); their sum (replies always grow)."""

SUBSETS = 64
"""Random starting planes; with a third of the points spoilt one in four has none of them."""
KEPT_AT_LEAST = 0.5
TRIM_SCATTERS = 2.5
ROUNDS = 20
NORMAL = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


@dataclass(frozen=True)
class SlopeFit:
    """Slopes in ns per byte, the rest in ns."""

    kind: Identifiable
    forward: float
    """∂RTT/∂L; the sum of both ways where `kind` is 'sum'."""
    reverse: float | None
    """∂RTT/∂R; None where it is not identifiable."""
    fixed: float
    """Round trip of a packet of zero length."""
    scatter: float
    """Standard deviation of the residuals that were kept."""
    kept: NDArray[np.bool_]
    """Which minima were not trimmed as delayed."""

    def predict(self, sizes: Floats, replies: Floats) -> Floats:
        """The fitted plane in ns at probe lengths L and reply lengths R."""
        return self.fixed + self.forward * sizes + (self.reverse or 0.0) * replies


def identifiable(sizes: Floats, replies: Floats) -> Identifiable:
    """The slopes that these pairs of lengths in bytes can separate. Raises ValueError for fewer than three sizes."""
    if np.unique(sizes).size < 3:
        raise ValueError("a slope needs at least three different probe sizes")
    if np.ptp(replies) == 0:
        return "forward"
    if np.ptp(replies - sizes) == 0:
        return "sum"
    # Both need points that move independently: replies that grow, and probes that grow while replies do not.
    correlation = np.corrcoef(sizes, replies)[0, 1]
    return "both" if correlation**2 < 0.995 else "sum"


def fit_slopes(sizes: Floats, replies: Floats, minima: Floats, kind: Identifiable | None = None) -> SlopeFit:
    """Least trimmed squares to start, then points too far *above* the plane are left out until none is.

    `sizes` L, `replies` R (IP bytes) and `minima` (ns) are of one length n ≥ 4. The trimming is one-sided, since
    queueing only adds; at least half the points stay. Raises ValueError when there is not enough to fit.
    """
    if not sizes.shape == replies.shape == minima.shape:
        raise ValueError("sizes, replies and minima must be of one length")
    kind = kind or identifiable(sizes, replies)
    columns = [np.ones_like(sizes), sizes, replies] if kind == "both" else [np.ones_like(sizes), sizes]
    design = np.column_stack(columns)
    if sizes.size <= design.shape[1]:
        raise ValueError(f"a fit of {design.shape[1]} unknowns needs more than {sizes.size} points")
    kept = _start(design, minima)
    answer = _solve(design, minima, kept)
    if answer is None:
        kept = np.ones(minima.size, dtype=np.bool_)
        answer = _solve(design, minima, kept)
    if answer is None:
        raise ValueError("these sizes do not separate the slopes")
    for _ in range(ROUNDS):
        residuals = minima - design @ answer
        scatter = NORMAL * float(np.median(np.abs(residuals[kept])))
        fresh = residuals <= max(TRIM_SCATTERS * scatter, 1e-9 * float(np.abs(minima).max()) + 1e-9)
        if fresh.sum() < max(design.shape[1] + 1, KEPT_AT_LEAST * fresh.size) or (fresh == kept).all():
            break
        if (again := _solve(design, minima, fresh)) is None:
            break
        kept, answer = fresh, again
    residuals = (minima - design @ answer)[kept]
    freedom = max(int(kept.sum()) - design.shape[1], 1)
    return SlopeFit(
        kind=kind,
        forward=float(answer[1]),
        reverse=float(answer[2]) if kind == "both" else None,
        fixed=float(answer[0]),
        scatter=float(np.sqrt((residuals**2).sum() / freedom)),
        kept=kept,
    )


def theil_sen(sizes: Floats, replies: Floats, minima: Floats, kind: Identifiable) -> tuple[float, float | None]:
    """Median of the slopes between all pairs of points: (forward, reverse) in ns per byte, as a check of the fit.

    Forward from the pairs whose replies are of one length; reverse from those whose replies differ, less forward's
    share. Where no two replies agree the first is the sum of both (`kind` 'sum').
    """
    first, second = np.triu_indices(sizes.size, 1)
    long, back, time = sizes[second] - sizes[first], replies[second] - replies[first], minima[second] - minima[first]
    level = (long != 0) if kind != "both" else (long != 0) & (back == 0)
    if not level.any():
        return float("nan"), None
    forward = float(np.median(time[level] / long[level]))
    if kind != "both":
        return forward, None
    grown = back != 0
    return forward, float(np.median((time[grown] - forward * long[grown]) / back[grown]))


def _solve(design: Floats, values: Floats, kept: NDArray[np.bool_]) -> Floats | None:
    """The plane; None if the points do not define one."""
    scale = np.abs(design).max(axis=0)  # lengths are thousands, the constant is one
    answer, _, rank, _ = np.linalg.lstsq(design[kept] / scale, values[kept], rcond=None)
    return answer / scale if rank == design.shape[1] else None


@lru_cache(maxsize=64)
def _subsets(count: int, unknowns: int) -> NDArray[np.intp]:
    """Seeded alike each time, so that a fit is a function of its points."""
    generator = np.random.default_rng(548)
    return np.argsort(generator.random((SUBSETS, count)), axis=1)[:, :unknowns]


def _start(design: Floats, values: Floats) -> NDArray[np.bool_]:
    """The points nearest to that plane through a few of them which is near most others (least trimmed squares)."""
    count, unknowns = design.shape
    chosen = _subsets(count, unknowns)
    scale = np.abs(design).max(axis=0)
    planes = (design / scale)[chosen]
    usable = np.abs(np.linalg.det(planes)) > 1e-4
    if not usable.any():
        return np.ones(count, dtype=np.bool_)
    answers = np.linalg.solve(planes[usable], values[chosen[usable]][..., None])[..., 0] / scale
    squares = (values - answers @ design.T) ** 2
    # Points of either side by themselves: those whose replies are of one length lie on a line, and many planes hold it.
    last = design[:, -1]
    growing = last < last.max() if unknowns > 2 else np.zeros(count, dtype=np.bool_)
    nearest, total = [], np.zeros(len(squares))
    for side in (np.flatnonzero(growing), np.flatnonzero(~growing)):
        ranked = np.argsort(squares[:, side], axis=1)[:, : side.size // 2 + 1]
        nearest.append(side[ranked])
        total += np.take_along_axis(squares[:, side], ranked, axis=1).sum(axis=1)
    best = int(np.argmin(total))
    kept = np.zeros(count, dtype=np.bool_)
    for chosen_side in nearest:
        kept[chosen_side[best]] = True
    return kept
