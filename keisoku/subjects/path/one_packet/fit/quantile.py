"""One Newton step of quantile regression over all round trips of a hop, from a fit of its cells.

A cell's quantile is rough when it is of a few repeats; the plane that leaves the same share of *all* round trips below
it is not. Source: Koenker, Quantile Regression (2005), §3.2 and §4.3 (asymptotics of the estimator and its sparsity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.path.one_packet.fit.slope import NORMAL, Floats, SlopeFit

STEPS = 2
LEAST_BANDWIDTH = 0.03
"""Half of the share of round trips that their density at the quantile is taken from, at least."""
WILD = 5.0
"""Scatters above the plane from which all of a cell's round trips must have been delayed."""
WIDEST_STEP = 10.0
"""Standard errors that a step may move a slope by; beyond, the step is not trusted and the start is kept."""


def refine(fit: SlopeFit, sizes: Floats, replies: Floats, cells: Sequence[Floats], level: float) -> SlopeFit:
    """The fit moved to the quantile plane `level` (0 < level < 1) of all round trips but those of wildly late cells.

    Its `scatter` is what the quantile of one cell has by the density of the round trips there. `cells` are ns, none of
    them empty. The fit itself if the step is no small one.
    """
    kept = np.flatnonzero(tame(fit, sizes, replies, cells, level)).tolist()
    counts = [cells[place].size for place in kept]
    values = np.concatenate([cells[place] for place in kept])
    columns = [np.ones(values.size), np.repeat(sizes[kept], counts)]
    if fit.kind == "both":
        columns.append(np.repeat(replies[kept], counts))
    design = np.column_stack(columns)
    scale = design.max(axis=0)
    design /= scale
    answer = np.array([fit.fixed, fit.forward, fit.reverse or 0.0][: scale.size]) * scale
    start = answer.copy()
    normal = design.T @ design
    if np.linalg.matrix_rank(normal) < scale.size:
        return fit
    half = min(level / 2, max(LEAST_BANDWIDTH, 1.5 * float(np.sqrt(level * (1 - level) / values.size))))
    inverse = np.linalg.inv(normal)
    sparsity = 0.0
    for _ in range(STEPS):
        residuals = values - design @ answer
        lower, middle, upper = np.quantile(residuals, [level - half, level, level + half])
        sparsity = float(upper - lower) / (2 * half)
        answer[0] += middle
        answer = answer + sparsity * (inverse @ (design.T @ (level - (residuals < middle))))
    errors = sparsity * np.sqrt(level * (1 - level) * np.diag(inverse))
    if not (np.abs(answer - start)[1:] <= WIDEST_STEP * errors[1:]).all():
        return fit
    answer = answer / scale
    return replace(
        fit,
        fixed=float(answer[0]),
        forward=float(answer[1]),
        reverse=float(answer[2]) if fit.kind == "both" else None,
        scatter=sparsity * float(np.sqrt(level * (1 - level) * len(kept) / values.size)),
    )


def tame(fit: SlopeFit, sizes: Floats, replies: Floats, cells: Sequence[Floats], level: float) -> NDArray[np.bool_]:
    """Which cells, of round trips in ns, do not lie wildly above a plane.

    The trimming of a fit would also take half of the merely scattered ones, and so half of the probes in vain.
    """
    lows = np.array([np.quantile(cell, level) for cell in cells])
    above = lows - fit.predict(sizes, replies)
    found: NDArray[np.bool_] = above <= WILD * NORMAL * np.median(np.abs(above)) + 1e-6 * np.abs(lows).max()
    return found
