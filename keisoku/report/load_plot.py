"""Plot of a load: requests/s against concurrency, a line for each client and one for all (E4's figures).

Draws what was measured; fits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.record.observation import ObservedRow
from keisoku.report.plot import Plot, axis, device_colour, hover


def load_plots(rows: Sequence[ObservedRow]) -> list[Plot]:
    """Requests/s, and the 99th percentile of latency; one choice for each pattern."""
    return [
        _plot(rows, "requests", "requests", "requests/s", 1.0),
        _plot(rows, "latency", "p99", "99th percentile, ms", 1e3),
    ]


def _plot(rows: Sequence[ObservedRow], name: str, figure: str, title: str, factor: float) -> Plot:
    groups = list(dict.fromkeys(row.group for row in rows))
    places = [row.at.value for row in rows if row.at]
    axes = {"xaxis": axis("connections of each client", places), "yaxis": axis(title)}
    plot = Plot(name, f"{title} against concurrency.", axes, choices=groups, choice_title="clients")
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
                "hovertemplate": hover(f"{client}, %{{x}} connections: %{{y:,.4g}}") + "<extra></extra>",
            }
            plot.add(trace, [group])
    return plot


def _client(row: ObservedRow) -> str:
    return row.name.partition(",")[0]
