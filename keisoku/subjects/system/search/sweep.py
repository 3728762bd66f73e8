"""A whole curve of scores over limits: every limit, evaluated several times.

A generator like the search. In random order and afresh for each repetition, so that a drift of the system becomes
noise and no effect of the limit. It recommends nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.errors import PlanError
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.ground.statistics.uncertainty import standard_error_of_mean
from keisoku.subjects.system.search.candidate import Limit
from keisoku.subjects.system.search.evaluation import Evaluation


@dataclass(frozen=True)
class SweepPoint:
    """A limit's scores (natural logarithms): their mean, its standard error, and how many there are."""

    limit: Limit
    mean: float
    error: float | None
    """None after a single evaluation, which has no scatter."""
    evaluations: int


def limit_sweep(
    limits: Sequence[Limit], repetitions: int, seed: int = DEFAULT
) -> Generator[Evaluation, float, list[SweepPoint]]:
    """Evaluates every limit so many times; the points in the order in which the limits were given.

    Evaluations are answered by scores without unit. Raises PlanError if there is nothing to sweep.
    """
    if not limits or repetitions < 1:
        raise PlanError("sweep", "there is nothing to sweep", "give at least one limit and one repetition")
    random = np.random.default_rng(seed)
    scores: list[list[float]] = [[] for _ in limits]
    for _ in range(repetitions):
        for index in random.permutation(len(limits)).tolist():
            scores[index].append((yield Evaluation(limits[index], "sweep")))
    return [_point(limit, of) for limit, of in zip(limits, scores, strict=True)]


def _point(limit: Limit, scores: list[float]) -> SweepPoint:
    error = standard_error_of_mean(scores) if len(scores) > 1 else None
    return SweepPoint(limit, float(np.mean(scores)), error, len(scores))
