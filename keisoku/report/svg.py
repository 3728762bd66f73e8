"""A plot as a static picture: SVG without the page's scripts, fonts and colours, for notebooks and untrusted pages.

It shows the first choice of the report's page (`plot.choices[0]`).
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from keisoku.report.plot import Plot, Trace
from keisoku.report.svg_axis import Axis
from keisoku.report.svg_colour import colour, heat

WIDTH = 760
_LEFT, _RIGHT, _TOP, _BOTTOM, _LEGEND_ROW = 76, 24, 12, 52, 20
_DASHES = {"dash": "6 4", "dot": "2 3"}
_AXES = ("yaxis", "yaxis2", "yaxis3")


def svg(plot: Plot, width: int = WIDTH) -> str:
    """One SVG element, `width` pixels wide and as high as the plot, with a row more for each line of its legend."""
    shown = [
        trace for trace in plot.traces if not trace["meta"] or not plot.choices or plot.choices[0] in trace["meta"]
    ]
    legend, rows = _legend(shown, width)
    top, height = _TOP + rows * _LEGEND_ROW, plot.height + rows * _LEGEND_ROW
    left, right, bottom = _LEFT, width - _RIGHT, height - _BOTTOM
    across = Axis(plot.axes["xaxis"], _values(shown, "x"), left, right)
    drawn: list[str] = []
    for name in _AXES:
        if name not in plot.axes:
            continue
        own = [trace for trace in shown if f"yaxis{trace.get('yaxis', 'y')[1:]}" == name]
        low, high = plot.axes[name].get("domain", (0.0, 1.0))
        span = bottom - top
        up = Axis(plot.axes[name], _values(own, "y"), bottom - low * span, bottom - high * span)
        drawn += _frame(up, left, right)
        drawn += _traces(own, across, up)
    drawn += _floor(across, bottom, top)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" style="max-width:100%;height:auto" font-family="sans-serif" font-size="12" fill="currentColor">'
        f"<title>{html.escape(plot.caption)}</title>{''.join(legend)}{''.join(drawn)}</svg>"
    )


def _values(traces: Sequence[Trace], key: str) -> list[Any]:
    found = [value for trace in traces for value in trace.get(key, ()) if value is not None]
    if key == "y":
        for trace in traces:
            errors = trace.get("error_y", {}).get("array", ())
            found += [y + error for y, error in zip(trace["y"], errors, strict=False) if y is not None]
    return found


def _frame(up: Axis, left: float, right: float) -> list[str]:
    """Grid, tick labels and title of one vertical axis."""
    parts = []
    for at, text in up.ticks():
        parts.append(f'<path d="M{left} {at:.1f}H{right}" stroke="currentColor" stroke-opacity=".15"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{html.escape(text)}</text>')
    middle = (up.start + up.end) / 2
    parts.append(
        f'<text transform="translate(14 {middle:.1f}) rotate(-90)" text-anchor="middle">{html.escape(up.title)}</text>'
    )
    return parts


def _floor(across: Axis, bottom: float, top: float) -> list[str]:
    """The horizontal axis, below everything."""
    parts = [f'<path d="M{across.start} {bottom}H{across.end}" stroke="currentColor" stroke-opacity=".6"/>']
    for at, text in across.ticks():
        parts.append(f'<path d="M{at:.1f} {bottom}v5" stroke="currentColor" stroke-opacity=".6"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{html.escape(text)}</text>')
    middle = (across.start + across.end) / 2
    parts.append(f'<text x="{middle}" y="{bottom + 40}" text-anchor="middle">{html.escape(across.title)}</text>')
    return parts


def _traces(traces: Sequence[Trace], across: Axis, up: Axis) -> list[str]:
    parts: list[str] = []
    before: list[tuple[float, float]] = []
    for trace in traces:
        if trace.get("type") == "heatmap":
            parts += _matrix(trace, across, up)
            continue
        places = [_place(across, up, x, y) for x, y in zip(trace["x"], trace["y"], strict=True)]
        points = [place for place in places if place is not None]
        if trace.get("fill") == "tonexty" and before and points:
            outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*before, *reversed(points)])
            parts.append(f'<polygon points="{outline}" {_paint("fill", trace.get("fillcolor"))}/>')
        if "lines" in trace.get("mode", "lines") and trace.get("line", {}).get("width", 1.5):
            parts += _lines(trace, places)
        parts += _errors(trace, across, up)
        if "markers" in trace.get("mode", "lines"):
            parts += _markers(trace, places)
        before = points
    return parts


def _place(across: Axis, up: Axis, x: Any, y: Any) -> tuple[float, float] | None:
    if x is None or y is None:
        return None
    at, height = across.place(x), up.place(y)
    return None if at is None or height is None else (at, height)


def _lines(trace: Trace, places: Sequence[tuple[float, float] | None]) -> list[str]:
    """A path that is broken where a value is missing."""
    line, stepped = trace.get("line", {}), trace.get("line", {}).get("shape") == "hv"
    steps: list[str] = []
    broken = True
    for place in places:
        if not place:
            broken = True
            continue
        x, y = place
        steps.append(f"M{x:.1f} {y:.1f}" if broken else f"H{x:.1f}V{y:.1f}" if stepped else f"L{x:.1f} {y:.1f}")
        broken = False
    dash = f' stroke-dasharray="{_DASHES[line["dash"]]}"' if line.get("dash") in _DASHES else ""
    paint = _paint("stroke", line.get("color"))
    return [f'<path d="{"".join(steps)}" fill="none" stroke-width="{line.get("width", 1.5)}" {paint}{dash}/>']


def _markers(trace: Trace, places: Sequence[tuple[float, float] | None]) -> list[str]:
    marker = trace.get("marker", {})
    texts = trace.get("text") or [""] * len(places)
    symbols, sizes = (
        given if isinstance(given, list) else [given] * len(places)
        for given in (marker.get("symbol", "circle"), marker.get("size", 6))
    )
    return [
        _marker(symbol, place, size / 2, marker.get("color"), text)
        for place, text, symbol, size in zip(places, texts, symbols, sizes, strict=True)
        if place
    ]


def _marker(symbol: str, place: tuple[float, float], radius: float, shade: str | None, text: str = "") -> str:
    """An open triangle for a bound, a circle for any other point."""
    x, y = place
    title = f"<title>{text.replace('<br>', chr(10))}</title>"
    if not symbol.startswith("triangle"):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" {_paint("fill", shade)}>{title}</circle>'
    tip, base = (-radius, radius) if "up" in symbol else (radius, -radius)
    outline = f"M{x:.1f} {y + tip:.1f}L{x - radius:.1f} {y + base:.1f}H{x + radius:.1f}Z"
    return f'<path d="{outline}" fill="none" stroke-width="1.5" {_paint("stroke", shade)}>{title}</path>'


def _errors(trace: Trace, across: Axis, up: Axis) -> list[str]:
    given = trace.get("error_y")
    if not given:
        return []
    parts = []
    downwards = given.get("arrayminus", given["array"])
    for x, y, above, below in zip(trace["x"], trace["y"], given["array"], downwards, strict=True):
        if y is None or not (above or below):
            continue
        low, high = _place(across, up, x, y - below), _place(across, up, x, y + above)
        if low is not None and high is not None:
            paint = _paint("stroke", given.get("color"))
            parts.append(f'<path d="M{low[0]:.1f} {low[1]:.1f}V{high[1]:.1f}" {paint}/>')
    return parts


def _matrix(trace: Trace, across: Axis, up: Axis) -> list[str]:
    """Cells of one colour scale; a cell's value is its tooltip."""
    known = [value for row in trace["z"] for value in row if value is not None]
    if not known:
        return []
    low, high = min(known), max(known)
    wide = abs(across.end - across.start) / max(1, len(trace["x"]))
    tall = abs(up.end - up.start) / max(1, len(trace["y"]))
    parts = []
    for name, row, texts in zip(trace["y"], trace["z"], trace["text"], strict=True):
        for other, value, text in zip(trace["x"], row, texts, strict=True):
            x, y = across.place(other), up.place(name)
            if value is None or x is None or y is None:
                continue
            share = (value - low) / (high - low) if high > low else 0.5
            parts.append(
                f'<rect x="{x - wide / 2 + 0.5:.1f}" y="{y - tall / 2 + 0.5:.1f}" width="{wide - 1:.1f}" '
                f'height="{tall - 1:.1f}" fill="{heat(share)}"><title>{text.replace("<br>", chr(10))}</title></rect>'
            )
    return parts


