"""Figures of many runs of the same measurement of the same device, in the order of their start: where they changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from keisoku.ground.run.comparison import Figures, Key, better, check_unit
from keisoku.ground.statistics.difference import Better, Margin
from keisoku.ground.statistics.drift import steps_beside_drift
from keisoku.ground.statistics.e_divisive import changes
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import combined

Turn = Literal["regression", "better", "different", "within the margin"]


@dataclass(frozen=True)
class Step:
    """Runs between two changes."""

    first: int
    """Index of its first run, of all runs."""
    end: int
    """One past its last run."""
    level: Quantity
    """Median of its runs, with an interval of 95 %."""
    turn: Turn | None
    """How it differs from the step before; None: there is none before."""


@dataclass(frozen=True)
class Trend:
    """One figure in all runs."""

    measurement: str
    key: Key | None
    figure: str
    values: list[Quantity | None]
    """None: not measured, or only bounded, in that run."""
    better: Better
    steps: list[Step]
    drifts: bool
    """Whether its runs are not alike, and a slow drift explains it as well as a step does."""

    @property
    def is_regression(self) -> bool:
        """Whether the newest change made the figure worse, beyond the margin."""
        return bool(self.steps) and self.steps[-1].turn == "regression"


def trends(
    measurement: str,
    tables: Sequence[Mapping[Key | None, Figures]],
    figures: Sequence[str],
    margins: Mapping[str, Margin],
) -> list[Trend]:
    """The trend of each of these figures in each row; all figures if none is named. `margins` by figure, '' for all
    others: a smaller change is not called a regression. A table for each run, in the order of their start."""
    found = []
    for key in dict.fromkeys(key for table in tables for key in table):
        rows = [table.get(key, {}) for table in tables]
        for name in dict.fromkeys(name for row in rows for name in row):
            if not figures or name in figures:
                values = [row.get(name) for row in rows]
                check_unit(name, next(value for value in values if value is not None), margins)
                margin = margins.get(name, margins.get("", Margin()))
                found.append(_trend(measurement, key, name, values, margin))
    return found


def _trend(measurement: str, key: Key | None, name: str, values: Sequence[Quantity | None], margin: Margin) -> Trend:
    known = [None if it is None or it.bound or not math.isfinite(it.value) else it for it in values]
    places = [place for place, it in enumerate(known) if it is not None]
    series = [it for it in known if it is not None]
    way = better(name, series[0].unit) if series else "neither"
    numbers = [it.value for it in series]
    candidates = changes(numbers)
    found = steps_beside_drift(numbers, candidates)
    cuts = [0, *found, len(series)]
    steps: list[Step] = []
    for first, end in pairwise(cuts) if series else ():
        level = combined(series[first:end])
        turn = _turn(steps[-1].level, level, way, margin) if steps else None
        steps.append(Step(places[first], places[end - 1] + 1, level, turn))
    return Trend(measurement, key, name, known, way, steps, drifts=bool(candidates) and not found)


def _turn(before: Quantity, now: Quantity, way: Better, margin: Margin) -> Turn:
    distance = now.value - before.value
    if abs(distance) <= margin.of(before):
        return "within the margin"
    if way == "neither":
        return "different"
    return "better" if (distance > 0) == (way == "higher") else "regression"
