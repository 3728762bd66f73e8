"""Results as tables on a terminal, or as plain aligned lines in a file.

It never rounds, and never uses the terminal's width when the output goes to a file.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from keisoku.ground.report.table import WORDS, Table, all_tables, flag_text, in_language
from keisoku.ground.run.result import Result
from keisoku.language import all_translated, phrase

_GAP = "  "


def print_results(results: Sequence[Result], console: Console) -> None:
    """Prints every result: tables, line, explanations of marks, flags, deviations and remarks."""
    for result in results:
        for table in all_tables(result):
            print_table(table, console)
        said = [phrase("in short: {sentence}", sentence=result.sentence)] if result.sentence else []
        said += [phrase("flag {name}: {text}", name=flag.name, text=flag_text(flag)) for flag in result.flags]
        said += [phrase("deviation: {text}", text=text) for text in result.deviations]
        said += [phrase("remark: {text}", text=text) for text in result.remarks]
        for line in (*all_translated(said), ""):
            _print(console, line)


def print_table(table: Table, console: Console) -> None:
    """Its title, its rows in the form for this console, and what its marks mean."""
    words = [head.title in WORDS for head in table.heads]
    table = in_language(table)
    if table.title:
        _print(console, Text(table.title, style="bold"))
    if console.is_terminal:
        console.print(_rich(table, words))
    else:
        heads, rows, _ = aligned(table)
        for line in (*heads, *rows):
            _print(console, line)
    for mark in table.marks:
        _print(console, Text(mark, style="dim"))


def _print(console: Console, line: str | Text) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _rich(table: Table, every_words: Sequence[bool]) -> RichTable:
    shown = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head, words in zip(table.heads, every_words, strict=True):
        title = Text(head.title, style="bold")
        if head.unit:
            title.append(f"\n{head.unit}", style="dim")
        shown.add_column(title, justify="left" if words else "right", no_wrap=not words)
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    return shown


def aligned(table: Table, width: int | None = None, main: int = 0) -> tuple[list[str], list[str], int]:
    """Of a table in the reader's language, as many columns as fit into `width` characters, at least one: titles and
    below them units, as on a page; rows; and how many columns they have.

    Where not all fit, the first one and `main` are kept before the others.
    """
    heads = [[head.title for head in table.heads], [head.unit for head in table.heads]]
    heads = [line for line in heads if any(line)]
    grid = [*heads, *table.rows]
    widths = [max(cell_len(row[column]) for row in grid) for column in range(len(table.heads))]
    wanted, kept = dict.fromkeys([0, main, *range(len(widths))]), list[int]()
    for column in wanted:
        if width is not None and kept and sum(widths[each] + len(_GAP) for each in kept) + widths[column] > width:
            break
        kept.append(column)
    kept.sort()
    cells = [[_padded(row[column], widths[column], left=column == 0) for column in kept] for row in grid]
    lines = [_GAP.join(row).rstrip() for row in cells]
    return lines[: len(heads)], lines[len(heads) :], len(kept)


def _padded(cell: str, width: int, left: bool) -> str:
    spaces = " " * (width - cell_len(cell))
    return cell + spaces if left else spaces + cell
