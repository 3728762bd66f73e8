"""What one measurement shows on a page: the content of its runs, without layout (`page.py`).

It neither computes nor rounds figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from keisoku.ground.report.answer import NO_ANSWER, Answer, answer, answering, deviating
from keisoku.ground.report.budget import budget_tables
from keisoku.ground.report.plot import Plot
from keisoku.ground.report.row_plot import row_plot
from keisoku.ground.report.sentence import sentence
from keisoku.ground.report.table import Table, line_table, tables
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.names import names_of
from keisoku.ground.run.result import Result

if TYPE_CHECKING:
    from keisoku.ground.report.about import Setup

LONG_TABLE = 24
"""A table with more rows is collapsed at first."""


@dataclass(frozen=True)
class RunPart:
    """The content of one run on the page."""

    name: str
    """Name of the device, clock, path, stream or system, different from those of all other runs of the part."""
    sentences: list[str]
    """The main results in words."""
    results: list[Result]
    plan: Mapping[str, Any]
    """As `keisoku run` takes it."""
    context: Mapping[str, Any]
    """The part of the run's context that is shown."""
    started_at: str = ""
    """ISO 8601."""
    answer: Answer = NO_ANSWER
    """What the first screen shows of it besides the sentences."""
    setup: Setup | None = None
    """What was connected to what; None: that is not known."""
    what: str = ""
    """What was sent, where that is not what every run sends."""

    @property
    def about(self) -> list[tuple[str, str]]:
        """What its plan says of it, in the order of a page; the device is the name."""
        from keisoku.ground.report.about import ABOUT  # which nobody waits for before the first frame

        said = self.plan.get("about") or {}
        return [(head, str(said[name])) for name, head in ABOUT.items() if name != "device" and said.get(name)]


@dataclass(frozen=True)
class Section:
    """One result of all runs of a part: plots, then tables under the name of their run, then error budgets."""

    anchor: str
    title: str
    subtitle: str
    plots: list[Plot]
    tables: list[tuple[str, list[Table]]]
    budgets: list[tuple[str, list[Table]]]


@dataclass(frozen=True)
class Extra:
    """A section with a layout of its own."""

    anchor: str
    title: str
    markup: str
    """HTML without the section's own element, already escaped."""


@dataclass(frozen=True)
class Part:
    """The content of the runs of one measurement on the page."""

    runs: list[RunPart]
    sections: list[Section]
    extras: list[Extra] = field(default_factory=list)
    conclusion: str = ""
    """A sentence about the data behind the results, such as the number of trials."""
    notes: list[str] = field(default_factory=list)
    """Sentences about uncertainty in addition to `COVERAGE`."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of measurements by name, for deviations and remarks."""
    no_deviation: str = ""
    """What is said where results are named after a standard and none deviates from it; empty: they are not."""


def run_part(
    name: str, directory: RunDirectory, sentences: list[str], results: Sequence[Result] = (), own: Answer = NO_ANSWER
) -> RunPart:
    """A run with its whole context."""
    return RunPart(
        name,
        sentences,
        list(results),
        {"measurement": directory.measurement, **directory.plan},
        directory.context,
        str(directory.context.get("started_at", "")),
        own,
    )


def plain_part(
    found: Sequence[tuple[RunDirectory, Sequence[Result], Sequence[Plot]]],
    title: str,
    subtitle: str,
    figure: str,
    beside: Sequence[str] = (),
) -> Part:
    """The part of runs that have only results and plots; `figure` is the one that the sentence contains, and `beside`
    stands before it in the table of the first screen."""
    names = names_of([directory for directory, *_ in found], [results for _, results, _ in found])
    runs = [
        run_part(
            name,
            directory,
            [result.sentence or sentence(result, figure) for result in results],
            results,
            answer(
                results, {result.measurement: figure for result in results}, None, deviating(results), beside=beside
            ),
        )
        for name, (directory, results, _) in zip(names, found, strict=True)
    ]
    anchor = title.lower().replace(" ", "-")
    many = len(found) > 1
    sections = [
        Section(
            f"{anchor}-{place}" if many else anchor,
            f"{title}: {run.name}" if many else title,
            subtitle,
            _drawn(anchor, figure, results, plots),
            [(run.name, result_tables(result)) for result in results],
            [(run.name, made) for result in results if (made := budget_tables(result))],
        )
        for place, (run, (_, results, plots)) in enumerate(zip(runs, found, strict=True), 1)
    ]
    return Part(runs, sections)


def result_tables(result: Result) -> list[Table]:
    """Line first, then the rows."""
    return [*([line_table(result.line)] if result.line else []), *tables(result)]


def _drawn(anchor: str, figure: str, results: Sequence[Result], plots: Sequence[Plot]) -> list[Plot]:
    """The measurement's plots that show something, else its main figure in every row."""
    shown = [plot for plot in plots if plot.has_an_axis]
    if shown:
        return shown
    for result in results:
        rows = answering(result, figure)
        own = [row for row, name in rows if name == rows[0][1]]
        if rows and (plain := row_plot(anchor, rows[0][1], [("", own)])):
            return [plain]
    return []
