"""Points of a picture: symbols, and what is left of more points than can be told apart."""

from __future__ import annotations

from collections.abc import Sequence

Place = tuple[float, float] | None
"""In pixels; None where a value is missing."""
MANY = 1500
"""A trace of more points is thinned."""
_CELL_PX = 2
"""Points in one square of this width are one."""


def thinned(places: Sequence[Place]) -> list[Place]:
    """Of each column of pixels the first, lowest, highest and last point, where there are many; all of few points."""
    if len(places) <= MANY:
        return list(places)
    kept: list[Place] = []
    column: list[tuple[float, float]] = []
    for place in (*places, None):
        if column and (place is None or round(place[0]) != round(column[0][0])):
            kept += _ends(column)
            column = []
        if place is not None:
            column.append(place)
        elif kept and kept[-1] is not None:
            kept.append(None)
    return kept


def _ends(column: Sequence[tuple[float, float]]) -> list[Place]:
    lowest = min(range(len(column)), key=lambda index: column[index][1])
    highest = max(range(len(column)), key=lambda index: column[index][1])
    return [column[index] for index in sorted({0, lowest, highest, len(column) - 1})]


def distinct(places: Sequence[Place]) -> list[tuple[int, int]] | None:
    """The squares in which many points lie, in order; None for few points, each of which is shown."""
    if len(places) <= MANY:
        return None
    cells = {(round(place[0] / _CELL_PX), round(place[1] / _CELL_PX)): None for place in places if place}
    return [(x * _CELL_PX, y * _CELL_PX) for x, y in cells]


def dots(places: Sequence[tuple[int, int]], size: float, stroke: str) -> str:
    """All of them as one path, a round dot each."""
    steps = "".join(f"M{x} {y}h0" for x, y in places)
    return f'<path class="points" d="{steps}" fill="none" stroke-linecap="round" stroke-width="{size:g}" {stroke}/>'


def marker(symbol: str, place: tuple[float, float], radius: float, fill: str, stroke: str, said: str = "") -> str:
    """One symbol as `keisoku/report/plot.py` names it; triangles are open. `said` is escaped already."""
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
