"""The members' shares of the flows with their intervals, beside the shares that are expected."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour, hover, label
from keisoku.ground.report.points import points
from keisoku.ground.run.result import Row, place
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.plot.device import Device

_EXPECTED_OPACITY = 0.35


def balance_plot(devices: Sequence[Device]) -> Plot | None:
    """A point with its interval for each member, on a bar that is as high as its expected share."""
    found = [(device, rows) for device in devices if (rows := _members(device))]
    if not found:
        return None
    plot = Plot(
        name="balance",
        caption=phrase(
            "Share of the flows that each member carries, with an interval that is right for all members together; "
            "the bar is the share that is expected."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("member")}, "type": "category"},
            "yaxis": axis(phrase("share of the flows (%)")),
        },
    )
    for device, rows in found:
        alone = len({row.frame_bytes for row in rows}) == 1
        names = [label(row.case if alone else place(row)) for row in rows]
        shares = [row.figures["flow_share"] for row in rows]
        plot.add(
            {
                "type": "bar",
                "name": phrase("{device}: expected", device=label(device.name)),
                "x": names,
                "y": [row.figures["expected_share"].value for row in rows],
                "marker": {"color": device_colour(device.index, _EXPECTED_OPACITY)},
            }
        )
        plot.add(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label(device.name),
                "x": names,
                "text": [
                    hover(device.name, join_texts(": ", [place(row), digits.text(share)]))
                    for row, share in zip(rows, shares, strict=True)
                ],
                "hovertemplate": "%{text}<extra></extra>",
                **points(shares, 1, device_colour(device.index), "circle"),
            }
        )
    return plot


def _members(device: Device) -> list[Row]:
    result = device.result("balance")
    return [row for row in (result.rows if result else []) if {"flow_share", "expected_share"} <= row.figures.keys()]
