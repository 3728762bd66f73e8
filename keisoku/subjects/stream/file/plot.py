"""Plot of a file's transfer: throughput of its stages by round. Draws only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keisoku.ground.report.plot import Plot, axis, device_colour
from keisoku.language import phrase
from keisoku.subjects.stream.file.settings import NETWORK, SINK, SOURCE, WHOLE


def stage_plot(bps: Mapping[str, Sequence[float]]) -> Plot:
    """Bit/s of each stage by round."""
    axes = {"xaxis": axis(phrase("round")), "yaxis": axis(phrase("throughput, Gb/s"))}
    plot = Plot("stages", phrase("Throughput of each stage by itself and of all together, by round."), axes)
    for place, stage in enumerate((SOURCE, NETWORK, SINK, WHOLE)):
        plot.add(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": stage,
                "x": list(range(1, len(bps[stage]) + 1)),
                "y": [value / 1e9 for value in bps[stage]],
                "line": {"color": device_colour(place)},
            }
        )
    return plot
