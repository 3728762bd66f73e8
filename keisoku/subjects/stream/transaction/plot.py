"""Plot of transactions: how long the slowest ones take, out of how many. Draws only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.language import phrase
from keisoku.subjects.stream.transaction.analysis import Times
from keisoku.subjects.stream.transaction.settings import TransactionSettings

_POINTS = 200


def latency_plot(settings: TransactionSettings, curves: Mapping[str, Times]) -> Plot:
    """A line for each of the sorted times (ns); those that failed are beyond its end."""
    longest = max(len(times) for times in curves.values())
    finite = [float(value) / 1e3 for times in curves.values() for value in times[[0, -1]] if np.isfinite(value)]
    axes = {
        "xaxis": {"title": {"text": phrase("one in so many takes longer")}, "type": "log"},
        "yaxis": axis(phrase("time, µs"), finite),
    }
    caption = phrase(
        "Times of all transactions: one in 2 takes longer than the median, one in 100 longer than 99 % of them."
    )
    plot = Plot("times", caption, axes, scales=["yaxis"])
    for position, (name, times) in enumerate(curves.items()):
        if not len(times):
            continue
        one_in = np.unique(np.geomspace(1.0, max(longest, 2), _POINTS))
        one_in = one_in[one_in <= len(times)]
        ranks = np.clip(np.ceil((1 - 1 / one_in) * len(times)).astype(int) - 1, 0, len(times) - 1)
        values = times[ranks]
        known = np.isfinite(values)
        plot.add(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": one_in[known].tolist(),
                "y": (values[known] / 1e3).tolist(),
                "line": {"color": device_colour(position)},
                "hovertemplate": hover(phrase("{name}: one in %{{x:.4g}} takes longer than %{{y:.4g}} µs", name=name)),
            }
        )
    return plot
