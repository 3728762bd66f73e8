"""The marking curve: the share of marked frames against the queue that each of them met. It computes no figure."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, device_colour, hover, label, size_choices
from keisoku.ground.report.points import points
from keisoku.ground.run.result import Row
from keisoku.language import phrase
from keisoku.subjects.device.plot.device import Device, frame_sizes, rows_of_curves

METHOD = "marking"


def marking_plot(devices: Sequence[Device]) -> Plot | None:
    """Over the queue, the marked frames in %; None without any."""
    rows = rows_of_curves(devices, METHOD)
    if not rows:
        return None
    divisor, unit = digits.scale("byte", max(row.at.value for _, row in rows if row.at))
    sizes = frame_sizes(devices, METHOD)
    plot = Plot(
        name="marking",
        caption=phrase("Share of marked frames against the queue that each frame met, with intervals of 95 %."),
        axes={
            "xaxis": {"title": {"text": phrase("queue ({unit})", unit=unit)}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": phrase("marked frames (%)")}, "range": [-4, 104]},
        },
        choices=size_choices(sizes),
        choice_title=phrase("frame size"),
    )
    for device in devices:
        for size in sizes:
            own = [row for of, row in rows if of is device and row.frame_bytes == size]
            if own:
                _add(plot, device, own, divisor)
    return plot


def _add(plot: Plot, device: Device, rows: Sequence[Row], divisor: float) -> None:
    shares = [row.figures["marked"] for row in rows]
    plot.add(
        {
            "x": [row.at.value / divisor for row in rows if row.at],
            "mode": "markers+lines",
            "name": label(device.name),
            "line": {"color": device_colour(device.index)},
            "text": [
                hover(device.name, f"{row.case}: {digits.text(share)}") for row, share in zip(rows, shares, strict=True)
            ],
            "hovertemplate": "%{text}<extra></extra>",
            **points(shares, 1, device_colour(device.index), "circle"),
        },
        size_choices([rows[0].frame_bytes]),
    )
