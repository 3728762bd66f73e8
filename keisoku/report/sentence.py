"""What a result found, in one sentence, for somebody who reads nothing else. It repeats what its table says."""

from __future__ import annotations

from keisoku.report import digits
from keisoku.report.table import head
from keisoku.run.result import Result, Row

ROWS = 3
"""Rows that are named before the others are only counted."""


def sentence(result: Result, figure: str) -> str:
    """The figure that stands for the measurement, of the first rows that have it, and the flags."""
    if reason := result.failure or result.nothing_because:
        return f"The measurement did not give the requested result: {reason}."
    rows = [row for row in result.rows if figure in row.figures]
    said = ", ".join(f"{_place(row)}{digits.text(row.figures[figure])}" for row in rows[:ROWS])
    more = f" and {len(rows) - ROWS} more" if len(rows) > ROWS else ""
    found = f"{head(figure)}: {said}{more}." if rows else ""
    flags = f"Flags: {', '.join(flag.name for flag in result.flags)}." if result.flags else ""
    return " ".join(part for part in (found, flags) if part)


def _place(row: Row) -> str:
    """'64 byte: ', 'TSC: ', or nothing for the only row there is."""
    place = ", ".join(part for part in (f"{row.frame_bytes} byte" if row.frame_bytes else "", row.case) if part)
    return f"{place}: " if place else ""
