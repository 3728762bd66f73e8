"""Plot of a path's round trips, idle and loaded. Draws only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.language import phrase
from keisoku.subjects.line.responsiveness.condition import NAMES, Condition
from keisoku.subjects.line.responsiveness.outcome import Times

_POINTS = 200


def latency_plot(curves: Mapping[Condition, Times]) -> Plot:
    """A line for each condition: the share of packets that took no longer."""
    axes = {
        "xaxis": axis(
            phrase("round trip, ms"), [float(times[place]) / 1e6 for times in curves.values() for place in (0, -1)]
        ),
        "yaxis": axis(phrase("share of packets, %")),
    }
    plot = Plot("round-trips", phrase("Round trips of all probes of all rounds, by what loads the path."), axes)
    for position, (condition, times) in enumerate(curves.items()):
        shares = np.linspace(0, 1, min(_POINTS, len(times)))
        name = NAMES[condition]
        plot.add(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": (np.quantile(times, shares) / 1e6).tolist(),
                "y": (100 * shares).tolist(),
                "line": {"color": device_colour(position)},
                "hovertemplate": hover(phrase("{name}: %{{y:.3g}} % take at most %{{x:.4g}} ms", name=name)),
            }
        )
    return plot
