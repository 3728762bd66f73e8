"""A run as a notebook's cell shows it: what was found in words, still plots, tables. Loads nothing, runs no script."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.device.report.device import devices
from keisoku.device.report.section import parts, plots
from keisoku.device.report.summary import conclusion, summary
from keisoku.device.report.time_plot import time_plot
from keisoku.report import digits
from keisoku.report.html import Criterion
from keisoku.report.svg import svg
from keisoku.report.table import WORDS, line_table, method_table
from keisoku.report.template import environment
from keisoku.run.run import Run


def cell(run: Run, criteria: Sequence[tuple[str, bool, str]] = ()) -> str:
    """A piece of HTML with its own style; `criteria` are (text, met, measured)."""
    found = devices([run])
    methods = list(dict.fromkeys(result.method for result in run.results))
    drawn = [plot for method in methods for plot in plots(found, method)]
    if not drawn:
        over_time = time_plot(found)
        drawn = [over_time] if over_time is not None else []
    results = [result for method in methods if (result := found[0].result(method))]
    return (
        environment()
        .get_template("cell.html")
        .render(
            title=found[0].name,
            summary=summary(found[0]),
            conclusion=conclusion(found),
            criteria=[Criterion(*criterion) for criterion in criteria],
            plots=[(svg(plot), plot.caption) for plot in drawn],
            tables=[table for result in results for part in parts(result) for table in (method_table(part),)],
            lines=[line_table(result.line) for result in results if result.line],
            deviations=list(dict.fromkeys(text for result in run.results for text in result.deviations)),
            directory=run.directory,
            words=WORDS,
            marks=digits.MARKS,
            long_table=10**9,
        )
    )