def _legend(traces: Sequence[Trace], width: int) -> tuple[list[str], int]:
    """A line, or a point where there is no line, and a name for each trace that has one, in as many rows as they
    need."""
    parts: list[str] = []
    x, row = _LEFT, 0
    for trace in traces:
        name = trace.get("name")
        if not name or trace.get("showlegend") is False:
            continue
        room = 34 + math.ceil(6.6 * len(html.unescape(name)))
        if x > _LEFT and x + room > width - _RIGHT:
            x, row = _LEFT, row + 1
        y = _TOP + row * _LEGEND_ROW
        line = trace.get("line", {})
        shade = line.get("color") or trace.get("marker", {}).get("color")
        dash = f' stroke-dasharray="{_DASHES[line["dash"]]}"' if line.get("dash") in _DASHES else ""
        symbol = trace.get("marker", {}).get("symbol")
        if trace.get("mode") == "markers" and isinstance(symbol, str):
            parts.append(_marker(symbol, (x + 10, y), 4, shade))
        else:
            parts.append(f'<path d="M{x} {y}h20" stroke-width="2" {_paint("stroke", shade)}{dash}/>')
        parts.append(f'<text x="{x + 26}" y="{y + 4}">{name}</text>')
        x += room
    return parts, row + 1 if parts else 0


def _paint(what: str, name: str | None) -> str:
    shade, opacity = colour(name)
    return f'{what}="{shade}"' + (f' {what}-opacity="{opacity:g}"' if opacity < 1 else "")
