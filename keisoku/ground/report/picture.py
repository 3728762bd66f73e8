"""The pictures of a plot on a page: the first choice is drawn, the others are kept small until the reader asks.

What a reader may change (a choice, a logarithmic axis, the range of the data) is drawn in advance. The page only
exchanges pictures, and computes none.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from keisoku.ground.report.plot import Plot
from keisoku.ground.report.svg import svg

WIDE_PX, BESIDE_PX, NARROW_PX = 960, 520, 390
"""Widths for a screen or paper, beside the answer on the first screen, and for a telephone."""
MOST_ON_PAPER = 12
_NARROW_HEIGHT, _BESIDE_HEIGHT = 0.85, 0.78


@dataclass(frozen=True)
class Picture:
    """What the page shows of one plot."""

    plot: Plot
    wide: str
    narrow: str
    """For a telephone, which has no pointer that could ask a point what it is; of the first state only."""
    pressed: dict[str, bool]
    """By axis, whether its button (`Plot.scales`) is pressed at first: the axis is logarithmic."""
    others: str
    """JSON that the page's script reads: for each other state its wide SVG element; gzip in Base64. Empty: none."""


def picture(plot: Plot, beside: bool = False) -> Picture:
    """Every state of the plot, drawn; `beside` the answer of the first screen."""
    px, high = (BESIDE_PX, round(plot.height * _BESIDE_HEIGHT)) if beside else (WIDE_PX, plot.height)
    pressed = {axis: plot.axes[axis].get("type") == "log" for axis in plot.scales}
    states = list(_states(plot, pressed))
    _, first, axes = states[0]
    height = round(plot.height * _NARROW_HEIGHT)
    kept = {key: svg(plot, px, choice, changed, high) for key, choice, changed in states[1:]}
    # Without a time in it, because the page of a run depends on nothing else.
    packed = gzip.compress(json.dumps(kept, ensure_ascii=False).encode(), compresslevel=9, mtime=0) if kept else b""
    wide, narrow = svg(plot, px, first, axes, high), svg(plot, NARROW_PX, first, axes, height, titled=False)
    return Picture(plot, wide, narrow, pressed, base64.b64encode(packed).decode())


def on_paper(plot: Plot) -> list[tuple[str, str]]:
    """Each choice of the reader, drawn small, up to `MOST_ON_PAPER`: paper has no menus."""
    return [(choice, svg(plot, BESIDE_PX, choice, titled=False)) for choice in plot.choices[:MOST_ON_PAPER]]


def _states(plot: Plot, first: dict[str, bool]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Key, choice and axes of each state, the first one first, in which buttons are pressed as `first` says. The key is
    the choice's number and, for each button in order, 0 or 1."""
    for number, choice in enumerate(plot.choices or [""]):
        for flips in product((False, True), repeat=len(plot.scales)):
            logs = {axis: first[axis] != flip for axis, flip in zip(plot.scales, flips, strict=True)}
            for fitted in (False, True) if plot.zooms else (False,):
                axes = dict(plot.axes)
                for axis, log in logs.items():
                    own_range = {"range": None} if log != first[axis] else {}
                    axes[axis] = {**axes[axis], "type": "log" if log else "linear", **own_range}
                for axis in plot.zooms if fitted else ():
                    axes[axis] = {**axes[axis], "range": None}
                bits = [*logs.values(), *([fitted] if plot.zooms else [])]
                yield f"{number}:{''.join(str(int(bit)) for bit in bits)}", choice, axes
