"""What a result found, in one sentence, for somebody who reads nothing else. It repeats what its table says."""

from __future__ import annotations

from keisoku.report import digits
from keisoku.report.table import head
from keisoku.run.result import Result, place

ROWS = 3
"""Rows that are named before the others are only counted."""


def sentence(result: Result, figure: str) -> str:
    """The figure that stands for the measurement, of the first rows that have it, and the flags."""
    if reason := result.failure or result.nothing_because:
        return f"The measurement did not give the requested result: {reason}."
    rows = [row for row in result.rows if figure in row.figures]
    said = ", ".join(f"{_colon(place(row))}{digits.text(row.figures[figure])}" for row in rows[:ROWS])
    more = f" and {len(rows) - ROWS} more" if len(rows) > ROWS else ""
    found = f"{head(figure)}: {said}{more}." if rows else ""
    missing = not_measured(result)
    flags = f"Flags: {', '.join(flag.name for flag in result.flags)}." if result.flags else ""
    return " ".join(part for part in (found, missing, flags) if part)


def not_measured(result: Result) -> str:
    """'Not measured: 64 byte, 128 byte (given up: …).', of rows without any figure; empty if there are none."""
    rows: dict[str, list[str]] = {}
    for row in result.not_measured:
        rows.setdefault(row.remark, []).append(place(row))
    said = [f"{', '.join(filter(None, places))} ({why})" if why else ", ".join(places) for why, places in rows.items()]
    return f"Not measured: {'; '.join(said)}." if said else ""


def _colon(name: str) -> str:
    return f"{name}: " if name else ""
