"""Plots of a search or sweep for a limit: figure of merit and requests/s of each group of clients against it.

Draws the evaluations and the model; fits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, Trace, axis, device_colour, hover
from keisoku.ground.report.table import head
from keisoku.language import join_texts, phrase
from keisoku.subjects.system.figure_of_merit import FIGURES, FigureOfMerit
from keisoku.subjects.system.search.candidate import Candidates
from keisoku.subjects.system.search.gaussian_process import Beliefs
from keisoku.subjects.system.search.limit_curve import CurvePoint
from keisoku.subjects.system.settings import LimitSettings

_MEGA = 1e6
_BEYOND = 1.6
"""No limit stands at so many times line rate."""


def limit_plots(
    points: Sequence[CurvePoint], known: Beliefs | None, candidates: Candidates, settings: LimitSettings
) -> list[Plot]:
    """The curve that was maximised, and the requests/s of each group of clients. `known` is of `candidates`."""
    return [_merit(points, known, candidates, settings), _parties(points, settings)]


def _merit(
    points: Sequence[CurvePoint], known: Beliefs | None, candidates: Candidates, settings: LimitSettings
) -> Plot:
    merit = FIGURES[settings.objective]
    name = head(merit.name, of_frames=False)
    top = max(merit.value(score) for point in points for score in point.scores)
    divisor, unit = digits.scale(merit.unit, top)
    caption = phrase("The figure of merit at every evaluation; no limit stands at the right end.")
    if known is not None:
        caption += phrase(" Line and band: the model between the evaluations, with its 95 % interval.")
    plot = Plot(
        "merit",
        caption,
        {"xaxis": _limits(settings), "yaxis": axis(join_texts(", ", [name, unit]), rangemode="normal")},
    )
    if known is not None:
        for trace in _belief(known, candidates, FIGURES[settings.objective], divisor):
            plot.add(trace)
    plot.add(
        {
            "type": "scatter",
            "mode": "markers",
            "name": phrase("evaluations"),
            "x": [_x(point, settings) for point in points for _ in point.scores],
            "y": [merit.value(score) / divisor for point in points for score in point.scores],
            "marker": {"color": device_colour(0), "size": 6},
            "hovertemplate": hover(f"%{{x:.5g}} Mb/s: %{{y:.5g}} {unit}"),
        }
    )
    return plot


def _belief(known: Beliefs, candidates: Candidates, merit: FigureOfMerit, divisor: float) -> list[Trace]:
    x = [(rate or 0.0) / _MEGA for rate in candidates.limits[:-1]]
    lines = [known.mean + factor * known.sd for factor in (-2, 2, 0)]
    low, high, mean = ([merit.value(float(score)) / divisor for score in line[: len(x)]] for line in lines)
    band = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip", "showlegend": False}
    filled = {"fill": "tonexty", "fillcolor": device_colour(0, 0.15)}
    return [
        {**band, "y": low, "line": {"width": 0}, "name": "lower"},
        {**band, "y": high, "line": {"width": 0}, "name": "upper", **filled},
        {**band, "y": mean, "line": {"color": device_colour(0, 0.6)}, "name": phrase("believed"), "showlegend": True},
    ]


def _parties(points: Sequence[CurvePoint], settings: LimitSettings) -> Plot:
    caption = phrase("Requests answered in a second, of the clients behind limited ports, of the others, and of all.")
    plot = Plot("parties", caption, {"xaxis": _limits(settings), "yaxis": axis(phrase("requests/s"))})
    parties = {
        phrase("all clients"): [float(np.mean(point.requests)) for point in points],
        phrase("limited: {client}", client=join_texts(", ", settings.client)): [
            float(np.mean(point.governed)) for point in points
        ],
        phrase("other clients"): [float(np.mean(np.subtract(point.requests, point.governed))) for point in points],
    }
    for number, (name, values) in enumerate(parties.items()):
        plot.add(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [_x(point, settings) for point in points],
                "y": values,
                "line": {"color": device_colour(number)},
                "hovertemplate": hover(phrase("{name} at %{{x:.5g}} Mb/s: %{{y:,.0f}}/s", name=name)),
            }
        )
    return plot


def _limits(settings: LimitSettings) -> dict[str, object]:
    return {"title": {"text": phrase("limit, Mb/s (no limit at the right end)")}, "type": "log"}


def _x(point: CurvePoint, settings: LimitSettings) -> float:
    return (point.limit or _BEYOND * settings.line_rate_bps) / _MEGA
