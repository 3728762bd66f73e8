"""What a result found, in one sentence, for somebody who reads nothing else. It repeats what its table says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.headline import headline
from keisoku.ground.report.table import head
from keisoku.ground.run.result import Result, Row, place
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase

ROWS = 3
"""Rows that are named before the others are only counted."""
SOME = 6
"""The same, where they are only named."""


def sentence(result: Result, figure: str) -> str:
    """The figure that stands for the measurement, of the first rows that have it, and the flags.

    Where no row has it, it is the first figure that any has.
    """
    if result.failure:
        return phrase("The measurement did not give the requested result: {reason}.", reason=result.failure)
    if not any(figure in row.figures for row in result.rows):
        figure = next((name for row in result.rows for name in row.figures), figure)
    rows = [row for row in result.rows if figure in row.figures]
    known = join_texts(", ", [_with_place(row, _shown(row, figure)) for row in rows[:ROWS]])
    if len(rows) > ROWS:
        known = phrase("{figures} and {count} more", figures=known, count=len(rows) - ROWS)
    of_frames = any(row.frame_bytes for row in rows)
    # 'Mean' says nothing outside of a table of latencies; the latency of a hop is none of frames, and no mean.
    name = head("latency" if of_frames and figure == "mean" else figure, of_frames)
    if result.nothing_because:
        return phrase("{name}: {figures}.", name=name, figures=result.nothing_because)
    found = phrase("{name}: {figures}.", name=name, figures=known) if rows else ""
    missing = not_measured(result)
    flags = phrase("Flags: {names}.", names=", ".join(flag.name for flag in result.flags)) if result.flags else ""
    return join_texts(" ", [part for part in (found, missing, flags) if part])


def both(parts: Sequence[str]) -> str:
    """One text, or two with 'and' between them."""
    return parts[0] if len(parts) == 1 else phrase("{first} and {second}", first=parts[0], second=parts[1])


def some(texts: Iterable[str]) -> str:
    """The first few of different texts; the others are counted."""
    every = list(dict.fromkeys(texts))
    more = len(every) - SOME
    named = join_texts(", ", every[:SOME])
    return phrase("{names} and {count} more", names=named, count=more) if more > 0 else named


def ends(rows: Sequence[Row], figure: str) -> list[tuple[int, Quantity]]:
    """The figure at the smallest and at the largest frame size (bytes) that have it."""
    known = sorted(
        ((row.frame_bytes, row.figures[figure]) for row in rows if figure in row.figures),
        key=lambda entry: entry[0],
    )
    return known[:1] + known[-1:] if len(known) > 1 else known


def not_measured(result: Result) -> str:
    """'Not measured: 64 byte, 128 byte (given up: …).', of rows without any figure; empty if there are none."""
    rows: dict[str, list[str]] = {}
    for row in result.not_measured:
        rows.setdefault(row.remark, []).append(place(row))
    found = [
        phrase("{rows} ({why})", rows=join_texts(", ", filter(None, places)), why=why)
        if why
        else join_texts(", ", places)
        for why, places in rows.items()
    ]
    return phrase("Not measured: {rows}.", rows=join_texts("; ", found)) if found else ""


def _shown(row: Row, figure: str) -> str:
    """What a device does to frames is never below zero."""
    found = row.figures[figure]
    return digits.text(headline(found) if row.frame_bytes else found)


def _with_place(row: Row, figure: str) -> str:
    where = place(row)
    return join_texts(": ", [where, figure]) if where else figure
