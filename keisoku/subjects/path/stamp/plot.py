"""Plot of a STAMP session: delays of each packet over time. Draws the rows."""

from __future__ import annotations

from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.language import phrase
from keisoku.subjects.path.stamp.analysis import Delays


def delay_plot(found: Delays) -> Plot:
    """Two-way delay, and both ways' delays above their least."""
    series = {
        phrase("two-way"): found.two_way_ns,
        phrase("forward, above its minimum"): found.forward_ns - found.forward_ns.min(),
        phrase("reverse, above its minimum"): found.reverse_ns - found.reverse_ns.min(),
    }
    delays = axis(phrase("delay, µs"), (found.two_way_ns / 1e3).tolist())
    axes = {"xaxis": axis(phrase("s since the first packet")), "yaxis": delays}
    caption = phrase(
        "Delay of each packet. One-way delays are shown above their minimum, which the clocks do not determine."
    )
    plot = Plot("delay", caption, axes, scales=["yaxis"])
    for position, (name, values) in enumerate(series.items()):
        plot.add(
            {
                "type": "scattergl",
                "mode": "markers",
                "name": name,
                "x": (found.time_ns / 1e9).tolist(),
                "y": (values / 1e3).tolist(),
                "marker": {"size": 4, "color": device_colour(position)},
                "hovertemplate": hover(phrase("{name}: %{{y:.4g}} µs at %{{x:.4g}} s", name=name)),
            }
        )
    return plot
