"""When frames were changed: a line for each change, from its first frame to its last."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, device_colour, hover, label, size_choices
from keisoku.ground.run.result import Row
from keisoku.language import phrase, plural
from keisoku.subjects.device.plot.device import Device, frame_sizes

METHOD = "changes"
CHANGE = "Change"
"""The group of rows of changes."""
_MOST = 30
"""Changes of one device and size that are drawn, those of most frames."""
_ROW_PX, _MARGIN_PX = 26, 140


def changes_plot(devices: Sequence[Device]) -> Plot | None:
    """Over the time since the first frame was due, the change; None if nothing was changed."""
    rows = [(device, row) for device in devices if (result := device.result(METHOD)) for row in result.rows]
    rows = [(device, row) for device, row in rows if row.group == CHANGE and "first" in row.figures]
    if not rows:
        return None
    sizes = [size for size in frame_sizes(devices, METHOD) if any(row.frame_bytes == size for _, row in rows)]
    most = max(len(_own(rows, device, size)) for device in devices for size in sizes)
    plot = Plot(
        name="changes",
        caption=phrase(
            "Each change from the first frame that shows it to the last. Changes of most frames are drawn first."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("time of arrival (s)")}, "rangemode": "tozero"},
            "yaxis": {"type": "category", "autorange": "reversed", "automargin": True},
        },
        choices=size_choices(sizes),
        choice_title=phrase("frame size"),
        height=max(300, _ROW_PX * most * len(devices) + _MARGIN_PX),
    )
    for device in devices:
        for size in sizes:
            for row in _own(rows, device, size):
                ends = [row.figures[name].value for name in ("first", "last")]
                text = plural(
                    "{case}: {count} frame",
                    "{case}: {count} frames",
                    case=row.case,
                    count=digits.count(int(row.figures["frames"].value)),
                )
                plot.add(
                    {
                        "x": ends,
                        "y": [row.case, row.case],
                        "mode": "lines+markers",
                        "name": label(device.name),
                        "showlegend": False,
                        "line": {"color": device_colour(device.index), "width": 3},
                        "text": [hover(device.name, text)] * 2,
                        "hovertemplate": "%{text}<extra></extra>",
                    },
                    size_choices([size]),
                )
    return plot


def _own(rows: Sequence[tuple[Device, Row]], device: Device, size: int) -> list[Row]:
    return [row for of, row in rows if of is device and row.frame_bytes == size][:_MOST]
