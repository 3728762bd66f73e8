"""Plots of a load: requests/s against concurrency, a line for each client and one for all; and of bulk
TCP what each client gets alone, with some others, and with all.

Draws what was measured; fits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour, hover, label
from keisoku.ground.report.points import add_bound_legend, points
from keisoku.ground.run.result import Row
from keisoku.language import join_texts, phrase, plural, sentence_case


def load_plots(rows: Sequence[Row]) -> list[Plot]:
    """Requests/s, bit/s, and the 99th percentile of latency; one choice for each pattern."""
    return [
        _plot(rows, "requests", "requests", "requests/s", 1.0),
        _plot(rows, "received", "received", phrase("received, Mb/s"), 1e-6),
        _plot(rows, "latency", "p99", phrase("99th percentile, ms"), 1e-6),
    ]


def bulk_plots(rows: Sequence[Row]) -> list[Plot]:
    """Throughput of each client in each pattern, one choice for each number of streams; and against that number."""
    counts = sorted({row.at.value for row in rows if row.at})
    plots = [_bars(rows, counts)]
    if len(counts) > 1:
        plots.append(
            _plot(rows, "streams", "received", phrase("throughput, Mb/s"), 1e-6, phrase("streams of each client"))
        )
    return plots


def _bars(rows: Sequence[Row], counts: Sequence[float]) -> Plot:
    choices = {count: plural("{count:g} stream each", "{count:g} streams each", count=count) for count in counts}
    axes = {
        "xaxis": {"title": {"text": phrase("client")}, "type": "category"},
        "yaxis": axis(phrase("throughput, Mb/s")),
    }
    plot = Plot(
        "bulk",
        phrase("Throughput of each client, by the clients that send at the same time."),
        axes,
        choices=list(choices.values()),
    )
    for number, group in enumerate(dict.fromkeys(row.group for row in rows)):
        for count, choice in choices.items():
            mine = [row for row in rows if row.group == group and row.at and row.at.value == count]
            figures = [row.figures.get("received") for row in mine]
            if not any(figures):
                continue
            drawn = points(figures, 1e6, device_colour(number), "circle")
            trace = {
                "type": "bar",
                "name": label(group),
                "x": [_client(row) for row in mine],
                "y": drawn["y"],
                "error_y": {**drawn.get("error_y", {"array": [0.0] * len(mine)}), "color": "@ink"},
                "marker": {"color": device_colour(number)},
                # A bar has a label of its own beside that of the pointer.
                "hovertext": [
                    hover(join_texts("", [_client(row), ", ", group, ": ", digits.text(figure)])) if figure else ""
                    for row, figure in zip(mine, figures, strict=True)
                ],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
            plot.add(trace, [choice])
    return plot


def _plot(
    rows: Sequence[Row],
    name: str,
    figure: str,
    title: str,
    factor: float,
    along: str = phrase("connections of each client"),
) -> Plot:
    groups = list(dict.fromkeys(row.group for row in rows))
    places = [row.at.value for row in rows if row.at]
    axes = {"xaxis": axis(along, places), "yaxis": axis(title)}
    caption = phrase("{title}, against {along}.", title=sentence_case(title), along=along)
    plot = Plot(name, caption, axes, choices=groups, choice_title=phrase("clients"))
    for group in groups:
        mine = [row for row in rows if row.group == group and row.at]
        known = [row.figures.get(figure) for row in mine]
        clients = dict.fromkeys(_client(row) for row in mine if figure in row.figures)
        for number, client in enumerate(clients):
            own = [row for row in mine if _client(row) == client]
            figures = [row.figures.get(figure) for row in own]
            colour = device_colour(number)
            trace = {
                "type": "scatter",
                "mode": "lines+markers",
                "name": client,
                "x": [row.at.value for row in own if row.at],
                "line": {"color": colour},
                "text": [
                    hover(
                        join_texts(
                            "",
                            [
                                client,
                                ", ",
                                phrase("{concurrency:g} each", concurrency=row.at.value),
                                ": ",
                                digits.text(one),
                            ],
                        )
                    )
                    if one and row.at
                    else ""
                    for row, one in zip(own, figures, strict=True)
                ],
                "hovertemplate": "%{text}<extra></extra>",
                **points(figures, 1 / factor, colour, "circle", 6),
            }
            plot.add(trace, [group])
        add_bound_legend(plot, known, [group])
    return plot


def _client(row: Row) -> str:
    return row.case.partition(",")[0]
