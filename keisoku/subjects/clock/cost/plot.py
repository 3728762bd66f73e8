"""Plot of what single reads of each time source cost, as the brackets were measured: nothing is taken off.

Draws what a record holds and computes only shares and bins.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from keisoku.ground.report.plot import Plot, axis, device_colour, hover, label
from keisoku.language import phrase
from keisoku.subjects.clock.cost.analysis import CostRecord
from keisoku.subjects.clock.cost.tally import total

BINS_PER_DECADE = 60


def cost_plot(record: CostRecord) -> Plot:
    """Share of single reads by how long the bracket was, a line for each source and one for nothing."""
    named = [("nothing", record.empty), *((source.name, source.single) for source in record.sources)]
    ends = [record.ns(value) for _, tally in named for value in (tally[0][0], tally[-1][0])]
    axes = {
        "xaxis": axis(phrase("ns from before a read to after it"), [max(end, 1.0) for end in ends]),
        "yaxis": axis(phrase("share of reads"), [1e-6, 1.0]),
    }
    caption = phrase("Single reads of each time source, including the bracket's own cost.")
    plot = Plot("cost", caption, axes, scales=["xaxis", "yaxis"], height=460)
    for position, (name, tally) in enumerate(named):
        xs, ys = _shares(record, tally)
        plot.add(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": label(name),
                "x": xs,
                "y": ys,
                "line": {"color": device_colour(position), "width": 1},
                "marker": {"size": 4, "color": device_colour(position)},
                "hovertemplate": hover(phrase("{name}: %{{y:.2g}} of reads took %{{x:.4g}} ns", name=name)),
            }
        )
    return plot


def _shares(record: CostRecord, tally: Sequence[tuple[int, int]]) -> tuple[list[float], list[float]]:
    """Bins of equal width on a logarithmic axis; each stands at the first value in it."""
    counts: Counter[int] = Counter()
    at: dict[int, float] = {}
    for value, count in tally:
        ns = max(record.ns(value), 1.0)
        place = math.floor(math.log10(ns) * BINS_PER_DECADE)
        counts[place] += count
        at.setdefault(place, ns)
    whole = total(tally)
    return [at[place] for place in sorted(counts)], [counts[place] / whole for place in sorted(counts)]
