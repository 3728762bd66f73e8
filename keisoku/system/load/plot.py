"""Plots of a load: requests/s against concurrency, a line for each client and one for all; and of bulk
TCP what each client gets alone, with some others, and with all.

Draws what was measured; fits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.report.plot import Plot, axis, device_colour, hover, label
from keisoku.run.result import Row


def load_plots(rows: Sequence[Row]) -> list[Plot]:
    """Requests/s, bit/s, and the 99th percentile of latency; one choice for each pattern."""
    return [
        _plot(rows, "requests", "requests", "requests/s", 1.0),
        _plot(rows, "received", "received", "received, Mb/s", 1e-6),
        _plot(rows, "latency", "p99", "99th percentile, ms", 1e-6),
    ]


def bulk_plots(rows: Sequence[Row]) -> list[Plot]:
    """Throughput of each client in each pattern, one choice for each number of streams; and against that number."""
    counts = sorted({row.at.value for row in rows if row.at})
    plots = [_bars(rows, counts)]
    if len(counts) > 1:
        plots.append(_plot(rows, "streams", "received", "throughput, Mb/s", 1e-6, "streams of each client"))
    return plots


def _bars(rows: Sequence[Row], counts: Sequence[float]) -> Plot:
    choices = {count: f"{count:.0f} stream{'s' * (count > 1)} each" for count in counts}
    axes = {"xaxis": {"title": {"text": "client"}, "type": "category"}, "yaxis": axis("throughput, Mb/s")}
    plot = Plot(
        "bulk",
        "Throughput of each client, by the clients that send at the same time.",
        axes,
        choices=list(choices.values()),
    )
    for number, group in enumerate(dict.fromkeys(row.group for row in rows)):
        for count, choice in choices.items():
            mine = [row for row in rows if row.group == group and row.at and row.at.value == count]
            if not mine:
                continue
            figures = [row.figures["received"] for row in mine]
            trace = {
                "type": "bar",
                "name": label(group),
                "x": [_client(row) for row in mine],
                "y": [figure.value / 1e6 for figure in figures],
                "error_y": {"type": "data", "array": [(figure.uncertainty or 0.0) / 1e6 for figure in figures]},
                "marker": {"color": device_colour(number)},
                "hovertemplate": hover(f"%{{x}}, {group}: %{{y:,.5g}} Mb/s") + "<extra></extra>",
            }
            plot.add(trace, [choice])
    return plot


def _plot(
    rows: Sequence[Row],
    name: str,
    figure: str,
    title: str,
    factor: float,
    along: str = "connections of each client",
) -> Plot:
    groups = list(dict.fromkeys(row.group for row in rows))
    places = [row.at.value for row in rows if row.at]
    axes = {"xaxis": axis(along, places), "yaxis": axis(title)}
    caption = f"{title[0].upper()}{title[1:]}, against {along}."
    plot = Plot(name, caption, axes, choices=groups, choice_title="clients")
    for group in groups:
        mine = [row for row in rows if row.group == group and figure in row.figures and row.at]
        for number, client in enumerate(dict.fromkeys(_client(row) for row in mine)):
            points = [row for row in mine if _client(row) == client]
            errors = [(row.figures[figure].uncertainty or 0.0) * factor for row in points]
            trace = {
                "type": "scatter",
                "mode": "lines+markers",
                "name": client,
                "x": [row.at.value for row in points if row.at],
                "y": [row.figures[figure].value * factor for row in points],
                "error_y": {"type": "data", "array": errors},
                "line": {"color": device_colour(number)},
                "hovertemplate": hover(f"{client}, %{{x}} {along.split()[0]}: %{{y:,.4g}}") + "<extra></extra>",
            }
            plot.add(trace, [group])
    return plot


def _client(row: Row) -> str:
    return row.case.partition(",")[0]
