"""A plot as a picture: SVG that needs no script, in the colours of the page around it or in shades of its own.

A page shows it wide and narrow (`picture.py`); a notebook shows the first choice of the reader (`plot.choices[0]`).
However many points a trace has, the picture holds no more of them than can be told apart, and says how many there are.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, Trace
from keisoku.ground.report.svg_axis import Axis
from keisoku.ground.report.svg_colour import HEAT_STEPS, heat, themed
from keisoku.ground.report.svg_points import Place, Span, columns, dots, limit, marker, steps, strokes, thinned
from keisoku.language import phrase, translated

WIDTH = 760
_LEFT, _RIGHT, _TOP, _BOTTOM, _LEGEND_ROW, _NOTE = 54, 24, 12, 52, 20, 16
_LETTER = 6.6
"""Width of a letter in pixels, as far as it can be known without the font."""
_DASHES = {"dash": "6 4", "dot": "2 3"}
_AXES = ("yaxis", "yaxis2", "yaxis3")
_STUB = 16
"""Pixels of an interval whose other end a logarithmic axis cannot show."""
_UPRIGHT = 14
"""Width of a name that is written upright, with what separates it from the next."""
_LONGEST = 36
"""Letters of such a name that are shown."""
_MOST_TITLES = 32
"""Points of a trace that say what they are when the reader points at them."""
_VALUE = re.compile(r"%\{([xy])(?::([^}]*))?\}")


def svg(
    plot: Plot,
    width: int = WIDTH,
    choice: str | None = None,
    axes: Mapping[str, Any] | None = None,
    height: int | None = None,
    titled: bool = True,
) -> str:
    """One SVG element, `width` pixels wide and as high as the plot, with a row more for each line of its legend, and
    one for the number of points where not each is drawn.

    `choice` (default: the first one) and `axes` are what a reader may change. Points are `titled` with what they are.
    """
    axes = plot.axes if axes is None else axes
    choice = choice if choice is not None else (plot.choices[0] if plot.choices else "")
    shown = [trace for trace in plot.traces if not trace["meta"] or not plot.choices or choice in trace["meta"]]
    legend, rows = _legend(shown, width)
    lengths = [len(trace["x"]) for trace in shown]
    many = limit(lengths)
    hidden = sum(length for length in lengths if length > many)
    top, bottom = _TOP + rows * _LEGEND_ROW, (height or plot.height) + rows * _LEGEND_ROW - _BOTTOM
    upright = _upright(axes, shown, bottom, top)
    names = [name for _, up in upright for _, name in up.ticks()]
    left = min(_LEFT + max((_letters(name) for name in names), default=0) * _LETTER, 0.5 * width)
    right = float(width - _RIGHT)
    across = Axis(axes.get("xaxis", {}), _values(shown, "x"), left, right)
    floor, below = _floor(across, bottom, width)
    whole = bottom + _BOTTOM + below + (_NOTE if hidden else 0)
    drawn: list[str] = []
    for own, up in upright:
        drawn += _frame(up, left, right)
        drawn += _traces(own, across, up, many, titled)
    drawn += floor
    if hidden:
        note = phrase("{count} points; those on the same pixels are drawn once.", count=digits.count(hidden))
        drawn.append(f'<text class="note" x="{right}" y="{whole - 5}" text-anchor="end">{translated(note)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {whole}" width="{width}" height="{whole}" '
        f'role="img" aria-label="{html.escape(translated(plot.caption))}" style="max-width:100%;height:auto" '
        f'font-family="sans-serif" font-size="12" fill="currentColor">{"".join(legend)}{"".join(drawn)}</svg>'
    )


def _upright(
    axes: Mapping[str, Any], shown: Sequence[Trace], bottom: float, top: float
) -> list[tuple[list[Trace], Axis]]:
    """Each vertical axis with its traces."""
    found = []
    for name in _AXES:
        if name not in axes:
            continue
        own = [trace for trace in shown if f"yaxis{trace.get('yaxis', 'y')[1:]}" == name]
        low, high = axes[name].get("domain", (0.0, 1.0))
        span = bottom - top
        found.append((own, Axis(axes[name], _values(own, "y"), bottom - low * span, bottom - high * span)))
    return found


def _values(traces: Sequence[Trace], key: str) -> list[Any]:
    found = [value for trace in traces for value in trace.get(key, ()) if value is not None]
    if key == "y":
        for trace in traces:
            errors = trace.get("error_y", {})
            above = errors.get("array", ())
            for sign, sizes in ((1, above), (-1, errors.get("arrayminus", above))):
                found += [y + sign * size for y, size in zip(trace["y"], sizes, strict=False) if y is not None]
            found += [0.0] * (trace.get("type") == "bar")
    return found


def _frame(up: Axis, left: float, right: float) -> list[str]:
    """Grid, tick labels and title of one vertical axis."""
    parts = []
    room = left - 30
    for at, text in up.ticks():
        strong = ".5" if text == "0" and up.strong_zero else ".15"
        shown = text if _letters(text) * _LETTER <= room + _LETTER else f"{text[: int(room / _LETTER)]}…"
        parts.append(f'<path d="M{left:.1f} {at:.1f}H{right}" stroke="currentColor" stroke-opacity="{strong}"/>')
        parts.append(f'<text x="{left - 6:.1f}" y="{at + 4:.1f}" text-anchor="end">{html.escape(shown)}</text>')
    middle = (up.start + up.end) / 2
    parts.append(
        f'<text class="title" transform="translate(14 {middle:.1f}) rotate(-90)" text-anchor="middle">'
        f"{html.escape(up.title)}</text>"
    )
    return parts


def _floor(across: Axis, bottom: float, width: int) -> tuple[list[str], int]:
    """The horizontal axis, below everything, and how much higher than one line its names are.

    Names of categories that do not fit beside each other are written upright, if at least every other one has room so.
    A name that would touch the one before is left out.
    """
    ticks = sorted(across.ticks())
    marks = strokes(columns([(at, bottom, bottom + 5) for at, _ in ticks]))
    parts = [f'<path d="M{across.start:.1f} {bottom}H{across.end}{marks}" stroke="currentColor" stroke-opacity=".6"/>']
    room = across.end - across.start >= len(ticks) * _UPRIGHT / 2
    upright = across.named and room and not _fits(ticks, width)
    below = round(max((min(_letters(text), _LONGEST) for _, text in ticks), default=0) * _LETTER) if upright else 0
    free = -math.inf
    for at, text in ticks:
        half = _UPRIGHT / 2 if upright else _letters(text) * _LETTER / 2
        if at - half < free:
            continue
        free = at + half + (0 if upright else 6)
        if upright:
            shown = text if _letters(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
            place = f'transform="translate({at + 4:.1f} {bottom + 10}) rotate(-90)" text-anchor="end"'
        else:
            shown, place = text, f'x="{at:.1f}" y="{bottom + 18}" text-anchor="middle"'
        parts.append(f"<text {place}>{html.escape(shown)}</text>")
    middle = (across.start + across.end) / 2
    title = html.escape(across.title)
    parts.append(f'<text class="title" x="{middle:.1f}" y="{bottom + 40 + below}" text-anchor="middle">{title}</text>')
    return parts, below


def _fits(ticks: Sequence[tuple[float, str]], width: int) -> bool:
    """Whether all names have room beside each other, and inside the picture."""
    ends = [(at - _letters(text) * _LETTER / 2, at + _letters(text) * _LETTER / 2) for at, text in ticks]
    apart = all(right + 6 <= left for (_, right), (left, _) in pairwise(ends))
    return apart and (not ends or (ends[0][0] >= 0 and ends[-1][1] <= width))


def _traces(traces: Sequence[Trace], across: Axis, up: Axis, many: int, titled: bool) -> list[str]:
    """Every trace; of one that has more than `many` points only what covers the same pixels."""
    parts: list[str] = []
    before: list[tuple[float, float]] = []
    for trace in traces:
        if trace.get("type") == "heatmap":
            parts += _matrix(trace, across, up)
            continue
        if trace.get("type") == "bar":
            parts += _bars(trace, [each for each in traces if each.get("type") == "bar"], across, up, many)
            continue
        places = [_place(across, up, x, y) for x, y in zip(trace["x"], trace["y"], strict=True)]
        points = [place for place in places if place is not None]
        if trace.get("fill") == "tonexty" and before and points:
            edges = [*thinned(before, many), *reversed(thinned(points, many))]
            parts.append(f'<path d="{steps(edges)}z" {_paint("fill", trace.get("fillcolor"))}/>')
        lined = "lines" in trace.get("mode", "lines") and trace.get("line", {}).get("width", 1.5)
        if lined:
            parts += _lines(trace, places, many)
        parts += _errors(trace, across, up, many)
        if "markers" in trace.get("mode", "lines"):
            parts += _markers(trace, places, many, titled)
        elif lined and titled:
            parts += _touched(trace, places)
        before = points
    return parts


def _place(across: Axis, up: Axis, x: Any, y: Any) -> Place:
    if x is None or y is None:
        return None
    at, height = across.place(x), up.place(y)
    return None if at is None or height is None else (at, height)


def _lines(trace: Trace, places: Sequence[Place], many: int) -> list[str]:
    """A path that is broken where a value is missing."""
    line = trace.get("line", {})
    walked = steps(thinned(places, many), stepped=line.get("shape") == "hv")
    dash = f' stroke-dasharray="{_DASHES[line["dash"]]}"' if line.get("dash") in _DASHES else ""
    paint = _paint("stroke", line.get("color"))
    drawn = f'd="{walked}" fill="none" stroke-width="{line.get("width", 1.5)}"'
    return [f'<path class="curve" {drawn} {paint}{dash}/>']


def _markers(trace: Trace, places: Sequence[Place], many: int, titled: bool) -> list[str]:
    given = trace.get("marker", {})
    symbols, sizes = (
        each if isinstance(each, list) else [each] * len(places)
        for each in (given.get("symbol", "circle"), given.get("size", 6))
    )
    colour = given.get("color") or trace.get("line", {}).get("color")
    if len(places) > many:
        return [dots(places, float(sizes[0]), _paint("stroke", colour))]
    paint = _paint("fill", colour), _paint("stroke", colour)
    return [
        marker(symbol, place, size / 2, *paint, _said(trace, index) if titled else "")
        for index, (place, symbol, size) in enumerate(zip(places, symbols, sizes, strict=True))
        if place
    ]


def _touched(trace: Trace, places: Sequence[Place]) -> list[str]:
    """Points that are not seen, and say what a line is where the reader points at it."""
    if trace.get("hoverinfo") == "skip" or not ("text" in trace or "hovertemplate" in trace):
        return []
    every = max(1, math.ceil(len(places) / _MOST_TITLES))
    seen = [(index, place) for index, place in enumerate(places) if place and index % every == 0]
    return [
        f'<circle class="touch" cx="{place[0]:.0f}" cy="{place[1]:.0f}" r="5" fill-opacity="0">'
        f"<title>{said}</title></circle>"
        for index, place in seen
        if (said := _said(trace, index))
    ]


def _said(trace: Trace, index: int) -> str:
    """What a point is, already escaped (`hover`)."""
    if trace.get("text"):
        return _lines_of(trace["text"][index])
    template = translated(trace.get("hovertemplate", "")).replace("<extra></extra>", "").replace("%{text}", "")

    def value(found: re.Match[str]) -> str:
        shown = trace[found[1]][index]
        return html.escape(
            translated(shown) if isinstance(shown, str) else format(shown, (found[2] or "g").replace("~", ""))
        )

    return _VALUE.sub(value, template).replace("<br>", "\n")


def _errors(trace: Trace, across: Axis, up: Axis, many: int) -> list[str]:
    given = trace.get("error_y")
    if not given:
        return []
    spans: list[Span] = []
    downwards = given.get("arrayminus", given["array"])
    for x, y, above, below in zip(trace["x"], trace["y"], given["array"], downwards, strict=True):
        if y is None or not (above or below):
            continue
        low, high = _place(across, up, x, y - below), _place(across, up, x, y + above)
        if high is not None:
            # To a logarithmic axis an end below zero is infinitely far: the bar only says which way it is.
            middle = up.place(y)
            lowest = low[1] if low else _STUB + (high[1] if middle is None else middle)
            spans.append((high[0], up.clamped_px(lowest), up.clamped_px(high[1])))
    return _spans("error", spans, _paint("stroke", given.get("color")), many)


def _spans(kind: str, spans: Sequence[Span], paint: str, many: int) -> list[str]:
    drawn = strokes(columns(spans, many))
    return [f'<path class="{kind}" d="{drawn}" {paint}/>'] if drawn else []


def _bars(trace: Trace, every: Sequence[Trace], across: Axis, up: Axis, many: int) -> list[str]:
    """Bars of one trace beside those of the others where bars have names, else over them."""
    named = bool(trace["x"]) and isinstance(trace["x"][0], str)
    at = sorted({spot for each in every for x in each["x"] if (spot := across.place(x)) is not None})
    apart = [one - other for one, other in zip(at[1:], at, strict=False)]
    room = 0.8 * min(apart, default=abs(across.end - across.start) / 2)
    wide = room / len(every) if named else room * 1.2
    own = next(number for number, each in enumerate(every) if each is trace)
    parts: list[str] = []
    bars: list[Span] = []
    spans: list[Span] = []
    paint = trace.get("marker", {}).get("color")
    errors = trace.get("error_y", {}).get("array") or [0.0] * len(trace["x"])
    for index, (x, y, error) in enumerate(zip(trace["x"], trace["y"], errors, strict=True)):
        place = _place(across, up, x, y)
        if place is None:
            continue
        left = place[0] - room / 2 + own * wide if named else place[0] - wide / 2
        ends = up.place(y - error), up.place(y + error)
        if error and ends[0] is not None and ends[1] is not None:
            spans.append((left + wide / 2, ends[0], ends[1]))
        if len(trace["x"]) > many:
            bars.append((left + wide / 2, up.start, min(place[1], up.start)))
            continue
        said = _lines_of(trace["hovertext"][index]) if "hovertext" in trace else _said(trace, index)
        parts.append(
            f'<rect class="bar" x="{left:.1f}" y="{place[1]:.1f}" width="{max(wide - 1, 0.5):.1f}" '
            f'height="{max(up.start - place[1], 0):.1f}" {_paint("fill", paint)}>'
            f"<title>{said}</title></rect>"
        )
    parts += _spans("bar", bars, _paint("stroke", paint), many)
    return parts + _spans("error", spans, 'stroke="currentColor"', many)


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
                f'height="{tall - 1:.1f}" fill="{heat(share)}"><title>{_lines_of(text)}</title></rect>'
            )
    return parts


def _legend(traces: Sequence[Trace], width: int) -> tuple[list[str], int]:
    """A line, or a point where there is no line, and a name for each trace that has one, in as many rows as they
    need."""
    parts: list[str] = []
    x, row = float(_LEFT), 0
    named: set[tuple[str, str]] = set()
    for trace in traces:
        name = trace.get("colorbar", {}).get("title", {}).get("text") or trace.get("name")
        name = name and translated(name)
        line = trace.get("line", {})
        shade = line.get("color") or trace.get("marker", {}).get("color")
        if not name or trace.get("showlegend") is False or (name, str(shade)) in named:
            continue
        named.add((name, str(shade)))
        scale = _scale(trace)
        room = 34 + math.ceil(_LETTER * _letters(html.unescape(name) + "".join(scale)))
        if x > _LEFT and x + room > width - _RIGHT:
            x, row = float(_LEFT), row + 1
        y = _TOP + row * _LEGEND_ROW
        dash = f' stroke-dasharray="{_DASHES[line["dash"]]}"' if line.get("dash") in _DASHES else ""
        symbol = trace.get("marker", {}).get("symbol", "circle")
        symbol = symbol[0] if isinstance(symbol, list) and symbol else symbol
        if scale:
            name = f"{name}: {scale[0]} … {scale[1]}"
            parts += [
                f'<path d="M{x + 4 * step} {y}h4" stroke-width="10" stroke="{heat(step / (HEAT_STEPS - 1))}"/>'
                for step in range(HEAT_STEPS)
            ]
        elif trace.get("mode") == "markers" and isinstance(symbol, str):
            parts.append(marker(symbol, (x + 10, y), 4, _paint("fill", shade), _paint("stroke", shade)))
        else:
            parts.append(f'<path d="M{x} {y}h20" stroke-width="2" {_paint("stroke", shade)}{dash}/>')
        parts.append(f'<text x="{x + 26}" y="{y + 4}">{name}</text>')
        x += room
    return parts, row + 1 if parts else 0


def _lines_of(text: str) -> str:
    """Of a hover label, in the reader's language."""
    return translated(text).replace("<br>", "\n")


def _letters(text: str) -> int:
    """How many small letters of English are as wide: one of Chinese or Japanese is as wide as two, and three capitals
    as four."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide + math.ceil(sum(letter.isupper() for letter in text) / 3)


def _scale(trace: Trace) -> tuple[str, str] | tuple[()]:
    """The ends of a matrix' colours; empty for any other trace."""
    known = [value for row in trace.get("z", ()) for value in row if value is not None]
    return (f"{min(known):.6g}", f"{max(known):.6g}") if known else ()


def _paint(what: str, name: str | None) -> str:
    shade, opacity = themed(name)
    return f'{what}="{shade}"' + (f' {what}-opacity="{opacity:g}"' if opacity < 1 else "")
