"""Plots of a mesh: the matrix of the longest interruptions, and all pairs over time. Draws only."""

from __future__ import annotations

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, device_colour, hover, label
from keisoku.language import phrase
from keisoku.subjects.stream.outage.mesh.analysis import MeshOutcome
from keisoku.subjects.stream.outage.mesh.figures import longest
from keisoku.subjects.stream.outage.plot import add_marks

_NS_PER_S = 1e9
_DRAWN = 5000
"""Interruptions at most, the longest ones."""
_CELL_PX, _MARGIN_PX = 14, 200


def mesh_plots(found: MeshOutcome) -> list[Plot]:
    """The matrix, and the time line."""
    return [_matrix(found), _time_line(found)]


def _matrix(found: MeshOutcome) -> Plot:
    ends = range(len(found.names))
    names = [label(name) for name in found.names]
    of = {(way.sender, way.receiver): way for way in found.ways}
    values = {places: longest(way, found) for places, way in of.items()}

    def said(sender: int, receiver: int) -> str:
        if sender == receiver:
            return ""
        way = of.get((sender, receiver))
        if way is None:
            text = phrase("not known")
        elif way.flow.never:
            text = phrase("never came back")
        else:
            text = digits.text(values[sender, receiver])
        return hover(
            phrase("{one} to {other}: {what}", one=found.names[sender], other=found.names[receiver], what=text)
        )

    plot = Plot(
        name="matrix",
        caption=phrase(
            "The longest interruption from each end (row) to each other (column). One that never came back counts for"
            " as long as it was seen; blank where nothing is known."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("to")}, "type": "category", "constrain": "domain"},
            "yaxis": {
                "title": {"text": phrase("from")},
                "type": "category",
                "autorange": "reversed",
                "scaleanchor": "x",
                "constrain": "domain",
            },
        },
        height=max(360, _CELL_PX * len(names) + _MARGIN_PX),
    )
    plot.add(
        {
            "type": "heatmap",
            "x": names,
            "y": names,
            "z": [[values[one, other].value if (one, other) in values else None for other in ends] for one in ends],
            "colorscale": "Viridis",
            "xgap": 1,
            "ygap": 1,
            "colorbar": {"title": {"text": phrase("longest interruption (s)")}},
            "text": [[said(one, other) for other in ends] for one in ends],
            "hovertemplate": "%{text}<extra></extra>",
            "hoverongaps": False,
        }
    )
    return plot


def _time_line(found: MeshOutcome) -> Plot:
    length_s = found.length_ns / _NS_PER_S
    axes = {
        "xaxis": {
            "title": {"text": phrase("s since the measurement began")},
            "type": "linear",
            "range": [0, length_s],
        },
        "yaxis": {"title": {"text": phrase("pair")}, "type": "linear", "range": [0, len(found.ways) + 1]},
    }
    caption = phrase("When each pair was interrupted: one line for each direction, in the order of senders.")
    plot = Plot("time_line", caption, axes, height=min(900, 200 + 6 * len(found.ways)))
    every = [(place, way, one) for place, way in enumerate(found.ways, 1) for one in way.flow.of_path]
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str] = []
    for place, way, one in sorted(every, key=lambda each: -each[2].length.likely)[:_DRAWN]:
        end_ns = found.length_ns if one.ended == "never" else one.end.likely
        said = hover(
            phrase("{pair} at {time:.4f} s", pair=found.label(way), time=one.begin.likely / _NS_PER_S),
        )
        xs += [one.begin.likely / _NS_PER_S, end_ns / _NS_PER_S, None]
        ys += [place, place, None]
        texts += [said, said, ""]
    plot.add(
        {
            "type": "scatter",
            "mode": "lines",
            "name": phrase("interrupted"),
            "x": xs,
            "y": ys,
            "text": texts,
            "line": {"color": device_colour(0), "width": 4},
            "hovertemplate": "%{text}<extra></extra>",
        }
    )
    add_marks(plot, found.marks, len(found.ways) + 1)
    return plot
