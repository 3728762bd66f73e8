"""One plot: traces and axes, named as Plotly names them, and the reader's choices. `svg.py` draws it.

Colours are names ('@device:0', '@size:2:7') that are resolved in the page, so that it can be light or dark. It does not
depend on methods and results.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from keisoku.language import join_texts, mapped

Trace = dict[str, Any]
SYMBOLS = ("circle", "square", "diamond", "x", "star", "hexagon")
"""Of devices and curves; triangles are for bounds (`keisoku/ground/report/points.py`)."""
LOG_RATIO = 30.0
"""An axis whose values span more than this is logarithmic until the reader changes it."""


@dataclass
class Plot:
    """What the page needs to draw one figure; `name` is its id."""

    name: str
    caption: str
    axes: dict[str, Any]
    traces: list[Trace] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    """Choices, of which one is shown at a time; a trace without `choice` is always shown."""
    choice_title: str = ""
    scales: list[str] = field(default_factory=list)
    """Axes that the reader can switch between linear and logarithmic."""
    zooms: list[str] = field(default_factory=list)
    """Axes with a fixed range that the reader can fit to the measured values."""
    height: int = 400

    def __post_init__(self) -> None:
        """Raises ValueError for a control of an axis that there is not."""
        if unknown := {*self.scales, *self.zooms} - self.axes.keys():
            raise ValueError(f"plot {self.name} has no axis {', '.join(sorted(unknown))}")

    def add(self, trace: Trace, choices: Sequence[str] = ()) -> None:
        """Adds a trace, shown only with `choices` if any are given."""
        self.traces.append({**trace, "meta": list(choices)})

    @property
    def has_an_axis(self) -> bool:
        """Whether something is drawn at two places at least of the horizontal axis: else it says nothing."""
        return len({x for trace in self.traces for x in trace.get("x", ()) if x is not None}) > 1


def device_colour(index: int, opacity: float | None = None) -> str:
    """The colour a device has in every plot, with an opacity from 0 to 1."""
    return f"@device:{index}" if opacity is None else f"@device:{index}:{opacity}"


def size_colour(position: int, sizes: int) -> str:
    """The colour of the frame size at `position` among `sizes`, from dark to light."""
    return f"@size:{position}:{sizes}"


def size_choices(sizes: Sequence[int]) -> list[str]:
    """How frame sizes are named where a reader chooses one."""
    return [f"{size} byte" for size in sizes]


def axis(title: str, values: Sequence[float] = (), log_ratio: float = LOG_RATIO, **more: Any) -> dict[str, Any]:
    """An axis, logarithmic if the values above zero, in the unit of the axis, span more than `log_ratio`."""
    above = [value for value in values if value > 0]
    wide = len(above) == len(values) > 0 and max(above) / min(above) > log_ratio
    kind = {"type": "log"} if wide else {"type": "linear", "rangemode": "tozero"}
    return {"title": {"text": title}, **kind, **more}


def hover(*lines: str) -> str:
    """Text of a hover label; what users named is shown as they wrote it."""
    return join_texts("<br>", [label(line) for line in lines])


def label(name: str) -> str:
    """A name for a legend, escaped."""
    return mapped(partial(html.escape, quote=False), name)
