"""A probe size from which a hop's delay grows at another slope, although the lengths of its replies do not explain it.

Kitaguchi et al. (2002) found two in a Linux target, at 512 and 1024 bytes. Each size is tried as a hinge max(0, L − b)
beside the plane of probe and reply lengths. A hinge so near to where replies stop growing looks like another reverse
slope, but not at its foot: all that lies above is later, by the change of slope over the bytes between. Planes are of
least absolute deviations, which a third of late points does not move; the errors are those of least squares over the
points near the best one (Huber and Ronchetti 2009, §7).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.uncertainty import student
from keisoku.subjects.path.one_packet.fit.covariance import FORWARD, Covariance
from keisoku.subjects.path.one_packet.fit.segment import HopFit, Span, fit_hop
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
EDGE_STEP_BYTES = 16
"""Sizes at which the slope is tried to change lie so far apart, whether they were probed or not; a byte apart around
the best one."""
EFFICIENCY = 2 / np.pi
"""Of least absolute deviations where errors are normal: the variance of least squares over theirs."""
STEPS = 15
LEAST_SCATTER_NS = 1.0


@dataclass(frozen=True)
class Kink:
    """A change of a hop's slope."""

    from_bytes: int
    """The probe size at which it begins."""
    change: Span
    """In ns per byte."""
    misfit_ns: float
    """What a plane with this change leaves unexplained: the sum of the distances of all cells from it."""
    placed: bool = True
    """It begins between sizes at which it can be looked for, and not at the first or last of them."""


def kink_of(hop: HopFit, apart: Span | None) -> Kink | None:
    """The change that explains a hop's round trips best, of those of `unexplained_kink` and `slower_above`; None if a
    plane explains all."""
    found = [kink for kink in (slower_above(hop, apart), unexplained_kink(hop)) if kink is not None]
    return min(found, key=lambda kink: kink.misfit_ns, default=None)


def unexplained_kink(hop: HopFit) -> Kink | None:
    """None if a plane explains all.

    Where replies grow up to 548 bytes a change at 512 is that of `slower_above`.
    """
    sizes, replies = hop.samples.sizes, hop.samples.replies
    columns = [np.ones_like(sizes), sizes / sizes.max()]
    if np.ptp(replies) > 0 and np.ptp(replies - sizes) > 0:
        columns.append(replies / replies.max())
    plane = np.column_stack(columns)
    if sizes.size <= plane.shape[1] + LEAST_POINTS:
        return None
    ends = np.unique(sizes)[[LEAST_POINTS, -LEAST_POINTS - 1]]
    edges = np.arange(ends[0], ends[1] + 1, EDGE_STEP_BYTES)
    beside = _hinges(sizes, edges)
    beside = beside - plane @ np.linalg.lstsq(plane, beside, rcond=None)[0]
    edges = edges[(np.abs(beside).max(axis=0) >= APART) & (sizes.max() - edges >= APART * np.ptp(sizes))]
    if not edges.size:
        return None
    values = hop.fitted - float(np.median(hop.fitted))
    near = edges[_best(plane, sizes, edges, values)[0]]
    placed = bool(edges[0] < near < edges[-1])
    edges = np.arange(max(near - EDGE_STEP_BYTES, edges[0]), min(near + EDGE_STEP_BYTES, edges[-1]) + 1)
    best, designs, residuals = _best(plane, sizes, edges, values)
    height = float(sizes.max() - edges[best])
    change, error = _change(designs[best], values, residuals[best])
    least = max(LEAST_NS, LEAST_SHARE * abs(hop.fit.forward)) * height
    if abs(change) < max(ERRORS * error, least):
        return None
    misfit_ns = float(np.abs(residuals[best]).sum())
    return Kink(int(edges[best]), _span(hop, designs.shape[2], change / height, error / height), misfit_ns, placed)


