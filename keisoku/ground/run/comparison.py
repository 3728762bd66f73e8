"""Results of one method on several devices, or of one device earlier and now, row for row.

It reads no run directory and formats nothing. An invalid row is never judged, as it is no result of what was
measured.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from keisoku.errors import PlanError
from keisoku.ground.run.criterion import units_of
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.difference import Better, Change, Margin, change, difference, ranked, without_rounding
from keisoku.ground.statistics.quantity import Quantity

_CONDITIONS = {
    *("load", "offered", "mfr_load", "mfr_offered", "tried", "tests", "trials", "seconds", "start", "end"),
    *("runs", "cells", "evaluations", "rounds", "looked_at"),
}
"""What was done or looked at, not what came of it."""
_BETTER_BY_NAME: dict[str, Better] = {
    **dict.fromkeys(
        ("line_share", "largest", "largest_frame", "burst", "burst_min", "burst_max", "in_place"), "higher"
    ),
    **dict.fromkeys(("buffer", "microburst", "microburst_bytes"), "higher"),
    **dict.fromkeys(("gain_over_no_limit", "of_alone", "right"), "higher"),
    **dict.fromkeys(("lost", "flooded", "reordered", "extent", "extra"), "lower"),
    **dict.fromkeys(("lost_datagrams", "failed", "retransmissions"), "lower"),
    **dict.fromkeys(("implied_buffer", "corrected_buffer", "buffer_time", "earliest", "latest", "period"), "neither"),
    **dict.fromkeys(("limit", "duration", "believed_for", "by_chance", "of_time"), "neither"),
    "forwarded": "neither",  # of errored frames: some must be filtered, others not
}
_BETTER_BY_UNIT: dict[str, Better] = {
    **dict.fromkeys(("ns", "ns/byte", "%", "s/GB", "gaps", "reads"), "lower"),
    **dict.fromkeys(("frames/s", "bit/s", "requests/s", "addresses", "addresses/s"), "higher"),
}


def better(name: str, unit: str) -> Better:
    """The direction in which a figure is better; 'neither' where more is as bad as less."""
    return _BETTER_BY_NAME.get(name) or _BETTER_BY_UNIT.get(unit, "neither")


@dataclass(frozen=True, order=True)
class Key:
    """The key by which rows of two results correspond."""

    frame_bytes: int
    load_percent: float
    case: str
    group: str = ""


Figures = dict[str, Quantity]


def figures_by_key(result: Result) -> dict[Key | None, Figures]:
    """The judged figures of each valid row, and those of the whole result under None."""
    found: dict[Key | None, Figures] = {None: overall_figures(result)}
    for row in result.rows:
        load = row.figures.get("load")
        key = Key(row.frame_bytes, load.value if load else 0.0, row.case, row.group)
        if not row.invalid:
            found[key] = {name: figure for name, figure in row.figures.items() if name not in _CONDITIONS}
    return found


def overall_figures(result: Result) -> Figures:
    """Figures of a result as a whole: the fitted line, and the largest frame size without loss in a sweep."""
    line = {"slope": result.line.slope, "constant": result.line.constant} if result.line else {}
    found = {name: without_rounding(figure) for name, figure in line.items()}
    whole = [row.frame_bytes for row in result.rows if (drop := row.figures.get("drop")) and drop.value == 0]
    if whole:
        found["largest"] = Quantity(value=max(whole), unit="byte", uncertainty=0.0)
    return found


@dataclass(frozen=True)
class Ranking:
    """One figure of all devices; `groups` are their indices from the lowest value up (see `ranked`)."""

    key: Key | None
    """None for a figure of the whole result."""
    figure: str
    values: list[Quantity | None]
    groups: list[list[int]]


def compare(tables: Sequence[Mapping[Key | None, Figures]]) -> list[Ranking]:
    """Every figure that at least two devices have, by row and then by name; those of the whole results first."""
    rankings = []
    for key in sorted({key for table in tables for key in table}, key=_order):
        rows = [table.get(key, {}) for table in tables]
        for name in dict.fromkeys(name for row in rows for name in row):
            rankings.append(_ranking(key, name, [row.get(name) for row in rows]))
    return [ranking for ranking in rankings if sum(value is not None for value in ranking.values) > 1]


def _order(key: Key | None) -> tuple[bool, Key]:
    return key is not None, key or Key(0, 0.0, "")


def _ranking(key: Key | None, name: str, values: list[Quantity | None]) -> Ranking:
    known = [index for index, value in enumerate(values) if value is not None]
    groups = ranked([value for value in values if value is not None])
    return Ranking(key, name, values, [[known[index] for index in group] for group in groups])


@dataclass(frozen=True)
class Judged:
    """One figure, earlier and now."""

    method: str
    key: Key | None
    figure: str
    old: Quantity
    new: Quantity
    difference: Quantity
    """New minus old."""
    better: Better
    allowed: float
    """The margin in the figure's unit."""
    change: Change


def judge(
    method: str,
    new: Mapping[Key | None, Figures],
    old: Mapping[Key | None, Figures],
    margins: Mapping[str, Margin],
    default: Margin,
) -> tuple[list[Judged], list[tuple[Key | None, str]]]:
    """Every figure that both have, judged by its own margin or the default; and the figures that only one of them
    has."""
    judged, missing = [], []
    for key in sorted({*new, *old}, key=_order):
        one, other = new.get(key, {}), old.get(key, {})
        for name in dict.fromkeys([*other, *one]):
            if name not in one or name not in other:
                missing.append((key, name))
                continue
            way, margin = better(name, one[name].unit), margin_for(name, one[name], margins, default)
            judged.append(
                Judged(
                    method,
                    key,
                    name,
                    other[name],
                    one[name],
                    difference(one[name], other[name]),
                    way,
                    margin.in_unit_of(other[name]),
                    change(one[name], other[name], way, margin),
                )
            )
    return judged, missing


def margin_for(name: str, figure: Quantity, margins: Mapping[str, Margin], default: Margin) -> Margin:
    """The margin of this figure, or else the default, in its unit. Raises PlanError if it is written in one that the
    figure does not have."""
    margin = margins.get(name, default)
    if margin.unit is None:
        return margin
    units = units_of(figure)
    if margin.unit in units:
        return replace(margin, amount=margin.amount * units[margin.unit])
    problem = f"{name} is not in {margin.unit}" if margin.unit else f"the margin of {name} has no unit"
    raise PlanError("--margin", problem, f"use one of %, {', '.join(unit for unit in units if unit)}")


def regressions(judged: Collection[Judged]) -> list[Judged]:
    """The figures beyond their margin."""
    return [one for one in judged if one.change == "regression"]
