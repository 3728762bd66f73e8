"""The end of a measurement on one screen: at most 20 lines, with the path of the report, which has all the rest.

`-v` prints everything instead (`report/text.py`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from keisoku.report.digits import MARKS
from keisoku.report.table import Table, all_tables
from keisoku.report.text import aligned
from keisoku.report.verdict import verdict_text
from keisoku.run.criterion import Verdict
from keisoku.run.result import Result

MOST_LINES = 20
PIPED_WIDTH = 100
"""Characters of a line in a file or a pipe."""


def summary_lines(results: Sequence[Result], verdicts: Sequence[Verdict], report: Path, width: int) -> list[str]:
    """At most 20 lines of at most `width` characters: verdicts, tables, counts of what the report says besides.

    Only the path of the report is never cut, so that it can be opened; a figure is shown whole or not at all.
    """
    criteria = [criterion_line(verdict) for verdict in verdicts]
    end = [*_counts(results, width), f"report: {report}"]
    # A run of many procedures needs room for a table of each: sentences get a third of the screen.
    top = _cut([_short(said, width) for said in criteria], 5, "criteria", width)
    sentences = [line for result in results if result.sentence for line in _folded(result.sentence, width)]
    top += _cut(sentences, 6, "lines", width)
    every = [table for result in results for table in all_tables(result)]
    return [*top, *_tables(every, MOST_LINES - len(top) - len(end), width), *end]


def print_summary(results: Sequence[Result], verdicts: Sequence[Verdict], report: Path, console: Console) -> None:
    """The same on a console, in its width."""
    width = console.width if console.is_terminal else PIPED_WIDTH
    for line in summary_lines(results, verdicts, report, width):
        console.print(Text(line), soft_wrap=True, highlight=False)


def criterion_line(verdict: Verdict) -> str:
    """A criterion, with what was measured; a missed one in capitals."""
    said = verdict.said if verdict.met else verdict.said.upper()
    return f"{said:<6}  {verdict.text}   (measured: {verdict_text(verdict)})"


def _counts(results: Sequence[Result], width: int) -> list[str]:
    kinds = {
        "deviation": sum(len(result.deviations) for result in results),
        "remark": sum(len(result.remarks) for result in results),
        "flag": sum(len(result.flags) for result in results),
    }
    said = ", ".join(f"{count} {name}{'s' if count != 1 else ''}" for name, count in kinds.items() if count)
    return _folded(f"{said}: see the report, or use -v", width) if said else []


def _tables(every: Sequence[Table], room: int, width: int) -> list[str]:
    """As many as there is room for, each with as many rows as the others."""
    shown = [_lines(table, width) for table in every]
    if sum(map(len, shown)) <= room:
        return [line for lines in shown for line in lines]
    # A table is at least its title, heads, one row, and the count of the others.
    while shown and (len(shown) * 4 + (len(shown) < len(every))) > room:
        shown.pop()
    left_out = len(every) - len(shown)
    share = (room - bool(left_out)) // len(shown) if shown else 0
    kept = [line for lines in shown for line in _cut(lines, share, "rows", width)]
    return kept + ([_short(f"… {left_out} more tables in the report", width)] if left_out and room > 0 else [])


def _lines(table: Table, width: int) -> list[str]:
    """Title, heads and rows, with the first columns that fit side by side."""
    rows, kept = aligned(table, width)
    title = table.title
    if kept < len(table.heads):
        title = f"{title} ({kept} of {len(table.heads)} columns)".strip()
    marks = [f"{mark} {MARKS[mark]}" for mark in table.marks]
    return [_short(line, width) for line in [*([title] if title else []), *rows, *marks]]


def _cut(lines: list[str], most: int, what: str, width: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], _short(f"… {len(lines) - most + 1} more {what} in the report", width)]


def _folded(said: str, width: int) -> list[str]:
    return textwrap.wrap(said, width, subsequent_indent="  ")


def _short(said: str, width: int) -> str:
    return said if cell_len(said) <= width else f"{said[: width - 1]}…"
