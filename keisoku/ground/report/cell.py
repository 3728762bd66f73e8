"""Runs in a notebook cell: results in words, static plots, tables. Loads nothing, runs no script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from keisoku.ground.report import digits
from keisoku.ground.report.part import Part
from keisoku.ground.report.svg import svg
from keisoku.ground.report.table import is_words
from keisoku.ground.report.template import environment
from keisoku.ground.report.verdict import JUDGED, verdict_text
from keisoku.ground.run.criterion import Verdict


def cell(part: Part, directory: Path, verdicts: Sequence[Verdict] = ()) -> str:
    """A piece of HTML with its own style, of a part with one run."""
    (run,) = part.runs
    drawn = [plot for section in part.sections if section.tables for plot in section.plots]
    drawn = drawn or [plot for section in part.sections for plot in section.plots]
    groups = {row.group for result in run.results for row in result.rows}
    templates = environment()
    templates.tests["words"] = lambda heading: is_words(heading, groups)
    return templates.get_template("cell.html").render(
        title=run.name,
        summary=run.sentences,
        conclusion=part.conclusion,
        judged=JUDGED,
        verdicts=[(verdict, verdict_text(verdict)) for verdict in verdicts],
        plots=[(svg(plot), plot.caption) for plot in drawn],
        tables=[table for section in part.sections for _, tables in section.tables for table in tables],
        deviations=list(dict.fromkeys(text for result in run.results for text in result.deviations)),
        directory=directory,
        marks=digits.MARKS,
        long_table=10**9,
    )
