"""Plots of interruptions: all flows over time, and the delays. Draws only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.language import phrase
from keisoku.subjects.stream.outage.analysis import Outcome
from keisoku.subjects.stream.outage.figures import KINDS, interruptions

_DRAWN = 5000
"""Interruptions at most, the longest ones."""
_NS_PER_S = 1e9
_MARKS = 30


def outage_plots(found: Outcome) -> list[Plot]:
    """A time line, and the delays if there are any."""
    return [_time_line(found), *([_delays(found)] if any(len(times) for times, _ in found.delays.values()) else [])]


def _time_line(found: Outcome) -> Plot:
    flows = max((len(flows) for flows in found.directions.values()), default=1)
    length_s = found.length_ns / _NS_PER_S
    axes = {
        "xaxis": {"title": {"text": phrase("s since the first packet")}, "type": "linear", "range": [0, length_s]},
        "yaxis": {"title": {"text": phrase("flow")}, "type": "linear", "range": [0, flows + 1]},
    }
    caption = phrase("When each flow was interrupted. Forward is drawn above the number of the flow, reverse below it.")
    plot = Plot("time_line", caption, axes, height=min(900, 200 + 12 * flows))
    longest = sorted(interruptions(found), key=lambda one: -one.length.likely)[:_DRAWN]
    for position, name in enumerate(found.directions):
        xs: list[float | None] = []
        ys: list[float | None] = []
        shift = 0.15 if name == "forward" else -0.15
        for one in longest:
            if one.direction == name:
                end_ns = found.length_ns if one.ended == "never" else one.end.likely
                xs += [one.begin.likely / _NS_PER_S, end_ns / _NS_PER_S, None]
                ys += [one.flow + 1 + shift, one.flow + 1 + shift, None]
        plot.add(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": xs,
                "y": ys,
                "line": {"color": device_colour(position), "width": 5},
                "hovertemplate": hover(phrase("{name}: flow %{{y:.0f}} at %{{x:.4f}} s", name=name)),
            }
        )
    add_marks(plot, found.marks, flows + 1)
    return plot


def add_marks(plot: Plot, marks: Sequence[Mapping[str, Any]], top: float) -> None:
    """Events, commands and markers as lines across a time line up to `top`; their times are ns since its begin."""
    for mark in marks[:_MARKS]:
        at_s = mark["begun_ns"] / _NS_PER_S
        plot.add(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"{KINDS[mark['kind']]}: {mark['text']}"[:60],
                "x": [at_s, at_s],
                "y": [0, top],
                "line": {"color": device_colour(2), "dash": "dot", "width": 1},
                "showlegend": False,
                "hovertemplate": hover(f"{KINDS[mark['kind']]}: {mark['text']}"),
            }
        )


def _delays(found: Outcome) -> Plot:
    values = [float(rows[:, 1].max()) / 1e3 for _, rows in found.delays.values() if len(rows)]
    axes = {
        "xaxis": axis(phrase("s since the first packet")),
        "yaxis": axis(phrase("delay above the least, µs"), values),
    }
    caption = phrase("Mean and largest delay of all flows above the least one, which the clocks do not determine.")
    plot = Plot("delays", caption, axes, scales=["yaxis"])
    for position, (name, (times, rows)) in enumerate(found.delays.items()):
        for column, (what, dash) in enumerate(((phrase("mean"), "solid"), (phrase("largest"), "dot")), 1):
            if not len(times):
                continue
            plot.add(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": f"{name}, {what}",
                    "x": (times / _NS_PER_S).tolist(),
                    "y": (rows[:, column] / 1e3).tolist(),
                    "line": {"color": device_colour(position), "dash": dash},
                    "hovertemplate": hover(phrase("{name}: %{{y:.4g}} µs at %{{x:.4g}} s", name=name)),
                }
            )
    return plot
