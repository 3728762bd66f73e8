"""Plots of a packet-pair measurement: dispersion rates with their modes, capacity against size, arrivals of trains.

Draws what the analysis computed and computes only bins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.ground.report.points import points
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import phrase, recorded
from keisoku.subjects.path.packet_pair.direction import PairDirection
from keisoku.subjects.path.packet_pair.modes import bin_width

_MEGA = 1e6


def pair_plots(ways: Sequence[PairDirection]) -> list[Plot]:
    """The plots for which there is data."""
    plots = [_histogram(ways), _sizes(ways), _trains(ways)]
    return [plot for plot in plots if plot.traces]


def _histogram(ways: Sequence[PairDirection]) -> Plot:
    axes = {"xaxis": axis(phrase("rate of a train, Mb/s")), "yaxis": axis(phrase("trains in a bin"))}
    caption = phrase(
        "Rates of single trains, and their modes (lines: the capacity by the trains with the lowest delay sum)."
    )
    plot = Plot("dispersion", caption, axes)
    for position, way in enumerate(ways):
        rates = way.pairs.rates_bps[np.isfinite(way.pairs.rates_bps)]
        if len(rates) < 2:
            continue
        width = bin_width(rates)
        low = np.floor(rates.min() / width) * width
        # A pair that was compressed shows any rate: bins go as far as nearly all pairs do.
        high = min(float(rates.max()), 4 * float(np.median(rates)))
        counts, edges = np.histogram(rates, np.arange(low, high + 2 * width, width))
        plot.add(
            {
                "type": "bar",
                "name": way.direction,
                "x": ((edges[1:] + edges[:-1]) / 2 / _MEGA).tolist(),
                "y": counts.tolist(),
                "marker": {"color": device_colour(position, 0.6)},
                "hovertemplate": hover(
                    phrase("{direction}: %{{y}} trains at %{{x:.5g}} Mb/s", direction=recorded(way.direction))
                ),
            }
        )
        lines = [(mode.centre_bps, mode.pairs, "mode") for mode in way.modes]
        if way.capacity:
            lines.append((way.capacity.bps, int(counts.max()), "capacity"))
        for rate, height, what in lines:
            plot.add(
                {
                    "type": "scatter",
                    "mode": "lines" if what == "capacity" else "markers",
                    "name": f"{what}, {way.direction}",
                    "x": [rate / _MEGA] * 2,
                    "y": [0, height] if what == "capacity" else [height, height],
                    "line": {"color": device_colour(position)},
                    "marker": {"color": device_colour(position), "symbol": "diamond", "size": 9},
                    "hovertemplate": hover(f"{what}: %{{x:.5g}} Mb/s"),
                }
            )
    return plot


def _sizes(ways: Sequence[PairDirection]) -> Plot:
    axes = {"xaxis": axis(phrase("IP bytes of a packet")), "yaxis": axis(phrase("capacity, Mb/s"))}
    caption = phrase("Capacity by packets of each size, with intervals of 95 %.")
    plot = Plot("sizes", caption, axes)
    for position, way in enumerate(ways):
        if not way.sweep:
            continue
        figures = [
            Quantity(value=one.bps, unit="bit/s", interval=Interval(lower=one.lower_bps, upper=one.upper_bps))
            for one in way.sweep.values()
        ]
        plot.add(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": way.direction,
                "x": list(way.sweep),
                "line": {"color": device_colour(position)},
                "text": [
                    hover(
                        phrase(
                            "{direction}: {figure} by {size} byte",
                            direction=recorded(way.direction),
                            figure=digits.text(figure),
                            size=size,
                        )
                    )
                    for size, figure in zip(way.sweep, figures, strict=True)
                ],
                "hovertemplate": "%{text}<extra></extra>",
                **points(figures, _MEGA, device_colour(position), "circle", 6),
            }
        )
    return plot


def _trains(ways: Sequence[PairDirection]) -> Plot:
    axes = {"xaxis": axis(phrase("ms since the first packet arrived")), "yaxis": axis(phrase("place in the train"))}
    caption = phrase(
        "Arrivals of long trains: one line for a link, two for a token bucket, steps for interrupt coalescing."
    )
    plot = Plot("trains", caption, axes)
    for position, way in enumerate(ways):
        for train in (one for one in way.trains if one.stage == "train" and one.received > 1):
            came = np.flatnonzero(train.received_ns > 0)
            plot.add(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": phrase(
                        "{direction}, train {number}", direction=recorded(way.direction), number=train.number
                    ),
                    "x": ((train.received_ns[came] - train.received_ns[came[0]]) / 1e6).tolist(),
                    "y": came.tolist(),
                    "line": {"color": device_colour(position), "width": 1},
                    "marker": {"size": 4},
                    "hovertemplate": hover(phrase("packet %{y} after %{x:.5g} ms")),
                }
            )
    return plot
