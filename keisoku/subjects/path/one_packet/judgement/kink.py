"""A probe size from which a hop's delay grows at another slope, although the lengths of its replies do not explain it.

Kitaguchi et al. (2002) found two in a Linux target, at 512 and 1024 bytes. Each size is tried as a hinge max(0, L − b)
beside the plane of probe and reply lengths. A hinge so near to where replies stop growing looks like another reverse
slope, but not at its foot: all that lies above is later, by the change of slope over the bytes between. Planes are of
least absolute deviations, which a third of late points does not move; the errors are those of least squares over the
points near the best one (Huber and Ronchetti 2009, §7).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.uncertainty import student
from keisoku.subjects.path.one_packet.fit.segment import HopFit, Span
from keisoku.subjects.path.one_packet.fit.slope import NORMAL, Floats
from keisoku.subjects.path.one_packet.probing.sizes import QUOTE_BYTES, SLOWER_ABOVE_BYTES

ERRORS, LEAST_NS, LEAST_SHARE = 7.5, 1.0, 0.001
"""A change counts from so many standard errors, so many ns per byte, and this share of the slope: chosen on random
paths of even seeds (benchmarks/detection/path_flags.py)."""
NEAR = 3.0
"""Scatters from the hinged plane up to which a point is near."""
LEAST_NEAR = 0.8
"""Share of the points that must be near a hinged plane: one that leaves out more follows the late ones."""
APART = 0.2
"""A hinge must differ from every plane by this share of its height, and have this share of the sizes above it.
Nearer to the reverse direction, or to the longest sizes, a few late points look like a hinge."""
ERRORS_AGREEING, AGREE_ERRORS = 4.0, 2.0
"""As `ERRORS`, where what the slopes on both ways say is within so many errors of it (chosen on the same paths)."""
LEAST_SLOWER_NS = 3.0
"""Of a router that takes longer above 512 bytes, in ns per byte: what hosts add themselves at some lengths is less."""
LEAST_POINTS = 4
_ABOVE_COLUMNS = 4
"""Of the design of `_above`."""
STEPS = 15
LEAST_SCATTER_NS = 1.0


def unexplained_kink(hop: HopFit) -> tuple[int, float] | None:
    """The size and the change in ns per byte; None if a plane explains all.

    Where replies grow up to 548 bytes a change at 512 is that of `slower_above`.
    """
    sizes, replies = hop.samples.sizes, hop.samples.replies
    columns = [np.ones_like(sizes), sizes / sizes.max()]
    if np.ptp(replies) > 0 and np.ptp(replies - sizes) > 0:
        columns.append(replies / replies.max())
    plane = np.column_stack(columns)
    if sizes.size <= plane.shape[1] + LEAST_POINTS:
        return None
    edges = np.unique(sizes)[LEAST_POINTS:-LEAST_POINTS]
    heights = sizes.max() - edges
    hinges = np.maximum(0.0, sizes - edges[:, None]) / heights[:, None]
    beside = hinges.T - plane @ np.linalg.lstsq(plane, hinges.T, rcond=None)[0]
    usable = (np.abs(beside).max(axis=0) >= APART) & (heights >= APART * np.ptp(sizes))
    if not usable.any():
        return None
    edges, heights, hinges = edges[usable], heights[usable], hinges[usable]
    designs = np.concatenate([np.broadcast_to(plane, (edges.size, *plane.shape)), hinges[:, :, None]], axis=2)
    level = float(np.median(hop.fitted))
    residuals = _residuals(designs, hop.fitted - level)
    best = int(np.argmin(np.abs(residuals).sum(axis=1)))
    change, error = _change(designs[best], hop.fitted - level, residuals[best])
    least = max(LEAST_NS * float(heights[best]), LEAST_SHARE * abs(hop.fit.forward) * float(heights[best]))
    if abs(change) < max(ERRORS * error, least):
        return None
    return int(edges[best]), change / float(heights[best])


def slower_above(hop: HopFit, apart: Span | None) -> Span | None:
    """By how many ns per byte a router takes longer above 512 bytes, where replies grow up to little more; None if a
    plane explains all. Only the bytes from the longest size that is no longer than that to where replies stop count.

    `apart` is the slope out less the slope back of the links to it. Such a router makes it twice what it adds itself,
    which a faster way back does not: fewer errors are enough where both agree.
    """
    if (found := _above(hop)) is None:
        return None
    change, error = found
    agree = apart is not None and apart.lower > 0 and abs(change - apart.value / 2) < AGREE_ERRORS * error
    if change < max((ERRORS_AGREEING if agree else ERRORS) * error, LEAST_SLOWER_NS):
        return None
    half = student(hop.samples.sizes.size - _ABOVE_COLUMNS) * error
    return Span(change, change - half, change + half)


def unseen_above(hop: HopFit) -> float:
    """By how many ns per byte the router may take longer above 512 bytes without these round trips showing it, with
    two standard errors; 0 where such a change is no other than any (`unexplained_kink`)."""
    if (found := _above(hop)) is None:
        return 0.0
    change, error = found
    return max(change, 0.0) + 2 * error


def _above(hop: HopFit) -> tuple[float, float] | None:
    """How much longer the router takes above 512 bytes, in ns per byte, and the standard error, by the foot of the
    change; None where replies do not grow up to little more."""
    sizes, replies = hop.samples.sizes, hop.samples.replies
    above = replies == replies.max()
    growing = np.unique((replies - sizes)[~above])
    if hop.fit.kind != "both" or growing.size != 1:
        return None
    between = float(replies.max() - growing[0] - sizes[~above].max())
    if not 0 < between <= QUOTE_BYTES - SLOWER_ABOVE_BYTES:
        return None
    design = np.column_stack([np.ones_like(sizes), sizes / sizes.max(), replies / replies.max(), above])
    values = hop.fitted - float(np.median(hop.fitted))
    change, error = _change(design, values, _residuals(design[None], values)[0])
    return change / between, error / between


def _change(design: Floats, values: Floats, residuals: Floats) -> tuple[float, float]:
    """What the last column of a design explains of these values, and its standard error, over the points near the plane
    of least absolute deviations; an infinite error where too few are near it."""
    scatter = NORMAL * float(np.median(np.abs(residuals)))
    freedom = max(1, values.size - design.shape[1])
    near: NDArray[np.bool_] = np.abs(residuals) < NEAR * max(scatter * (values.size / freedom) ** 0.5, LEAST_SCATTER_NS)
    return _last(design[near], values[near]) if near.sum() >= LEAST_NEAR * values.size else (0.0, float("inf"))


def _residuals(designs: Floats, values: Floats) -> Floats:
    """Of the planes of least absolute deviations, one a design, by least squares weighted again and again."""
    weights = np.ones(designs.shape[:2])
    left = np.zeros(designs.shape[:2])
    for _ in range(STEPS):
        weighted = designs * weights[:, :, None]
        answers = np.linalg.pinv(np.swapaxes(weighted, 1, 2) @ designs) @ np.swapaxes(weighted, 1, 2) @ values[:, None]
        left = values - (designs @ answers)[:, :, 0]
        scatter = np.maximum(NORMAL * np.median(np.abs(left), axis=1), LEAST_SCATTER_NS)
        weights = 1 / np.maximum(np.abs(left), 0.05 * scatter[:, None])
    return left


def _last(design: Floats, values: Floats) -> tuple[float, float]:
    """The last coefficient of least squares, and its standard error; infinite if the points do not determine it."""
    freedom = values.size - design.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        return 0.0, float("inf")
    answer = np.linalg.lstsq(design, values, rcond=None)[0]
    left = values - design @ answer
    variance = max(float(left @ left) / freedom, LEAST_SCATTER_NS**2)
    return float(answer[-1]), float(np.sqrt(variance * np.linalg.inv(design.T @ design)[-1, -1]))
