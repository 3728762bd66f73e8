"""Points of a picture: symbols, and what is left of more points than can be told apart."""

from __future__ import annotations

from collections.abc import Sequence

Place = tuple[float, float] | None
"""In pixels; None where a value is missing."""
Span = tuple[float, float, float]
"""An upright line: where it is, and its two ends, in pixels."""
MANY = 1500
"""A trace of more points is thinned."""
_MOST = 6000
"""Points of a whole picture that are shown one by one: a browser needs seconds for many more."""
_CELL_PX = 2
"""Points in one square of this width are one."""


def limit(lengths: Sequence[int]) -> int:
    """How many points a trace may have that is not thinned, among traces of these lengths: fewer in a full picture."""
    return MANY if sum(lengths) <= _MOST else min(MANY, _MOST // len(lengths))


def thinned(places: Sequence[Place], many: int = MANY) -> list[Place]:
    """Of each column the first, lowest, highest and last point, of more than `many` points; else all.

    A column is one pixel wide, and wider where so many traces share a picture that `many` is less than its width: a
    browser would need seconds for all.
    """
    if len(places) <= many:
        return list(places)
    known = [place[0] for place in places if place]
    wide = max(1.0, (max(known, default=0.0) - min(known, default=0.0)) / many)
    kept: list[Place] = []
    column: list[tuple[float, float]] = []
    for place in (*places, None):
        if column and (place is None or round(place[0] / wide) != round(column[0][0] / wide)):
            kept += _ends(column, wide)
            column = []
        if place is not None:
            column.append(place)
        elif kept and kept[-1] is not None:
            kept.append(None)
    return kept


def _ends(column: Sequence[tuple[float, float]], wide: float) -> list[Place]:
    lowest = min(range(len(column)), key=lambda index: column[index][1])
    highest = max(range(len(column)), key=lambda index: column[index][1])
    middle = round(column[0][0] / wide) * wide
    return [(middle, column[index][1]) for index in sorted({0, lowest, highest, len(column) - 1})]


def columns(spans: Sequence[Span], many: int = MANY) -> list[Span]:
    """Of more than `many` upright lines one for each column of pixels, which covers all that are in it; else all."""
    if len(spans) <= many:
        return list(spans)
    ends: dict[int, tuple[float, float]] = {}
    for x, one, other in spans:
        low, high = ends.get(round(x), (one, one))
        ends[round(x)] = min(low, one, other), max(high, one, other)
    return [(float(x), low, high) for x, (low, high) in ends.items()]


def strokes(spans: Sequence[Span]) -> str:
    """The upright lines as the steps of one path."""
    return "".join(f"M{x:.1f} {one:.1f}V{other:.1f}" for x, one, other in spans)


def steps(places: Sequence[Place], stepped: bool = False) -> str:
    """A line through the places, broken where one is missing; `stepped` goes across before it goes up.

    Each step says how far it is from the last place, in tenths of a pixel of the picture: few letters, and alike ones,
    which a page keeps small. It starts from where the last step ended, so that nothing is rounded twice.
    """
    walked: list[str] = []
    last: tuple[int, int] | None = None
    for place in places:
        if not place:
            last = None
            continue
        x, y = (round(10 * each) for each in place)
        if last is None:
            walked.append(f"M{x / 10:g} {y / 10:g}")
        else:
            across, down = ((now - then) / 10 for now, then in zip((x, y), last, strict=True))
            if stepped or not across or not down:
                walked.append((f"h{across:g}" if across else "") + (f"v{down:g}" if down else ""))
            else:
                walked.append(f"l{across:g} {down:g}")
        last = x, y
    return "".join(walked)


def dots(places: Sequence[Place], size: float, stroke: str) -> str:
    """Points as one path of round dots; those of one square are one, and neighbouring squares of a row are a line.

    Places and sizes are in pixels.
    """
    rows: dict[int, set[int]] = {}
    for place in places:
        if place:
            rows.setdefault(round(place[1] / _CELL_PX), set()).add(round(place[0] / _CELL_PX))
    steps: list[str] = []
    for row, cells in rows.items():
        ordered = sorted(cells)
        first = last = ordered[0]
        steps.append(f"M{first * _CELL_PX} {row * _CELL_PX}")
        for cell in ordered[1:]:
            if cell > last + 1:
                steps.append(f"h{(last - first) * _CELL_PX}m{(cell - last) * _CELL_PX} 0")
                first = cell
            last = cell
        steps.append(f"h{(last - first) * _CELL_PX}")
    drawn = "".join(steps)
    return f'<path class="points" d="{drawn}" fill="none" stroke-linecap="round" stroke-width="{size:g}" {stroke}/>'


def marker(symbol: str, place: tuple[float, float], radius: float, fill: str, stroke: str, said: str = "") -> str:
    """One symbol as `keisoku/ground/report/plot.py` names it; triangles are open. `said` is escaped already.

    The place and the radius are in pixels.
    """
    (x, y), r = place, radius
    title = f"<title>{said}</title>" if said else ""
    d = 1.3 * r
    outlines = {
        "square": f"M{x - r:.1f} {y - r:.1f}h{2 * r:g}v{2 * r:g}h{-2 * r:g}z",
        "diamond": f"M{x:.1f} {y - d:.1f}l{d:g} {d:g}l{-d:g} {d:g}l{-d:g} {-d:g}z",
        "hexagon": f"M{x - r:.1f} {y:.1f}l{r / 2:g} {-r:g}h{r:g}l{r / 2:g} {r:g}l{-r / 2:g} {r:g}h{-r:g}z",
    }
    if symbol in outlines:
        return f'<path class="point" d="{outlines[symbol]}" {fill}>{title}</path>'
    tip, base = (-radius, radius) if "up" in symbol else (radius, -radius)
    open_outlines = {
        "x": f"M{x - r:.1f} {y - r:.1f}l{2 * r:g} {2 * r:g}M{x - r:.1f} {y + r:.1f}l{2 * r:g} {-2 * r:g}",
        "star": f"M{x - r:.1f} {y:.1f}h{2 * r:g}M{x:.1f} {y - r:.1f}v{2 * r:g}",
        "triangle": f"M{x:.1f} {y + tip:.1f}L{x - radius:.1f} {y + base:.1f}H{x + radius:.1f}Z",
    }
    outline = open_outlines.get(symbol.split("-")[0])
    if outline is None:
        return f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {fill}>{title}</circle>'
    return f'<path class="point" d="{outline}" fill="none" stroke-width="1.5" {stroke}>{title}</path>'
