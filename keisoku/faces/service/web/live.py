"""A run while it goes, drawn: load, loss and latency against time. It draws what the run's course says, and computes no
figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from keisoku.faces.service.course import Moment
from keisoku.ground.report.plot import Plot, axis, device_colour, label
from keisoku.ground.report.svg import svg
from keisoku.language import phrase

_Value = Callable[[Moment], float | None]
MOST_CURVES = 6
"""In a plot: there are so many colours, and the first of many message sizes show how it goes."""
WIDTHS_PX = (520, 340)
"""Of a picture on a desk, and on a telephone."""
_HEIGHT_PX = 210
_STYLE = ' style="max-width:100%;height:auto"'
"""What the page's own style sheet says, as its policy takes no style of an element."""


def pictures(course: Sequence[Moment]) -> list[tuple[str, Markup, Markup]]:
    """Each plot that has at least two moments: what it shows, and how on a desk and on a telephone."""
    intended = phrase("intended at each port")
    rates: dict[str, _Value] = {
        phrase("arrived"): lambda moment: moment.forwarded_fps,
        intended: lambda moment: moment.intended_fps,
    }
    drawn = [
        _plot("rate", phrase("Rate, in frames/s"), course, rates, dashed=intended),
        _plot("bit-rate", phrase("Received in each trial, in Mbit/s"), course, _of_each(course, _megabits)),
        _plot("loss", phrase("Not arrived until now, in %"), course, _of_each(course, lambda one: one.loss_percent)),
        _plot("latency", phrase("Mean latency of each trial, in µs"), course, _of_each(course, _latency_us)),
    ]
    return [(plot.caption, _picture(plot, WIDTHS_PX[0]), _picture(plot, WIDTHS_PX[1])) for plot in drawn if plot.traces]


def _latency_us(moment: Moment) -> float | None:
    return None if moment.latency_ns is None else moment.latency_ns / 1e3


def _of_each(course: Sequence[Moment], value: _Value) -> dict[str, _Value]:
    """A curve for each thing that moments are of alone."""

    def only(of: str) -> _Value:
        return lambda moment: value(moment) if moment.of == of else None

    return {of: only(of) for of in list(dict.fromkeys(moment.of for moment in course))[:MOST_CURVES]}


def _megabits(moment: Moment) -> float | None:
    return None if moment.bits_per_second is None else moment.bits_per_second / 1e6


def _plot(
    name: str, title: str, course: Sequence[Moment], curves: dict[str, _Value], dashed: str | None = None
) -> Plot:
    # The title is above the plot, as it may be longer than the axis.
    axes = {"xaxis": axis(phrase("Seconds since the run began")), "yaxis": axis("")}
    plot = Plot(name, title, axes, height=_HEIGHT_PX)
    for number, (called, value) in enumerate(curves.items()):
        known = [(moment.at_s, found) for moment in course if (found := value(moment)) is not None]
        if len(known) > 1:
            plot.add(
                {
                    "x": [at_s for at_s, _ in known],
                    "y": [found for _, found in known],
                    "mode": "lines+markers" if len(known) < 60 else "lines",
                    "line": {"color": device_colour(number), **({"dash": "dash"} if called == dashed else {})},
                    "marker": {"size": 5, "color": device_colour(number)},
                    **({"name": label(called)} if called else {}),
                }
            )
    return plot


def _picture(plot: Plot, width_px: int) -> Markup:
    # SVG of `svg` is made of numbers and escaped texts.
    return Markup(svg(plot, width_px, titled=False).replace(_STYLE, ""))
