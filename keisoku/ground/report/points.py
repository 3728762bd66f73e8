"""Figures as points of a plot: filled where measured, a triangle where only a bound is known, a gap where nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keisoku.ground.report.plot import Plot, Trace
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase

BOUND_SYMBOLS = {"at least": "triangle-up-open", "at most": "triangle-down-open"}
"""Each points to where the figure may lie. No device and no curve has such a symbol (`SYMBOLS`)."""
_BOUND_NAMES = {
    "at least": phrase("at least: only a bound is known"),
    "at most": phrase("at most: only a bound is known"),
}
BOUND_LARGER = 4
"""In pixels, so that a triangle stands out from its line."""


def points(figures: Sequence[Quantity | None], divisor: float, colour: str, symbol: str, size: float = 8) -> Trace:
    """'y', 'marker' and, where an interval is known, 'error_y' of a trace; a line is broken at each None.

    Values are divided by `divisor` units of the axis; `size` is in pixels.
    """
    bounds = [figure.bound if figure else "" for figure in figures]
    trace: Trace = {
        "y": [None if figure is None else figure.value / divisor for figure in figures],
        "marker": {
            "color": colour,
            "opacity": 1,  # which Plotly lowers for points of different sizes
            "size": [size + BOUND_LARGER if bound else size for bound in bounds],
            "symbol": [BOUND_SYMBOLS.get(bound, symbol) for bound in bounds],
            "line": {"width": [2 if bound else 0 for bound in bounds]},
        },
    }
    sides = [_sides(figure) for figure in figures]
    if any(below or above for below, above in sides):
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [above / divisor for _, above in sides],
            "arrayminus": [below / divisor for below, _ in sides],
            "color": colour,
            "thickness": 1,
            "width": 3,
        }
    return trace


def add_bound_legend(plot: Plot, figures: Iterable[Quantity | None], choices: Sequence[str] = ()) -> None:
    """An entry of the legend for each kind of bound among the figures; none where every figure was measured."""
    kinds = {figure.bound for figure in figures if figure is not None}
    for kind, symbol in BOUND_SYMBOLS.items():
        if kind in kinds:
            plot.add(
                {
                    "x": [None],
                    "y": [None],
                    "mode": "markers",
                    "name": _BOUND_NAMES[kind],
                    "marker": {"color": "@muted", "size": 8 + BOUND_LARGER, "symbol": symbol, "line": {"width": 2}},
                    "hoverinfo": "skip",
                },
                choices,
            )


def _sides(figure: Quantity | None) -> tuple[float, float]:
    """How far the figure's interval extends downwards and upwards; nothing for a bound, whose triangle says it, or
    for a figure that is shown without one."""
    if figure is None or figure.bound or figure.bounds is None or figure.covers == "repetitions":
        return 0.0, 0.0
    lower, upper = figure.bounds
    return figure.value - lower, upper - figure.value
