"""What each exporter says beside the truth, with the interval of its estimate."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour, hover, label
from keisoku.ground.report.points import points
from keisoku.ground.run.result import Row, place
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.plot.device import Device


def telemetry_plot(devices: Sequence[Device]) -> Plot | None:
    """A point with its interval for each exporter; the truth is zero."""
    found = [(device, rows) for device in devices if (rows := _rows(device))]
    if not found:
        return None
    plot = Plot(
        name="telemetry",
        caption=phrase("How far the exports are from the truth, with the interval of the estimate; zero is the truth."),
        axes={
            "xaxis": {"title": {"text": phrase("exporter")}, "type": "category"},
            "yaxis": axis(phrase("frames, exported beside true (%)")),
        },
    )
    for device, rows in found:
        biases = [row.figures["bias"] for row in rows]
        plot.add(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label(device.name),
                "x": [label(place(row)) for row in rows],
                "text": [
                    hover(device.name, join_texts(": ", [place(row), digits.text(bias)]))
                    for row, bias in zip(rows, biases, strict=True)
                ],
                "hovertemplate": "%{text}<extra></extra>",
                **points(biases, 1, device_colour(device.index), "circle"),
            }
        )
    return plot


def _rows(device: Device) -> list[Row]:
    result = device.result("telemetry")
    return [row for row in (result.rows if result else []) if "bias" in row.figures]
