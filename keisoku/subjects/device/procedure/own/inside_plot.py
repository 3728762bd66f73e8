"""The plot of where inside a device the CPU time of a frame goes: a bar for each stage, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour, hover, label
from keisoku.ground.run.result import Row
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.plot.device import Device


def inside_plot(devices: Sequence[Device]) -> Plot | None:
    """Bars of all devices beside each other; the reader chooses the frame size and the burst. None where nobody looked
    inside."""
    found = {device: _stages(device) for device in devices}
    every = [row for rows in found.values() for row in rows]
    if not every:
        return None
    divisor, unit = digits.scale("ns", max(row.figures["part"].value for row in every))
    choices = list(dict.fromkeys(map(_choice, every)))
    plot = Plot(
        "cost-inside",
        phrase("CPU time of a frame in each stage of the device, without the tester's part, with intervals of 95 %."),
        {
            "xaxis": {"type": "category"},
            "yaxis": axis(phrase("CPU time a frame ({unit})", unit=unit), log_ratio=float("inf")),
        },
        choices=choices if len(choices) > 1 else [],
    )
    for device, rows in found.items():
        for choice in choices:
            own = [row for row in rows if _choice(row) == choice]
            plot.add(
                {
                    "type": "bar",
                    "name": label(device.name),
                    "x": [row.case for row in own],
                    "y": [max(0.0, row.figures["part"].value) / divisor for row in own],
                    "error_y": {"array": [(row.figures["part"].uncertainty or 0.0) / divisor for row in own]},
                    "marker": {"color": device_colour(device.index, 0.7)},
                    "hovertext": [hover(join_texts(": ", [row.case, digits.text(row.figures["part"])])) for row in own],
                },
                [choice] if len(choices) > 1 else [],
            )
    return plot


def _stages(device: Device) -> list[Row]:
    result = device.result("cost")
    return [row for row in result.rows if "part" in row.figures] if result else []


def _choice(row: Row) -> str:
    return join_texts(", ", [f"{row.frame_bytes} byte", row.group])
