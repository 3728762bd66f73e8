"""A straight line through groups of samples that share one x, such as the latencies of each frame size.

Samples of one group share its errors, so that their number says nothing about those: a line is as certain as the means
of its groups. It formats nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.line_fit import LineFit, fit_line
from keisoku.ground.statistics.uncertainty import COVERAGE_FACTOR, standard_error_of_mean, student
from keisoku.subjects.device.analysis.behaviour import correlation

APART = 0.1
"""Groups scatter more about the line than their samples explain if chance alone does so less often."""
BENT = 1e-3
"""The same for a line that is no straight line at all."""


@dataclass(frozen=True)
class GroupLine:
    """The line y = slope · x + constant. Errors are standard uncertainties (k = 1), of which twice covers 95 %."""

    fit: LineFit
    """Of all samples, with their asymptotic standard errors."""
    slope_error: float
    constant_error: float
    slope_of_groups: float
    """What the given errors of the groups add."""
    constant_of_groups: float
    farthest: tuple[float, float]
    """The x whose mean lies farthest from the line, and by how much."""
    explained: float
    """Standard deviation of a mean from the line, as samples and the errors of groups explain it."""
    is_bent: bool
    """Whether means lie farther from the line than anything explains."""


@dataclass(frozen=True)
class Repeats:
    """How the mean of a group's samples scatters from one time to the next, where that was observed."""

    variance: float
    freedom: float


def group_line(
    points: Sequence[tuple[float, float]],
    of_group: Mapping[float, float],
    repeats: Mapping[float, Repeats] | None = None,
) -> GroupLine:
    """Least squares over all samples; `of_group` has by x the standard uncertainty of an error of the whole group.

    A group's samples show how its mean scatters, unless `repeats` says it by x.

    How far the means lie from the line decides the errors where it is more than samples and `of_group` explain (an
    F test), with Student's factor for the number of groups. Raises ValueError as `fit_line` does.
    """
    fit = fit_line([x for x, _ in points], [y for _, y in points])
    groups: dict[float, list[float]] = {}
    for x, y in points:
        groups.setdefault(x, []).append(y)
    xs = np.array(list(groups), dtype=np.float64)
    counts = np.array([len(each) for each in groups.values()], dtype=np.float64)
    means = np.array([np.mean(each) for each in groups.values()])
    # Rows of this matrix turn the means of groups into slope and constant.
    centred = xs - (counts * xs).sum() / counts.sum()
    of_slope = counts * centred / (counts * centred**2).sum()
    of_constant = counts / counts.sum() - of_slope * (counts * xs).sum() / counts.sum()
    off = means - (fit.slope * xs + fit.constant)
    if repeats is None:
        repeats = {x: Repeats(_of_mean(np.array(each)), len(each) - 1) for x, each in groups.items()}
    own = np.array([repeats[x].variance for x in groups])
    given = np.array([of_group[x] for x in groups]) ** 2
    explained = own + given
    freedoms, left = np.array([repeats[x].freedom for x in groups]), len(xs) - 2
    freedom = _freedom(own, freedoms)
    apart = bent = False
    if left > 0:
        about_line = float((off**2).sum()) / left
        expected = float(explained.mean())
        apart = freedom == 0 or exceeds(about_line, left, expected, freedom)
        bent = freedom > 0 and exceeds(about_line, left, expected, freedom, BENT)
    if apart:
        own = np.full_like(own, about_line)

    def error(weights: NDArray[np.float64]) -> float:
        """What the groups' scatter adds to a sum of their means with these weights, with Student's factor."""
        variances = weights**2 * own
        known = left if apart else _freedom(variances, freedoms)
        return (student(known) / COVERAGE_FACTOR if known else 1.0) * math.sqrt(float(variances.sum()))

    place = int(np.argmax(np.abs(off)))
    return GroupLine(
        fit=fit,
        slope_error=error(of_slope),
        constant_error=error(of_constant),
        slope_of_groups=math.sqrt(float((of_slope**2 * given).sum())),
        constant_of_groups=math.sqrt(float((of_constant**2 * given).sum())),
        farthest=(float(xs[place]), float(off[place])),
        explained=math.sqrt(float(explained.mean())),
        is_bent=bent,
    )


def _of_mean(samples: NDArray[np.float64]) -> float:
    """Variance of the mean of a group's samples; 0 for one sample, which shows no scatter."""
    if len(samples) < 2:
        return 0.0
    return standard_error_of_mean(samples.tolist()) ** 2 * correlation(samples - samples.mean()) ** 2


def _freedom(variances: NDArray[np.float64], freedoms: NDArray[np.float64]) -> float:
    """Degrees of freedom of the sum of the groups' variances (Welch–Satterthwaite, GUM G.4.1); 0 if none shows any."""
    known = freedoms > 0
    if not known.any():
        return 0.0
    total = float(variances[known].sum())
    # Variances of rounding alone would lose all digits as squares.
    shares = variances[known] / total if total > 0 else np.full(int(known.sum()), 1 / known.sum())
    return float(1 / (shares**2 / freedoms[known]).sum())


def exceeds(variance: float, freedom: float, explained: float, of_explained: float, chance: float = APART) -> bool:
    """Whether a variance is larger than another explains, by an F test.

    Both are in one unit, with their numbers of degrees of freedom; `of_explained` 0: the other is known.
    """
    if variance <= explained or explained <= 0:
        return variance > explained
    if not freedom:
        return False
    from keisoku.ground.statistics.distribution import fisher_above  # not needed before the first frame

    return fisher_above(freedom, of_explained or math.inf, variance / explained) < chance
