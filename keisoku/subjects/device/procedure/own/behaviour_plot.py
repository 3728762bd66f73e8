"""Plot of latency over time with the pieces that were found in it: one trial at a time.

It draws the pieces of the result's rows and finds none itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, device_colour, hover, label, size_choices
from keisoku.ground.run.result import Row
from keisoku.language import phrase
from keisoku.subjects.device.plot.device import Device, frame_sizes
from keisoku.subjects.device.record.trial import NS_PER_S

METHOD = "buffer_over_time"


def behaviour_plot(devices: Sequence[Device]) -> Plot | None:
    """Samples (mean, and the range from minimum to maximum) and the line of each piece; None without any."""
    shown = [
        (device, row)
        for device in devices
        if (result := device.result(METHOD))
        for row in result.rows
        if row.trial is not None
    ]
    highest = max((row.figures["max"].value for _, row in shown if "max" in row.figures), default=0.0)
    if not highest:
        return None
    divisor, unit = digits.scale("ns", highest)
    sizes = frame_sizes(devices, METHOD)
    plot = Plot(
        name="behaviour",
        caption=phrase(
            "Mean latency of each interval of one trial with the range from minimum to maximum, "
            "and the straight pieces found in it by change-point detection."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("time since the first frame (s)")}},
            "yaxis": {"title": {"text": phrase("latency ({unit})", unit=unit)}},
        },
        choices=size_choices(sizes),
        choice_title=phrase("frame size"),
        height=460,
    )
    drawn: set[tuple[int, int]] = set()
    for device, row in shown:
        choice = size_choices([row.frame_bytes])
        if (device.index, row.frame_bytes) not in drawn:
            drawn.add((device.index, row.frame_bytes))
            _add_samples(plot, device, row, choice, divisor)
        if "slope" in row.figures:
            _add_piece(plot, device, row, choice, divisor)
    return plot


def _add_samples(plot: Plot, device: Device, row: Row, choice: list[str], divisor: float) -> None:
    record = device.record(row)
    if record is None:
        return
    colour = device_colour(device.index)
    known = [(one.start_ns / NS_PER_S, one.latency) for one in record.facts.tracked.series if one.latency]
    seconds = [start_s + record.trial.interval_ns / NS_PER_S / 2 for start_s, _ in known]
    band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    plot.add({**band, "x": seconds, "y": [found.max_ns / divisor for _, found in known]}, choice)
    fill = {"fill": "tonexty", "fillcolor": device_colour(device.index, 0.13)}
    plot.add({**band, **fill, "x": seconds, "y": [found.min_ns / divisor for _, found in known]}, choice)
    plot.add(
        {
            "x": seconds,
            "y": [found.mean_ns / divisor for _, found in known],
            "mode": "markers",
            "name": label(device.name),
            "marker": {"color": colour, "size": 5},
            "text": [
                hover(
                    device.name,
                    f"{start_s:g} s: mean {found.mean_ns:,.1f} ns ({found.min_ns:,.1f} … {found.max_ns:,.1f})",
                )
                for start_s, found in known
            ],
            "hovertemplate": "%{text}<extra></extra>",
        },
        choice,
    )


def _add_piece(plot: Plot, device: Device, row: Row, choice: list[str], divisor: float) -> None:
    figures = row.figures
    record = device.record(row)
    if record is None:
        return
    ends = [figures["start"].value, figures["end"].value]
    slope = figures["slope"]
    # Results are corrected for the tester's bias, the samples of a record are not.
    raw = [
        one.latency.min_ns
        for one in record.facts.tracked.series
        if one.latency and ends[0] - record.trial.interval_ns / NS_PER_S < one.start_ns / NS_PER_S < ends[1]
    ]
    bias_ns = min(raw, default=figures["min"].value) - figures["min"].value
    constant = figures["intercept"].value + bias_ns
    plot.add(
        {
            "x": ends,
            "y": [(constant + slope.value * at_s) / divisor for at_s in ends],
            "mode": "lines",
            "name": label(f"{row.case}, {digits.value_text(slope)}"),
            "line": {"color": device_colour(device.index), "width": 2.5},
            "text": [hover(device.name, row.case, digits.text(slope))] * 2,
            "hovertemplate": "%{text}<extra></extra>",
        },
        choice,
    )
