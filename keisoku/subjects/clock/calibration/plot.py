"""Plot of the residuals of a line through readings of a counter, with the width of each reading. Computes nothing."""

from __future__ import annotations

from keisoku.ground.report.plot import Plot, device_colour
from keisoku.language import phrase
from keisoku.subjects.clock.frequency import Fit

POINTS_MOST = 5000


def residual_plot(fit: Fit) -> Plot:
    """Residuals against time; of very many readings every n-th."""
    every = max(1, len(fit.at_s) // POINTS_MOST)
    axes = {
        "xaxis": {"title": {"text": phrase("time from the first reading (s)")}},
        "yaxis": {"title": {"text": phrase("counter ahead of the line (ns)")}},
    }
    caption = phrase(
        "Residuals of the least-squares line; the bars are half of each bracket, the bound of a single reading."
    )
    plot = Plot("residuals", caption, axes)
    plot.add(
        {
            "type": "scatter",
            "mode": "markers",
            "x": fit.at_s[::every].tolist(),
            "y": fit.residual_ns[::every].tolist(),
            "error_y": {"type": "data", "array": fit.half_width_ns[::every].tolist(), "width": 0, "thickness": 0.5},
            "marker": {"size": 4, "color": device_colour(0)},
            "hovertemplate": "%{x:.3f} s: %{y:.1f} ns<extra></extra>",
        }
    )
    return plot
