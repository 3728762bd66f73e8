"""Trends of figures over many runs: a table, plots, values for programs. It computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keisoku.ground.report import digits
from keisoku.ground.report.comparison import CHANGES, figure_name
from keisoku.ground.report.plot import Plot, axis, device_colour, label
from keisoku.ground.report.points import points
from keisoku.ground.report.table import Head, Table, head
from keisoku.ground.run.trend import LevelChange, Step, Trend
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural

RULE = phrase(
    "A change is a step that explains the runs better than a slow drift does (a random walk of the level). Intervals "
    "are of 95 %. Noise that lasts for several runs can still look like a change"
)
HEADS = (
    phrase("Figure"),
    phrase("Runs"),
    phrase("Now"),
    phrase("Before"),
    phrase("Change"),
    phrase("Since"),
    phrase("Verdict"),
    phrase("Drift"),
)
MOST_PLOTS = 24


def table(trends: Sequence[Trend], names: Sequence[str]) -> Table:
    """A row for each figure: its level now, that before the newest change, and since when; regressions first."""
    heads = [Head(title, "") for title in HEADS]
    order = sorted(trends, key=lambda trend: not trend.is_regression)
    return Table("", heads, [_row(trend, names) for trend in order], [])


def plots(trends: Sequence[Trend]) -> list[Plot]:
    """One for each figure, as long as there are not too many; those that changed come first."""
    order = sorted(trends, key=lambda trend: (not trend.is_regression, len(trend.steps) < 2))
    return [_plot(f"trend-{number}", trend) for number, trend in enumerate(order[:MOST_PLOTS], 1) if trend.steps]


def as_json(trend: Trend, names: Sequence[str]) -> dict[str, Any]:
    """All values and steps."""
    return {
        "figure": figure_name(trend.measurement, trend.key, trend.figure),
        "better": trend.better,
        "regression": trend.is_regression,
        "values": [value and value.model_dump(mode="json") for value in trend.values],
        "steps": [
            {
                "since": names[step.first],
                "level": step.level.model_dump(mode="json"),
                "change": step.change and _change_json(step.change, names),
                "turn": step.turn,
            }
            for step in trend.steps
        ],
        "drift": trend.drift and _change_json(trend.drift, names) | {"per_run": _per_run(trend.drift)},
    }


def sentence(trends: Sequence[Trend], names: Sequence[str]) -> str:
    """What was found, for somebody who reads nothing else."""
    worse = [trend for trend in trends if trend.is_regression]
    if worse:
        since = join_texts(
            ", ",
            [
                phrase(
                    "{figure} since {run}",
                    figure=figure_name(each.measurement, each.key, each.figure),
                    run=names[each.steps[-1].first],
                )
                for each in worse
            ],
        )
        return phrase("The newest change is a regression: {since}.", since=since)
    changed = sum(len(trend.steps) > 1 for trend in trends)
    return phrase(
        "No figure's newest change is a regression; of {trends}, {changed} changed at all, and {drifting} drift.",
        changed=changed,
        drifting=sum(trend.drift is not None for trend in trends),
        trends=len(trends),
    )


def _change_json(change: LevelChange, names: Sequence[str]) -> dict[str, Any]:
    return {
        "earliest": names[change.earliest],
        "latest": names[change.latest],
        "size": change.size.model_dump(mode="json"),
    }


def _per_run(drift: LevelChange) -> dict[str, Any]:
    runs = drift.latest - drift.earliest
    return drift.size.scaled(1 / runs, f"{drift.size.unit}/run").model_dump(mode="json")


def _row(trend: Trend, names: Sequence[str]) -> list[str]:
    name = figure_name(trend.measurement, trend.key, trend.figure)
    runs = str(sum(value is not None for value in trend.values))
    if not trend.steps:
        return [name, runs, "–", "–", "–", "–", phrase("not measured"), "–"]
    now = trend.steps[-1]
    drift = _drift(trend, names)
    if now.change is None:
        said = phrase("no step beyond a drift") if trend.drift else phrase("no change")
        return [name, runs, digits.text(now.level), "–", "–", "–", said, drift]
    before = trend.steps[-2]
    return [
        name,
        runs,
        digits.text(now.level),
        digits.text(before.level),
        _share(now.change.size, before.level),
        _since(now, names),
        CHANGES[now.turn] if now.turn else "",
        drift,
    ]


def _since(now: Step, names: Sequence[str]) -> str:
    """The run, and between which runs the change lies where that is not sure."""
    assert now.change is not None
    ends = [names[now.change.earliest], names[now.change.latest]]
    return names[now.first] if ends[0] == ends[1] else f"{names[now.first]} ({ends[0]} … {ends[1]})"


def _drift(trend: Trend, names: Sequence[str]) -> str:
    if trend.drift is None:
        return "–"
    return phrase(
        "{change} from {first} to {last}, {slope} a run",
        change=_share(trend.drift.size, trend.steps[0].level),
        first=names[trend.drift.earliest],
        last=names[trend.drift.latest],
        slope=_share(trend.drift.size, trend.steps[0].level, trend.drift.latest - trend.drift.earliest),
    )


def _share(size: Quantity, level: Quantity, runs: int = 1) -> str:
    """A change in % of a level, or in its own unit where the level is zero; of each of so many runs."""
    if not level.value:
        return digits.text(size.scaled(1 / runs, size.unit))
    return digits.text(
        Quantity(
            value=100 * size.value / abs(level.value) / runs,
            unit="%",
            uncertainty=100 * (size.uncertainty or 0.0) / abs(level.value) / runs,
        )
    )


def _plot(name: str, trend: Trend) -> Plot:
    highest = max(abs(step.level.value) for step in trend.steps)
    divisor, unit = digits.scale(trend.steps[0].level.unit, highest)
    runs = list(range(1, len(trend.values) + 1))
    title = figure_name(trend.measurement, trend.key, trend.figure)
    plot = Plot(
        name,
        plural("{title} in {count} run", "{title} in {count} runs", title=title, count=len(runs)),
        {
            "xaxis": axis(phrase("Run")),
            "yaxis": {"title": {"text": join_texts(", ", [head(trend.figure), unit])}, "type": "linear"},
        },
    )
    shown = points(trend.values, divisor, device_colour(0), "circle")
    plot.add({"mode": "markers", "name": label(phrase("runs")), "x": runs, **shown})
    for place, step in enumerate(trend.steps):
        known = [run for run in range(step.first, step.end) if trend.values[run] is not None]
        ends = [step.first + 0.5, *(run + 1 for run in known), step.end + 0.5]
        level = [value / divisor for value in (step.levels[0], *step.levels, step.levels[-1])]
        line = {"color": device_colour(1), "dash": "solid", "width": 2}
        shown_once = {} if place == 0 else {"showlegend": False}
        plot.add({"mode": "lines", "name": label(phrase("level")), "x": ends, "y": level, "line": line, **shown_once})
    return plot
