"""Plots over frame size: throughput with the theoretical line, latency with its fit and residuals. It fits nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from keisoku.ground.frame.rates import maximum_frames_per_second
from keisoku.ground.report import digits
from keisoku.ground.report.headline import headline
from keisoku.ground.report.plot import SYMBOLS, Plot, Trace, axis, device_colour, hover, label
from keisoku.ground.report.points import add_bound_legend, points
from keisoku.ground.run.result import FittedLine, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.plot.device import Device, frame_sizes

SIZE_TITLE = phrase("frame size (byte)")
CURVE_POINTS = 160
STEPS = 24
"""Of a line between two sizes."""
LOG_RATIO_LINK = 10.0
"""On a linear axis the curve of a device much slower than its link would be flat."""
MANY_POINTS = 40
"""Above this, points are drawn small and not joined."""


def throughput_plot(devices: Sequence[Device]) -> Plot | None:
    """RFC 2544 §26.1: frame rate against frame size, with the theoretical rate of the link."""
    sizes = frame_sizes(devices, "throughput")
    series = {device: _points(result, "throughput") for device in devices if (result := device.result("throughput"))}
    cores = {device: _points(result, "core") for device in devices if (result := device.result("throughput"))}
    figures = [figure for each in (series, cores) for rows in each.values() for _, figure in rows]
    rates = [figure.value for figure in figures if figure]
    if not rates:
        return None
    curves = _theoretical(devices, sizes)
    every = rates + [rate for _, curve in curves.values() for rate in curve]
    divisor, unit = digits.scale("frames/s", max(every))
    plot = Plot(
        name="throughput",
        caption=phrase(
            "Highest rate without a lost frame, against frame size; the line is what the link can carry at most"
            " (RFC 2544 §26.1)."
        )
        if curves
        else phrase(
            "Highest rate without a lost frame, against frame size (RFC 2544 §26.1); the link has no nominal speed, so"
            " no maximum is drawn."
        ),
        axes={
            "xaxis": {"title": {"text": SIZE_TITLE}, **_size_ticks(sizes)},
            "yaxis": axis(phrase("throughput ({unit})", unit=unit), every, LOG_RATIO_LINK),
        },
        scales=["yaxis"],
    )
    for speed, (xs, ys) in curves.items():
        link = digits.value_text(Quantity(value=speed, unit="bit/s"))
        name = phrase("theoretical maximum at {rate}", rate=link)
        plot.add(
            {
                "x": xs,
                "y": [y / divisor for y in ys],
                "mode": "lines",
                "name": name,
                "line": {"color": "@muted", "width": 1.5, "dash": "dash"},
                "text": [
                    hover(name, join_texts(": ", [f"{x} byte", _exact(y, "frames/s")]))
                    for x, y in zip(xs, ys, strict=True)
                ],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    for device, rows in series.items():
        if rows:
            _add_rates(plot, device, _figures(device, rows, divisor, device.name), divisor)
        if known := [point for point in cores[device] if point[1]]:
            named = join_texts(" · ", [device.name, phrase("on a dedicated core, at most")])
            trace = _figures(device, known, divisor, named)
            _add_rates(plot, device, {**trace, "line": {**trace["line"], "dash": "dash"}}, divisor)
    add_bound_legend(plot, [figure and headline(figure) for figure in figures])
    return plot


def _add_rates(plot: Plot, device: Device, trace: Trace, divisor: float) -> None:
    """Points, joined at the share of the link that lies between theirs: a straight line would rise above the link's
    own curve, which bends."""
    speed = device.link_bits_per_second
    if not speed or trace["mode"] == "markers":
        plot.add(trace)
        return
    plot.add({**trace, "mode": "markers"})
    xs: list[int] = []
    ys: list[float | None] = []
    for (x, y), (next_x, next_y) in pairwise(zip(trace["x"], trace["y"], strict=True)):
        if y is None or next_y is None:
            xs, ys = [*xs, x], [*ys, None]
            continue
        first, last = (at / maximum_frames_per_second(speed, size) for size, at in ((x, y), (next_x, next_y)))
        for size in (*range(x, next_x, max(1, (next_x - x) // STEPS)), next_x):
            share = first + (last - first) * (size - x) / (next_x - x)
            xs, ys = [*xs, size], [*ys, share * maximum_frames_per_second(speed, size)]
    plot.add({"x": xs, "y": ys, "mode": "lines", "line": trace["line"], "hoverinfo": "skip"})


def latency_plot(devices: Sequence[Device], method: str) -> Plot | None:
    """Latency against size, the fitted line where the result has one, and the residuals below it."""
    name = "latency" if method == "sweep" else "mean"
    found = [(device, result) for device in devices if (result := device.result(method))]
    every = [
        figure.value
        for _, result in found
        for figures in (name, "min", "p99")
        for _, figure in _points(result, figures)
        if figure
    ]
    if not every:
        return None
    divisor, unit = digits.scale("ns", max(every))
    drops = {device: _points(result, "drop") for device, result in found}
    fitted = any(result.line for _, result in found)
    dropped = any(figure.value > 0 for rows in drops.values() for _, figure in rows if figure)
    plot = Plot(
        name=f"{method}-size",
        caption=_latency_caption(method, fitted),
        axes=_stacked(
            axis(phrase("latency ({unit})", unit=unit), [] if fitted else every),
            fitted,
            dropped,
            frame_sizes(devices, method),
        ),
        scales=["yaxis"],
        height=400 + 130 * fitted + 110 * dropped,
    )
    for device, result in found:
        rows = _points(result, name)
        plot.add(_figures(device, rows, divisor, join_texts(" · ", [device.name, phrase("mean")])))
        for other, called, dash in (("min", phrase("min"), "dot"), ("p99", "p99", "dash")):
            if further := _points(result, other):
                trace = _figures(device, further, divisor, join_texts(" · ", [device.name, called]))
                plot.add({**trace, "mode": "lines", "line": {**trace["line"], "dash": dash, "width": 1.2}})
        if result.line:
            _add_line(plot, device, result.line, rows, divisor)
        if dropped and drops[device]:
            trace = _figures(device, drops[device], 1.0, device.name)
            plot.add({**trace, "yaxis": "y3", "showlegend": False})
    add_bound_legend(plot, [figure and headline(figure) for _, result in found for _, figure in _points(result, name)])
    return plot


def _latency_caption(method: str, fitted: bool) -> str:
    what = phrase("Mean latency of every frame at each size")
    if method == "latency":
        what = phrase(
            "Mean latency of every frame at each size, with the minimum (dotted) and the 99th percentile (dashed)"
        )
    return (
        phrase("{what}; below, the residuals of the fitted line.", what=what) if fitted else join_texts("", [what, "."])
    )


def _points(result: Result, figure: str) -> list[tuple[Row, Quantity | None]]:
    """Rows by size, with None where the figure was not measured; empty if no row has it."""
    rows = sorted(result.rows, key=lambda row: row.frame_bytes)
    return [(row, row.figures.get(figure)) for row in rows] if any(figure in row.figures for row in rows) else []


def _figures(device: Device, rows: Sequence[tuple[Row, Quantity | None]], divisor: float, name: str) -> Trace:
    colour = device_colour(device.index)
    many = len(rows) > MANY_POINTS
    symbol = SYMBOLS[device.index % len(SYMBOLS)]
    return {
        "x": [row.frame_bytes for row, _ in rows],
        "mode": "markers" if many else "lines+markers",
        "name": label(name),
        "line": {"color": colour, "width": 2},
        "text": [
            hover(name, join_texts("", [f"{row.frame_bytes} byte: ", digits.text(figure)])) if figure else ""
            for row, figure in rows
        ],
        "hovertemplate": "%{text}<extra></extra>",
        **points([figure and headline(figure) for _, figure in rows], divisor, colour, symbol, 4 if many else 8),
    }


def _exact(value: float, unit: str) -> str:
    return digits.text(Quantity(value=value, unit=unit, uncertainty=0.0))


def _add_line(
    plot: Plot, device: Device, line: FittedLine, rows: Sequence[tuple[Row, Quantity | None]], divisor: float
) -> None:
    colour = device_colour(device.index)
    slope, constant = line.slope.value, line.constant.value
    # More points than its two ends, so that the line is also right on a logarithmic axis.
    xs = sorted({x for x, _ in line.points})
    plot.add(
        {
            "x": xs,
            "y": [(slope * x + constant) / divisor for x in xs],
            "mode": "lines",
            "name": label(join_texts(" · ", [device.name, line_text(line)])),
            "line": {"color": colour, "width": 1.2},
            "hoverinfo": "skip",
        }
    )
    errors = {row.frame_bytes: figure.uncertainty for row, figure in rows if figure}
    residuals = [
        Quantity(value=y - slope * x - constant, unit="ns", uncertainty=errors.get(int(x))) for x, y in line.points
    ]
    symbol = SYMBOLS[device.index % len(SYMBOLS)]
    plot.add(
        {
            "x": [x for x, _ in line.points],
            "yaxis": "y2",
            "mode": "markers",
            "showlegend": False,
            "text": [
                hover(device.name, f"{x:g} byte: {digits.text(residual)}")
                for (x, _), residual in zip(line.points, residuals, strict=True)
            ],
            "hovertemplate": "%{text}<extra></extra>",
            **points(residuals, 1.0, colour, symbol, 4 if len(residuals) > MANY_POINTS else 7),
        }
    )


def line_text(line: FittedLine) -> str:
    """'8.000 ns/byte × size + 811 ns', each rounded to its uncertainty."""
    slope, constant = digits.digits(line.slope), digits.digits(line.constant)
    sign, size = ("−", constant.value[1:]) if constant.value.startswith("−") else ("+", constant.value)
    said = phrase(
        "{slope} × size {constant}",
        slope=f"{slope.value} {slope.unit}",
        constant=f"{sign} {size} {constant.unit}",
    )
    if line.constant.uncertainty is not None:
        return said
    return phrase("{line}, in which the tester's own part is included", line=said)


def _stacked(latency: dict[str, Any], fitted: bool, dropped: bool, sizes: Sequence[int]) -> dict[str, Any]:
    """The latency on top, then residuals and drop rate where there are any, over one size axis."""
    panels = [("yaxis", latency, 5.0)]
    if fitted:
        residual = {"title": {"text": phrase("residual (ns)")}, "zeroline": True, "zerolinecolor": "@muted"}
        panels.append(("yaxis2", residual, 2.0))
    if dropped:
        panels.append(("yaxis3", {"title": {"text": phrase("drop (%)")}, "rangemode": "tozero"}, 1.6))
    gap = 0.35
    total = sum(weight for _, _, weight in panels) + gap * (len(panels) - 1)
    axes: dict[str, Any] = {}
    top = total
    for name, panel, weight in panels:
        axes[name] = {**panel, "domain": [max(0.0, (top - weight) / total), top / total]}
        top -= weight + gap
    lowest = panels[-1][0].removeprefix("yaxis")
    axes["xaxis"] = {"title": {"text": SIZE_TITLE}, "anchor": f"y{lowest}", **_size_ticks(sizes)}
    return axes


def _size_ticks(sizes: Sequence[int]) -> dict[str, Any]:
    """A few sizes are named on the axis; 64 and 128 would overlap, so 64 alone keeps its name."""
    if not sizes or len(sizes) > 12:
        return {"rangemode": "tozero"}
    shown = [size for size in sizes if size == sizes[0] or size - sizes[0] > 0.06 * (sizes[-1] - sizes[0])]
    return {"tickvals": shown, "ticktext": [str(size) for size in shown], "rangemode": "tozero"}


def _theoretical(devices: Sequence[Device], sizes: Sequence[int]) -> dict[float, tuple[list[int], list[float]]]:
    """A curve for each speed of link, drawn through all sizes between the smallest and the largest."""
    step = max(1, (sizes[-1] - sizes[0]) // CURVE_POINTS)
    xs = sorted({*range(sizes[0], sizes[-1] + 1, step), *sizes})
    # Speeds derived from results have rounding errors; such a difference does not make two links.
    speeds = {float(f"{speed:.6g}") for device in devices if (speed := device.link_bits_per_second)}
    return {speed: (xs, [maximum_frames_per_second(speed, x) for x in xs]) for speed in sorted(speeds)}
