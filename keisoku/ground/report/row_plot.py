"""The plot of a measurement that has none of its own: its main figure in every row, with the intervals."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.headline import headline
from keisoku.ground.report.plot import SYMBOLS, Plot, axis, device_colour, hover, label
from keisoku.ground.report.points import add_bound_legend, points
from keisoku.ground.report.table import head
from keisoku.ground.run.result import Row, place
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, lower_case, phrase, sentence_case

_MOST = 40
"""Rows that can be named on the axis."""


def row_plot(name: str, figure: str, runs: Sequence[tuple[str, Sequence[Row]]]) -> Plot | None:
    """The figure of the rows of each run; against frame size if there are several sizes and no cases, else by name.

    None where no run has two rows with the figure: a single point says no more than the number.
    """
    found = [(run, [row for row in rows if figure in row.figures]) for run, rows in runs]
    every = [row for _, rows in found for row in rows]
    units = {row.figures[figure].unit for row in every}
    if max((len(rows) for _, rows in found), default=0) < 2 or len(units) > 1 or not _differ(every, figure):
        return None
    known = [row.figures[figure] for row in every]
    divisor, unit = digits.scale(known[0].unit, max(abs(one.value) for one in known))
    title = lower_case(head(figure, of_frames=bool(every[0].frame_bytes)))
    by_size = len({row.frame_bytes for row in every}) > 1 and not any(row.case for row in every)
    sizes = {"title": {"text": phrase("frame size (byte)")}, "rangemode": "tozero"}
    plot = Plot(
        name,
        phrase("{figure} with its interval of 95 % where one is known.", figure=sentence_case(title)),
        {
            "xaxis": sizes if by_size else {"type": "category"},
            "yaxis": axis(
                join_texts("", [title, f" ({unit})"]) if unit else title, [abs(one.value) / divisor for one in known]
            ),
        },
        height=400,
    )
    for number, (run, rows) in enumerate(found):
        ordered = sorted(rows, key=lambda row: row.frame_bytes) if by_size else rows[:_MOST]
        figures: list[Quantity | None] = [_shown(row, figure) for row in ordered]
        plot.add(
            {
                "x": [row.frame_bytes if by_size else _case(row) for row in ordered],
                "mode": "lines+markers" if by_size else "markers",
                "name": label(run),
                "line": {"color": device_colour(number), "width": 2},
                "text": [
                    hover(run, join_texts(": ", [_case(row), digits.text(row.figures[figure])])) for row in ordered
                ],
                "hovertemplate": "%{text}<extra></extra>",
                **points(figures, divisor, device_colour(number), SYMBOLS[number % len(SYMBOLS)]),
            }
        )
    add_bound_legend(plot, [_shown(row, figure) for row in every])
    return plot


def _shown(row: Row, figure: str) -> Quantity:
    """What a device does to frames is never below zero: an interval through it is a bound."""
    found = row.figures[figure]
    return headline(found) if row.frame_bytes else found


def _case(row: Row) -> str:
    return place(row) or row.group


def _differ(rows: Sequence[Row], figure: str) -> bool:
    """Whether there is anything to see: some value is not that of all the others, or has an interval."""
    known = [row.figures[figure] for row in rows]
    return len({one.value for one in known}) > 1 or any(one.bounds and one.bounds[0] != one.bounds[1] for one in known)
