"""The search for one throughput: every trial's load in the order of time, and whether it lost."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, device_colour, hover, label
from keisoku.language import phrase
from keisoku.subjects.device.method.search import is_of_search
from keisoku.subjects.device.plot.device import Device, frame_sizes

METHOD = "throughput"


def search_plot(devices: Sequence[Device]) -> Plot | None:
    """For runs of one frame size, which have nothing to be plotted against; None for several sizes."""
    if len(frame_sizes(devices, METHOD)) != 1:
        return None
    found = {
        device: [one for one in device.run.records if one.method == METHOD and is_of_search(one)]
        for device in devices
        if device.run.records
    }
    rates = [record.offered_fps for records in found.values() for record in records]
    if len(rates) < 2:
        return None
    divisor, unit = digits.scale("frames/s", max(rates))
    plot = Plot(
        name="search",
        caption=phrase(
            "Load of every trial of the search in the order of time: a cross where frames were lost, a circle where"
            " none was, a square where the tester itself fell short."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("trial")}},
            "yaxis": {"title": {"text": phrase("load ({unit})", unit=unit)}, "rangemode": "tozero"},
        },
    )
    for device, records in found.items():
        plot.add(
            {
                "x": [record.index for record in records],
                "y": [record.offered_fps / divisor for record in records],
                "mode": "lines+markers",
                "name": label(device.name),
                "line": {"color": device_colour(device.index), "width": 1.2},
                "marker": {
                    "color": device_colour(device.index),
                    "size": 9,
                    "symbol": [
                        "square" if not record.valid else "x" if record.facts.tracked.lost_frames else "circle"
                        for record in records
                    ],
                },
                "text": [
                    hover(
                        phrase("{name}, trial {index}", name=device.name, index=record.index),
                        phrase(
                            "{rate} frames/s, {lost} lost",
                            rate=digits.count(round(record.offered_fps)),
                            lost=digits.count(record.facts.tracked.lost_frames),
                        ),
                    )
                    for record in records
                ],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    return plot
