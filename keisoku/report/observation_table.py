"""An observation's rows as tables, its flags as sentences; layout belongs to HTML and terminal.

Never rounds by itself; `digits` does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from keisoku.analysis.quantity import Quantity
from keisoku.report import digits
from keisoku.report.table import Head, Table
from keisoku.report.text import print_table
from keisoku.run.observation import Flag, Interval, Observation, ObservedRow

HEADS = {"p50": "Median", "p90": "90 %", "p99": "99 %", "p99.9": "99.9 %", "p99.99": "99.99 %"}
ABBREVIATIONS = frozenset({"adev", "mdev", "tdev", "hdev", "mtie", "rtt", "icmp", "tsc", "ttl", "adr", "pdv"})
"""Words of a figure's name that are written in capitals."""
SPAN_MAX = 300.0
"""A column whose figures differ by more is not shown in one unit: each cell has its own."""


def observation_tables(observation: Observation) -> list[Table]:
    """A table for each group of rows, its columns in the order in which figures first occur."""
    return [_table(group, rows) for group, rows in observation.groups().items()]


def flag_text(flag: Flag) -> str:
    """The flag's sentence with its figures."""
    figures = ", ".join(f"{head(name)} {digits.text(figure)}" for name, figure in flag.figures.items())
    return f"{flag.text} ({figures})" if figures else flag.text


def print_observation(observation: Observation, console: Console) -> None:
    """Title, tables, what their marks mean, flags and remarks, on a terminal or as plain aligned lines."""
    _print(console, Text(observation.title, style="bold"))
    for table in observation_tables(observation):
        print_table(table, console)
        for mark in table.marks:
            _print(console, Text(f"{mark} {digits.MARKS[mark]}", style="dim"))
    for flag in observation.flags:
        _print(console, f"flag {flag.name}: {flag_text(flag)}")
    for remark in observation.remarks:
        _print(console, f"remark: {remark}")


def head(name: str) -> str:
    """The head of a figure's column: 'forward_rate' is 'Forward rate'."""
    words = " ".join(word.upper() if word in ABBREVIATIONS else word for word in name.split("_"))
    return HEADS.get(name, words[:1].upper() + words[1:])


def _table(group: str, rows: Sequence[ObservedRow]) -> Table:
    heads, columns, marks = [Head(group, "")], [[row.name for row in rows]], set()
    for name in dict.fromkeys(name for row in rows for name in row.figures):
        figures = [row.figures.get(name) for row in rows]
        intervals = [row.intervals.get(name) for row in rows]
        unit, cells, found = _column(figures, intervals)
        heads.append(Head(head(name), unit))
        columns.append(cells)
        marks |= found
    if any(row.remark for row in rows):
        heads.append(Head("Remark", ""))
        columns.append([row.remark for row in rows])
    return Table("", heads, [list(row) for row in zip(*columns, strict=True)], sorted(marks))


def _column(
    figures: Sequence[Quantity | None], intervals: Sequence[Interval | None]
) -> tuple[str, list[str], set[str]]:
    """Unit of the head, cells and the marks in them."""
    known = [figure for figure in figures if figure is not None]
    sizes = [abs(figure.value) for figure in known if figure.value and math.isfinite(figure.value)]
    common = len({figure.unit for figure in known}) == 1 and (not sizes or max(sizes) <= SPAN_MAX * min(sizes))
    shared = digits.column(figures)[0] if common else None
    cells, marks = [], set()
    for figure, interval in zip(figures, intervals, strict=True):
        if figure is None:
            cells.append("")
            continue
        if interval is not None:
            shown, text = digits.interval(figure, interval.lower, interval.upper, shared)
        else:
            shown = digits.digits(figure, shared)
            text = shown.compact
        cells.append(text if common else f"{text} {shown.unit}")
        marks |= {shown.mark} - {""} if interval is None else set()
    return shared or "", cells, marks


def _print(console: Console, line: str | Text) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
