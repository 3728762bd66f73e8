"""The end of a measurement or a study on one screen: at most 20 lines, with the path of the report, which has the rest.

`-v` prints everything instead (`report/text.py`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from keisoku.faces.cli.folding import wide_lines
from keisoku.ground.report.bars import ROWS, bars
from keisoku.ground.report.table import Table, all_tables, in_language, main_table
from keisoku.ground.report.text import aligned
from keisoku.ground.report.verdict import JUDGED_LOUDLY, verdict_text
from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.result import Result
from keisoku.language import all_translated, join_texts, phrase, plural, translated
from keisoku.running.measurement.table import of_run

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
    counts: Sequence[str] = ()
    """How many there are of what only the report says: '3 remarks'."""
    not_met: int = 0
    """So many criteria, which come first, are not met: each is shown whole."""

    def lines(self, width: int) -> list[str]:
        """At most 20 lines of at most `width` characters, but for criteria that are not met.

        Only the path of the report is never cut, so that it can be opened; a figure is shown whole or not at all.
        """
        counted = [_counted(self.counts)] if self.counts else []
        report, *said = all_translated([report_line(self.report), *counted, *self.criteria, *self.sentences])
        counted, said = said[: len(counted)], said[len(counted) :]
        criteria, sentences = said[: len(self.criteria)], said[len(self.criteria) :]
        table = None if self.table is None else in_language(self.table)
        end = [*(line for text in counted for line in _folded(text, width)), report]
        shown = _cut(criteria, max(_CRITERIA, self.not_met + 1), _more_criteria, width)
        top = [line for text in shown for line in _folded(text, width)]
        room = MOST_LINES - len(top) - len(end)
        wanted = len(self._rows(table, MOST_LINES, width))
        folded = [line for sentence in sentences for line in _folded(sentence, width)]
        top += _cut(folded, max(_SENTENCES, room - wanted), _more_lines, width)
        return [*top, *self._rows(table, MOST_LINES - len(top) - len(end), width), *end]

    def _rows(self, table: Table | None, room: int, width: int) -> list[str]:
        """Title, heads, rows, and what its marks mean; then how much is left out."""
        if table is None:
            return []
        heads, rows, kept = aligned(table, width, self.main)
        title = table.title
        if kept < len(table.heads):
            columns = translated(phrase("({kept} of {every} columns)", kept=kept, every=len(table.heads)))
            title = f"{title} {columns}" if title else columns
        marks = [
            line
            for mark in table.marks
            if any(mark.split(" ")[0] in row for row in rows)
            for line in _folded(mark, width)
        ]
        before = [_short(line, width) for line in (title, *heads)]
        shown = room - len(before) - len(marks)
        more = [_more_tables(self.more_tables)] if self.more_tables else []
        if shown - bool(more) < len(rows):
            shown = max(1, shown - 1)
            more.insert(0, _more_rows(len(rows) - shown))
        left_out = [_short(_in_the_report(more), width)] if more else []
        return [*before, *(_short(row, width) for row in rows[:shown]), *marks, *left_out]


def summary_of(outcome: Outcome) -> Summary:
    """The end of a measurement."""
    results, directory = outcome.results, outcome.directory
    entry = of_run(directory)
    found = [main_table(result, entry.figure_of(result.measurement, directory.plan)) for result in results]
    table, main = next((each for each in found if each is not None), (None, 0))
    not_met = sum(not verdict.met for verdict in outcome.verdicts)
    return Summary(
        [result.sentence for result in results if result.sentence],
        str(directory.path / "report.html"),
        [criterion_line(verdict) for verdict in sorted(outcome.verdicts, key=lambda verdict: verdict.met)],
        table,
        main,
        sum(len(all_tables(result)) for result in results) - (table is not None),
        _counts(results),
        not_met,
    )


def print_summary(summary: Summary, console: Console) -> None:
    """On a console, in its width."""
    width = console.width if console.is_terminal else PIPED_WIDTH
    for line in summary.lines(width):
        console.print(Text(line), soft_wrap=True, highlight=False)


def print_spread(outcome: Outcome, console: Console) -> None:
    """The distribution of latency, on a terminal that has room for it above the summary; nothing anywhere else."""
    if not console.is_terminal or console.size.height < MOST_LINES + ROWS + 2 or not console.encoding.startswith("utf"):
        return
    found = of_run(outcome.directory).spread(outcome.directory, outcome.results)
    for line in bars(found, console.width) if found else ():
        console.print(Text(line, style="dim"), soft_wrap=True, highlight=False)


def criterion_line(verdict: Verdict) -> str:
    """A criterion, with what was measured; a missed one in capitals."""
    said = JUDGED_LOUDLY[verdict.word]
    measured = phrase("(measured: {figure})", figure=verdict_text(verdict))
    return join_texts("", [said, " " * (6 - len(said)), f"  {verdict.text}   ", measured])


def report_line(path: object) -> str:
    """Where the report is."""
    return phrase("report: {path}", path=path)


def _counts(results: Sequence[Result]) -> list[str]:
    """How many deviations, remarks and flags there are, without those that there are not."""
    found: list[str] = []
    if count := sum(len(result.deviations) for result in results):
        found.append(plural("{count} deviation", "{count} deviations", count=count))
    if count := sum(len(result.remarks) for result in results):
        found.append(plural("{count} remark", "{count} remarks", count=count))
    if count := sum(len(result.flags) for result in results):
        found.append(plural("{count} flag", "{count} flags", count=count))
    return found


def _counted(counts: Sequence[str]) -> str:
    return phrase("{counts}: see the report, or use -v", counts=join_texts(", ", counts))


def _more_tables(count: int) -> str:
    return plural("{count} more table", "{count} more tables", count=count)


def _more_rows(count: int) -> str:
    return plural("{count} more row", "{count} more rows", count=count)


def _more_criteria(count: int) -> str:
    return phrase("{count} more criteria", count=count)


def _more_lines(count: int) -> str:
    return plural("{count} more line", "{count} more lines", count=count)


def _in_the_report(more: Sequence[str]) -> str:
    """That so much is only there, of one kind or of two, in the reader's language."""
    what = more[0] if len(more) == 1 else phrase("{first} and {second}", first=more[0], second=more[1])
    return translated(phrase("… {what} in the report", what=what))


def _cut(lines: list[str], most: int, more: Callable[[int], str], width: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], _short(_in_the_report([more(len(lines) - most + 1)]), width)]


def _folded(said: str, width: int) -> list[str]:
    if not said.isascii() and cell_len(said) != len(said):
        return wide_lines(said, width, "  ")
    return textwrap.wrap(said, width, subsequent_indent="  ")


def _short(said: str, width: int) -> str:
    return said if cell_len(said) <= width else f"{chop_cells(said, width - 1)[0]}…"
