"""Results as tables on a terminal, or as plain aligned lines in a file.

It never rounds, and never uses the terminal's width when the output goes to a file.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from keisoku.report.digits import MARKS
from keisoku.report.table import WORDS, Table, flag_text, line_table, tables
from keisoku.run.result import Result


def print_results(results: Sequence[Result], console: Console) -> None:
    """Prints every result: tables, line, explanations of marks, flags, deviations and remarks."""
    for result in results:
        for table in [*tables(result), *([line_table(result.line)] if result.line else [])]:
            print_table(table, console)
            for mark in table.marks:
                _print(console, Text(f"{mark} {MARKS[mark]}", style="dim"))
        if result.sentence:
            _print(console, f"in short: {result.sentence}")
        for flag in result.flags:
            _print(console, f"flag {flag.name}: {flag_text(flag)}")
        for name, sentences in (("deviation", result.deviations), ("remark", result.remarks)):
            for sentence in sentences:
                _print(console, f"{name}: {sentence}")
        _print(console, "")


def print_table(table: Table, console: Console) -> None:
    """Its title, and its rows in the form for this console."""
    if table.title:
        _print(console, Text(table.title, style="bold"))
    if console.is_terminal:
        console.print(_rich(table))
    else:
        for line in _plain(table):
            _print(console, line)


def _print(console: Console, line: str | Text) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _rich(table: Table) -> RichTable:
    shown = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in table.heads:
        words = head.title in WORDS
        title = Text(head.title, style="bold")
        if head.unit:
            title.append(f"\n{head.unit}", style="dim")
        shown.add_column(title, justify="left" if words else "right", no_wrap=not words)
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    return shown


def _plain(table: Table) -> list[str]:
    heads = [f"{head.title} ({head.unit})" if head.unit else head.title for head in table.heads]
    grid = [heads, *table.rows]
    widths = [max(len(row[column]) for row in grid) for column in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in grid
    ]
