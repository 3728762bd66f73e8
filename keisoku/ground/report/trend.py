"""Trends of figures over many runs: a table, plots, values for programs. It computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keisoku.ground.report import digits
from keisoku.ground.report.comparison import CHANGES, figure_name
from keisoku.ground.report.plot import Plot, axis, device_colour, label
from keisoku.ground.report.points import points
from keisoku.ground.report.table import Head, Table, head
from keisoku.ground.run.trend import Step, Trend
from keisoku.language import join_texts, phrase, plural

RULE = phrase(
    "A change is where shuffled runs divide as well in at most 1 % of cases "
    "(E-divisive), and where a step explains the runs better than a slow drift does. Noise that lasts for several "
    "runs can still look like a change"
)
HEADS = (
    phrase("Figure"),
    phrase("Runs"),
    phrase("Now"),
    phrase("Before"),
    phrase("Change"),
    phrase("Since"),
    phrase("Verdict"),
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
        "drifts": trend.drifts,
        "values": [value and value.model_dump(mode="json") for value in trend.values],
        "steps": [
            {"since": names[step.first], "level": step.level.model_dump(mode="json"), "turn": step.turn}
            for step in trend.steps
        ],
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
        "No figure's newest change is a regression; {changed} of {trends} figures changed at all.",
        changed=changed,
        trends=len(trends),
    )


def _row(trend: Trend, names: Sequence[str]) -> list[str]:
    name = figure_name(trend.measurement, trend.key, trend.figure)
    runs = str(sum(value is not None for value in trend.values))
    if not trend.steps:
        return [name, runs, "–", "–", "–", "–", phrase("not measured")]
    now = trend.steps[-1]
    if len(trend.steps) == 1:
        said = phrase("no step beyond a drift") if trend.drifts else phrase("no change")
        return [name, runs, digits.text(now.level), "–", "–", "–", said]
    before = trend.steps[-2]
    share = _share(before, now)
    return [
        name,
        runs,
        digits.text(now.level),
        digits.text(before.level),
        share,
        names[now.first],
        CHANGES[now.turn] if now.turn else "",
    ]


def _share(before: Step, now: Step) -> str:
    if not before.level.value:
        return "–"
    share = 100 * (now.level.value / before.level.value - 1)
    return f"{digits.significant(share, 2)} %"


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
        ends = [step.first + 0.5, step.end + 0.5]
        level = [step.level.value / divisor] * 2
        line = {"color": device_colour(1), "dash": "solid", "width": 2}
        shown_once = {} if place == 0 else {"showlegend": False}
        plot.add({"mode": "lines", "name": label(phrase("level")), "x": ends, "y": level, "line": line, **shown_once})
    return plot
