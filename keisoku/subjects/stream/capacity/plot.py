"""Plot of tests of capacity: the rate of each sub-interval, and what the path carries. Draws only."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.language import phrase
from keisoku.subjects.stream.capacity.analysis import NAMES, DirectionFindings

_MEGA = 1e6


def capacity_plot(found: Sequence[DirectionFindings]) -> Plot:
    """A line of sub-intervals for each direction, and one of what the path carries."""
    axes = {
        "xaxis": axis(phrase("time, s")),
        "yaxis": axis(
            phrase("IP packets that arrived, Mb/s"), [one.bps / _MEGA for each in found for one in each.subs]
        ),
    }
    caption = phrase("Rate of each sub-interval, at its end; the broken line is the capacity.")
    plot = Plot("sub-intervals", caption, axes)
    for position, each in enumerate(found):
        colour, name = device_colour(position), NAMES[each.way]
        plot.add(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [one.at_s for one in each.subs],
                "y": [one.bps / _MEGA for one in each.subs],
                "line": {"color": colour},
                "hovertemplate": hover(phrase("{name}: %{{y:.4g}} Mb/s until %{{x:.3g}} s", name=name)),
            }
        )
        if each.full.enough:
            ends = [each.subs[0].at_s, each.subs[-1].at_s]
            plot.add(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": phrase("{name}: capacity", name=name),
                    "x": ends,
                    "y": [each.full.bps / _MEGA] * len(ends),
                    "line": {"color": colour, "dash": "dash"},
                    "hoverinfo": "skip",
                }
            )
    return plot
