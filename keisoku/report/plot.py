"""One interactive plot: traces and axes as Plotly's JSON, and the reader's choices.

Colours are names ('@device:0', '@size:2:7') that the page resolves, so that it can be light or dark. It
does not depend on methods and results.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Trace = dict[str, Any]
SYMBOLS = ("circle", "square", "diamond", "x", "star", "hexagon")
"""Of devices and curves; triangles are for bounds (`keisoku/report/points.py`)."""
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
        """Raises ValueError for a control of an axis that there is not: the page's script would end at it."""
        if unknown := {*self.scales, *self.zooms} - self.axes.keys():
            raise ValueError(f"plot {self.name} has no axis {', '.join(sorted(unknown))}")

    def add(self, trace: Trace, choices: Sequence[str] = ()) -> None:
        """Adds a trace, shown only with `choices` if any are given."""
        self.traces.append({**trace, "meta": list(choices)})

    def json(self) -> str:
        """JSON for a script element, in which no '<' can end the element. Values that are not finite are not drawn."""
        content = {
            "traces": self.traces,
            "axes": self.axes,
            "choices": self.choices,
            "height": self.height,
        }
        return json.dumps(_finite(content), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def device_colour(index: int, opacity: float | None = None) -> str:
    """The colour a device has in every plot."""
    return f"@device:{index}" if opacity is None else f"@device:{index}:{opacity}"


def size_colour(position: int, sizes: int) -> str:
    """The colour of the frame size at `position` among `sizes`, from dark to light."""
    return f"@size:{position}:{sizes}"


def size_choices(sizes: Sequence[int]) -> list[str]:
    """How frame sizes are named where a reader chooses one."""
    return [f"{size} byte" for size in sizes]


def axis(title: str, values: Sequence[float] = (), log_ratio: float = LOG_RATIO, **more: Any) -> dict[str, Any]:
    """An axis, logarithmic if the values above zero span more than `log_ratio`."""
    above = [value for value in values if value > 0]
    wide = len(above) == len(values) > 0 and max(above) / min(above) > log_ratio
    kind = {"type": "log"} if wide else {"type": "linear", "rangemode": "tozero"}
    return {"title": {"text": title}, **kind, **more}


def hover(*lines: str) -> str:
    """Text of a hover label; what users named is shown as they wrote it."""
    return "<br>".join(html.escape(line, quote=False) for line in lines)


def label(name: str) -> str:
    """A name for a legend, where Plotly would read markup."""
    return html.escape(name, quote=False)
