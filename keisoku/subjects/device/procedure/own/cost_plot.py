"""The CPU time of a frame against its size, a curve for each size of the bursts. It computes no figure."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import SYMBOLS, Plot, device_colour, hover, label
from keisoku.ground.report.points import points
from keisoku.ground.run.result import Row, place
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.plot.device import Device

_DASHES = ("solid", "dash", "dot")


def cost_plot(devices: Sequence[Device]) -> Plot | None:
    """Over the frame size; over the bursts where only one size was measured. None without two points."""
    found = [(device, rows) for device in devices if (rows := _rows(device))]
    every = [row for _, rows in found for row in rows]
    if len({(row.frame_bytes, row.case) for row in every}) < 2:
        return None
    sizes = sorted({row.frame_bytes for row in every})
    divisor, unit = digits.scale("ns", max(row.figures["cost"].value for row in every))
    by_size = len(sizes) > 1
    plot = Plot(
        name="cost-size",
        caption=phrase(
            "CPU time that a frame takes in the device, without the tester's part, with its interval of 95 %."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("frame size (byte)")}, "tickvals": sizes, "ticktext": [*map(str, sizes)]}
            if by_size
            else {"type": "category"},
            "yaxis": {"title": {"text": phrase("CPU time a frame ({unit})", unit=unit)}, "rangemode": "tozero"},
        },
    )
    cases = list(dict.fromkeys(row.case for row in every))
    for device, rows in found:
        for number, case in enumerate(cases if by_size else [""]):
            own = [row for row in rows if row.case == case or not by_size]
            _add(plot, device, own, number, divisor, by_size)
    return plot


def _rows(device: Device) -> list[Row]:
    result = device.result("cost")
    return sorted((row for row in result.rows if "cost" in row.figures), key=_size) if result else []


def _size(row: Row) -> int:
    return row.frame_bytes or 0


def _add(plot: Plot, device: Device, rows: Sequence[Row], number: int, divisor: float, by_size: bool) -> None:
    if not rows:
        return
    colour = device_colour(device.index)
    name = join_texts(" · ", [device.name, rows[0].case]) if by_size and rows[0].case else device.name
    plot.add(
        {
            "x": [row.frame_bytes if by_size else row.case for row in rows],
            "mode": "lines+markers",
            "name": label(name),
            "line": {"color": colour, "width": 2, "dash": _DASHES[number % len(_DASHES)]},
            "text": [
                hover(device.name, join_texts(": ", [place(row), digits.text(row.figures["cost"])])) for row in rows
            ],
            "hovertemplate": "%{text}<extra></extra>",
            **points([row.figures["cost"] for row in rows], divisor, colour, SYMBOLS[number % len(SYMBOLS)]),
        }
    )
