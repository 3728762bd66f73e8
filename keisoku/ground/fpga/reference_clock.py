"""Frequency of a nanosecond counter against marks of a reference: a slope with its uncertainty budget.

It never treats the counter's quantisation as noise: on a stable clock it does not average out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from keisoku.ground.statistics.budget import figure, normal, rectangular
from keisoku.ground.statistics.line_fit import fit_line
from keisoku.ground.statistics.quantity import Contribution, Quantity

MARKS_MIN = 3
_PPM = 1e6


@dataclass(frozen=True)
class ReferenceClock:
    """A counter against its reference."""

    frequency: Quantity
    """How much faster the counter runs than the reference, in ppm."""
    marks: int
    span_s: float
    """Of the reference."""
    largest_residual_ns: float
    """Largest distance of a mark's time from the line."""


def reference_clock(
    numbers: Sequence[int], times_ns: Sequence[int], mark_ns: float, step_ns: float, reference_ppm: float = 0.0
) -> ReferenceClock:
    """The line through the counter's `times_ns` at marks `numbers`, `mark_ns` of the reference apart.

    `step_ns` is the counter's step, `reference_ppm` the uncertainty of the reference itself (k = 1). Times must
    continue where the counter wraps. Raises ValueError for fewer than three marks, or numbers that do not rise.
    """
    if len(numbers) < MARKS_MIN:
        raise ValueError(f"a frequency with an uncertainty needs {MARKS_MIN} marks, not {len(numbers)}")
    if any(later <= earlier for earlier, later in pairwise(numbers)):
        raise ValueError("the marks' numbers do not rise")
    reference_ns = np.array([(number - numbers[0]) * mark_ns for number in numbers])
    # The counter's advance over the reference: small numbers, which a float holds exactly.
    ahead_ns = np.array([time - times_ns[0] for time in times_ns], np.float64) - reference_ns
    line = fit_line(reference_ns, ahead_ns)
    span_ns = float(reference_ns[-1])
    centred = reference_ns - reference_ns.mean()
    weights = float(np.abs(centred).sum() / (centred**2).sum())
    parts: list[Contribution] = [
        rectangular("quantisation of the counter", step_ns / 2, weights * _PPM),
        normal("scatter of the marks", line.slope_error * _PPM),
    ]
    if reference_ppm:
        parts.append(normal("the reference", reference_ppm, "B"))
    return ReferenceClock(
        frequency=figure(line.slope * _PPM, "ppm", parts),
        marks=len(numbers),
        span_s=span_ns / 1e9,
        largest_residual_ns=float(np.abs(line.residuals).max()),
    )