def _hinges(sizes: Floats, edges: Floats) -> Floats:
    """A column for each edge, from 0 at it to 1 at the longest size."""
    hinges: Floats = np.maximum(0.0, sizes[:, None] - edges) / (sizes.max() - edges)
    return hinges


def _best(plane: Floats, sizes: Floats, edges: Floats, values: Floats) -> tuple[int, Floats, Floats]:
    """The place of the edge whose hinge explains most beside the plane, and the designs and residuals of all."""
    hinges = _hinges(sizes, edges).T[:, :, None]
    designs = np.concatenate([np.broadcast_to(plane, (edges.size, *plane.shape)), hinges], axis=2)
    residuals = _residuals(designs, values)
    return int(np.argmin(np.abs(residuals).sum(axis=1))), designs, residuals


def slower_above(hop: HopFit, apart: Span | None) -> Kink | None:
    """A router that takes longer above 512 bytes, where replies grow up to little more; None if a plane explains all.
    Only the bytes from the longest size that is no longer than that to where replies stop count.

    `apart` is the slope out less the slope back of the links to it. Such a router makes it twice what it adds itself,
    which a faster way back does not: fewer errors are enough where both agree.
    """
    if (found := _above(hop)) is None:
        return None
    change, error, misfit_ns = found
    agree = apart is not None and apart.lower > 0 and abs(change - apart.value / 2) < AGREE_ERRORS * error
    if change < max((ERRORS_AGREEING if agree else ERRORS) * error, LEAST_SLOWER_NS):
        return None
    return Kink(SLOWER_ABOVE_BYTES, _span(hop, _ABOVE_COLUMNS, change, error), misfit_ns)


def unseen_above(hop: HopFit) -> float:
    """By how many ns per byte the router may take longer above 512 bytes without these round trips showing it, with
    two standard errors; 0 where such a change is no other than any (`unexplained_kink`)."""
    if (found := _above(hop)) is None:
        return 0.0
    change, error, _ = found
    return max(change, 0.0) + 2 * error


def straightened(hop: HopFit, kink: Kink) -> HopFit:
    """The hop without the change, which its own router or host makes: packets that it only hands on have none of it.

    Its slopes are less well known by what the fit of the change and of its place takes (least squares with the
    derivatives by both as further columns: Seber and Wild, Nonlinear Regression, 9.4), and more so by `EFFICIENCY`,
    as both are fitted by least absolute deviations.
    """
    samples, change = hop.samples, kink.change.value
    above = np.maximum(0.0, samples.sizes - kink.from_bytes)
    cells = tuple(cell - change * late for cell, late in zip(samples.samples, above, strict=True))
    fitted = fit_hop(replace(samples, samples=cells))
    kept = fitted.fit.kept
    columns = [np.ones_like(above), samples.sizes] + ([samples.replies] if fitted.fit.kind == "both" else [])
    plane = np.column_stack(columns)[kept]
    bent = np.column_stack([plane, above[kept], change * (above[kept] > 0)])
    inverse, whole = np.linalg.pinv(plane.T @ plane), np.linalg.pinv(bent.T @ bent)
    own = slice(0, plane.shape[1])
    matrix = fitted.known.matrix.copy()
    matrix[own, own] += (whole[own, own] - inverse) * (
        matrix[FORWARD, FORWARD] / inverse[FORWARD, FORWARD] / EFFICIENCY
    )
    return replace(fitted, known=Covariance(matrix, fitted.known.freedom - 2))


def _span(hop: HopFit, columns: int, change: float, error: float) -> Span:
    half = student(hop.samples.sizes.size - columns) * error
    return Span(change, change - half, change + half)


def _above(hop: HopFit) -> tuple[float, float, float] | None:
    """How much longer the router takes above 512 bytes, in ns per byte, the standard error, by the foot of the change,
    and the misfit in ns; None where replies do not grow up to little more."""
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
    residuals = _residuals(design[None], values)[0]
    change, error = _change(design, values, residuals)
    return change / between, error / between, float(np.abs(residuals).sum())


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
