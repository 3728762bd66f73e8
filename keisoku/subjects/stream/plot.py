"""Plots of streams: throughput and CPU against the message size, with the own ceiling. Draws only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.ground.report.points import points
from keisoku.language import join_texts, phrase
from keisoku.subjects.stream.analysis import PlotData, bit_rate
from keisoku.subjects.stream.factor import named
from keisoku.subjects.stream.outcome import CellOutcome
from keisoku.subjects.stream.settings import StreamSettings

_GIGA = 1e9


def stream_plots(settings: StreamSettings, outcomes: Sequence[CellOutcome], found: PlotData) -> list[Plot]:
    """The plots for which there is data."""
    sizes = sorted({one.cell.message_bytes for one in outcomes})
    plots = [_throughput(settings, outcomes, found, sizes), _cost(settings, outcomes, sizes)]
    return [plot for plot in plots if plot.traces]


def _throughput(
    settings: StreamSettings, outcomes: Sequence[CellOutcome], found: PlotData, sizes: Sequence[float]
) -> Plot:
    axes = {"xaxis": axis(phrase("bytes of a message"), sizes), "yaxis": axis(phrase("throughput, Gb/s"))}
    caption = phrase(
        "Throughput by message size with intervals of 95 %; diamonds are not distinguishable from the best."
    )
    plot = Plot("throughput", caption, axes)
    for path, dash, what in (("bare", "dot", phrase("own ceiling")), ("dut", "solid", "")):
        for place, setup in enumerate(settings.setups()):
            mine = [one for one in outcomes if one.path == path and one.cell.setup == place]
            if not any(one.values for one in mine):
                continue
            name = join_texts(", ", [part for part in (what, named(setup)) if part]) or phrase("throughput")
            figures = [bit_rate(one.values, settings.rule) if one.values else None for one in mine]
            drawn = points(figures, _GIGA, device_colour(place), "circle")
            plot.add(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": name,
                    "x": [one.cell.message_bytes for one in mine],
                    "line": {"color": device_colour(place), "dash": dash},
                    "text": [
                        hover(
                            phrase(
                                "{name}: {figure} at {message_bytes} byte",
                                name=name,
                                figure=digits.text(figure),
                                message_bytes=one.cell.message_bytes,
                            )
                        )
                        if figure
                        else ""
                        for one, figure in zip(mine, figures, strict=True)
                    ],
                    "hovertemplate": "%{text}<extra></extra>",
                    **drawn,
                    "marker": {
                        **drawn["marker"],
                        "symbol": ["diamond" if path == "dut" and one.cell in found.best else "circle" for one in mine],
                    },
                }
            )
    return plot


def _cost(settings: StreamSettings, outcomes: Sequence[CellOutcome], sizes: Sequence[float]) -> Plot:
    costs = [
        float(np.mean(values))
        for one in outcomes
        for values in (one.sender_s_per_gb, one.receiver_s_per_gb)
        if one.path == "dut" and values
    ]
    axes = {"xaxis": axis(phrase("bytes of a message"), sizes), "yaxis": axis(phrase("CPU, s/GB"), costs)}
    plot = Plot("cost", phrase("CPU time of the threads that send and receive, for 10⁹ bytes."), axes)
    for end, dash in ((phrase("sender"), "solid"), (phrase("receiver"), "dash")):
        for place, setup in enumerate(settings.setups()):
            pairs = [
                (one.cell.message_bytes, float(np.mean(values)))
                for one in outcomes
                if one.path == "dut"
                and one.cell.setup == place
                and (values := one.sender_s_per_gb if end == "sender" else one.receiver_s_per_gb)
            ]
            if pairs:
                name = join_texts(", ", [part for part in (end, named(setup)) if part])
                plot.add(
                    {
                        "type": "scatter",
                        "mode": "lines+markers",
                        "name": name,
                        "x": [size for size, _ in pairs],
                        "y": [cost for _, cost in pairs],
                        "line": {"color": device_colour(place), "dash": dash},
                        "hovertemplate": hover(phrase("{name}: %{{y:.4g}} s/GB at %{{x}} byte", name=name)),
                    }
                )
    return plot
