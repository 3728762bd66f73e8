"""The curve of clean trials against load: its posterior band, and every trial as a point. It computes no figure."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import SYMBOLS, Plot, device_colour, hover, label, size_choices
from keisoku.ground.run.result import Row
from keisoku.language import phrase
from keisoku.subjects.device.plot.device import Device, frame_sizes, rows_of_curves
from keisoku.subjects.device.record.trial_record import TrialRecord

METHOD = "critical_load"


def critical_load_plot(devices: Sequence[Device]) -> Plot | None:
    """Over the load, the share of clean trials in %; None without a curve.

    A point is a valid trial: at 100 % if no frame was lost, at 0 % if one was.
    """
    rows = rows_of_curves(devices, METHOD)
    if not rows:
        return None
    divisor, unit = digits.scale("frames/s", max(row.figures["load"].value for _, row in rows))
    sizes = frame_sizes(devices, METHOD)
    plot = Plot(
        name="critical-load",
        caption=phrase(
            "Share of clean trials against load: median and 95 % credible band of the curve. "
            "Each point is a trial, at 100 % if no frame was lost and at 0 % if one was."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("load ({unit})", unit=unit)}},
            "yaxis": {"title": {"text": phrase("clean trials (%)")}, "range": [-4, 104]},
        },
        choices=size_choices(sizes),
        choice_title=phrase("frame size"),
    )
    for device in devices:
        for size in sizes:
            own = [row for of, row in rows if of is device and row.frame_bytes == size]
            _add_trials(plot, device, size, divisor)
            if own:
                _add_curve(plot, device, own, divisor)
    return plot


def _add_curve(plot: Plot, device: Device, rows: list[Row], divisor: float) -> None:
    choice = size_choices([rows[0].frame_bytes])
    shares = [row.at.value for row in rows if row.at]
    ends = [row.figures["load"].bounds or (row.figures["load"].value,) * 2 for row in rows]
    # The band is as wide as the loads that the trials have reached; an interval down to zero is cut there.
    least = min(record.offered_fps for record in _trials(device, rows[0].frame_bytes))
    band = {"y": shares, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    plot.add({**band, "x": [max(least, low) / divisor for low, _ in ends]}, choice)
    fill = {"fill": "tonexty", "fillcolor": device_colour(device.index, 0.15)}
    plot.add({**band, **fill, "x": [high / divisor for _, high in ends]}, choice)
    plot.add(
        {
            "x": [max(least, row.figures["load"].value) / divisor for row in rows],
            "y": shares,
            "mode": "lines",
            "name": label(device.name),
            "line": {"color": device_colour(device.index), "width": 2},
            "text": [
                hover(
                    device.name, phrase("{case} clean at {load}", case=row.case, load=digits.text(row.figures["load"]))
                )
                for row in rows
            ],
            "hovertemplate": "%{text}<extra></extra>",
        },
        choice,
    )


def _add_trials(plot: Plot, device: Device, size: int, divisor: float) -> None:
    trials = _trials(device, size)
    plot.add(
        {
            "x": [record.offered_fps / divisor for record in trials],
            "y": [0 if record.loss_ratio else 100 for record in trials],
            "mode": "markers",
            "name": label(phrase("{name}: trials", name=device.name)),
            "marker": {
                "color": device_colour(device.index, 0.5),
                "size": 7,
                "symbol": SYMBOLS[device.index % len(SYMBOLS)],
            },
            "text": [
                hover(
                    phrase("{name}, trial {index}", name=device.name, index=record.index),
                    phrase(
                        "{offered_fps:,.0f} frames/s, {loss}",
                        offered_fps=record.offered_fps,
                        loss=phrase("frames were lost") if record.loss_ratio else phrase("clean"),
                    ),
                )
                for record in trials
            ],
            "hovertemplate": "%{text}<extra></extra>",
        },
        size_choices([size]),
    )


def _trials(device: Device, size: int) -> list[TrialRecord]:
    return [one for one in device.run.records if one.method == METHOD and one.trial.frame_bytes == size and one.valid]
