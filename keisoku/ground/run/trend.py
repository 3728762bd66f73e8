"""Figures of many runs of the same measurement of the same device, in the order of their start: where they changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from keisoku.ground.run.comparison import Figures, Key, better, margin_for
from keisoku.ground.statistics.difference import Better, Margin
from keisoku.ground.statistics.local_level import series_changes
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import combined

Turn = Literal["regression", "better", "different", "within the margin"]


@dataclass(frozen=True)
class LevelChange:
    """How much a level changed, with an interval of 95 %, and from which run on."""

    earliest: int
    latest: int
    """Index, of all runs, of the first run after the change, which lies between these in 95 % of cases; of a drift: of
    the runs between which it is stated."""
    size: Quantity


@dataclass(frozen=True)
class Step:
    """Runs between two changes."""

    first: int
    """Index of its first run, of all runs."""
    end: int
    """One past its last run."""
    level: Quantity
    """Median of its runs, with an interval of 95 %."""
    levels: list[float]
    """The level at each of its runs, in the unit of `level`: all the same where nothing drifts."""
    change: LevelChange | None = None
    """From the step before, without what drifts besides; None: there is none before."""
    turn: Turn | None = None
    """What the change is for the reader."""


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
    drift: LevelChange | None
    """How far the level wandered beside its steps; None: the runs show no drift."""

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
                known = next(value for value in values if value is not None)
                margin = margin_for(name, known, margins, margins.get("", Margin()))
                found.append(_trend(measurement, key, name, values, margin))
    return found


def _trend(measurement: str, key: Key | None, name: str, values: Sequence[Quantity | None], margin: Margin) -> Trend:
    known = [None if it is None or it.bound or not math.isfinite(it.value) else it for it in values]
    places = [place for place, it in enumerate(known) if it is not None]
    series = [it for it in known if it is not None]
    way = better(name, series[0].unit) if series else "neither"
    found = series_changes([it.value for it in series])
    cuts = [0, *(step.place for step in found.steps), len(series)]
    steps: list[Step] = []
    for number, (first, end) in enumerate(pairwise(cuts) if series else ()):
        level = combined(series[first:end])
        change = turn = None
        if number:
            step = found.steps[number - 1]
            size = Quantity(value=step.size, unit=level.unit, uncertainty=step.half)
            change = LevelChange(places[step.earliest], places[step.latest], size)
            turn = _turn(steps[-1].level, step.size, way, margin)
        levels = found.level[first:end]
        steps.append(Step(places[first], places[end - 1] + 1, level, levels, change, turn))
    drift = None
    if found.drift:
        size = Quantity(value=found.drift.size, unit=series[0].unit, uncertainty=found.drift.half)
        drift = LevelChange(places[found.drift.first], places[found.drift.last], size)
    return Trend(measurement, key, name, known, way, steps, drift)


def _turn(before: Quantity, distance: float, way: Better, margin: Margin) -> Turn:
    if abs(distance) <= margin.in_unit_of(before):
        return "within the margin"
    if way == "neither":
        return "different"
    return "better" if (distance > 0) == (way == "higher") else "regression"
