"""The end of a measurement or a study on one screen: at most 20 lines, with the path of the report, which has the rest.

`-v` prints everything instead (`report/text.py`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from keisoku.measurement.carry_out import Outcome
from keisoku.measurement.table import of_run
from keisoku.report.digits import MARKS
from keisoku.report.table import Table, all_tables, main_table
from keisoku.report.text import aligned
from keisoku.report.verdict import verdict_text
from keisoku.run.criterion import Verdict

MOST_LINES = 20
PIPED_WIDTH = 100
"""Characters of a line in a file or a pipe."""
_CRITERIA, _SENTENCES = 5, 6
"""Lines of each that are shown however long the table is."""


@dataclass(frozen=True)
class Summary:
    """What is said at the end."""

    sentences: Sequence[str]
    report: str
    criteria: Sequence[str] = ()
    table: Table | None = None
    """The main one: as many of its rows are shown as there is room for, and no other table."""
    main: int = 0
    """Its column that is shown where not all fit."""
    more_tables: int = 0
    counts: Mapping[str, int] | None = None
    """How many of each there are of what only the report says: `{"remark": 3}`."""

    def lines(self, width: int) -> list[str]:
        """At most 20 lines of at most `width` characters.

        Only the path of the report is never cut, so that it can be opened; a figure is shown whole or not at all.
        """
        end = [*_counted(self.counts or {}, width), f"report: {self.report}"]
        top = _cut([_short(said, width) for said in self.criteria], _CRITERIA, "criteria", width)
        room = MOST_LINES - len(top) - len(end)
        wanted = len(self._table(MOST_LINES, width))
        said = [line for sentence in self.sentences for line in _folded(sentence, width)]
        top += _cut(said, max(_SENTENCES, room - wanted), "lines", width)
        return [*top, *self._table(MOST_LINES - len(top) - len(end), width), *end]

    def _table(self, room: int, width: int) -> list[str]:
        """Title, heads, rows, and what its marks mean; then how much is left out."""
        if self.table is None:
            return []
        (heads, *rows), kept = aligned(self.table, width, self.main)
        title = self.table.title
        if kept < len(self.table.heads):
            title = f"{title} ({kept} of {len(self.table.heads)} columns)".strip()
        marks = [
            line
            for mark in self.table.marks
            if any(mark in row for row in rows)
            for line in _folded(f"{mark} {MARKS[mark]}", width)
        ]
        before = [_short(line, width) for line in (title, heads)]
        shown = room - len(before) - len(marks)
        more = [f"{self.more_tables} more table{_s(self.more_tables)}"] if self.more_tables else []
        if shown - bool(more) < len(rows):
            shown = max(1, shown - 1)
            more.insert(0, f"{len(rows) - shown} more row{_s(len(rows) - shown)}")
        left_out = [_short(f"… {' and '.join(more)} in the report", width)] if more else []
        return [*before, *(_short(row, width) for row in rows[:shown]), *marks, *left_out]


def summary_of(outcome: Outcome) -> Summary:
    """The end of a measurement."""
    results, directory = outcome.results, outcome.directory
    entry = of_run(directory)
    found = [main_table(result, entry.figure_of(result.measurement, directory.plan)) for result in results]
    table, main = next((each for each in found if each is not None), (None, 0))
    return Summary(
        [result.sentence for result in results if result.sentence],
        str(directory.path / "report.html"),
        [criterion_line(verdict) for verdict in outcome.verdicts],
        table,
        main,
        sum(len(all_tables(result)) for result in results) - (table is not None),
        {
            "deviation": sum(len(result.deviations) for result in results),
            "remark": sum(len(result.remarks) for result in results),
            "flag": sum(len(result.flags) for result in results),
        },
    )


def print_summary(summary: Summary, console: Console) -> None:
    """On a console, in its width."""
    width = console.width if console.is_terminal else PIPED_WIDTH
    for line in summary.lines(width):
        console.print(Text(line), soft_wrap=True, highlight=False)


def criterion_line(verdict: Verdict) -> str:
    """A criterion, with what was measured; a missed one in capitals."""
    said = verdict.said if verdict.met else verdict.said.upper()
    return f"{said:<6}  {verdict.text}   (measured: {verdict_text(verdict)})"


def _counted(counts: Mapping[str, int], width: int) -> list[str]:
    said = ", ".join(f"{count} {name}{_s(count)}" for name, count in counts.items() if count)
    return _folded(f"{said}: see the report, or use -v", width) if said else []


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _cut(lines: list[str], most: int, what: str, width: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], _short(f"… {len(lines) - most + 1} more {what} in the report", width)]


def _folded(said: str, width: int) -> list[str]:
    return textwrap.wrap(said, width, subsequent_indent="  ")


def _short(said: str, width: int) -> str:
    return said if cell_len(said) <= width else f"{said[: width - 1]}…"
