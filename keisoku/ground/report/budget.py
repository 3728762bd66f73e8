"""Tables of error budgets: each contribution, their combination, the expanded uncertainty.

It computes no uncertainty except the total, by the same rule as the figure itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.ground.report import digits
from keisoku.ground.report.sentence import some
from keisoku.ground.report.table import CONTRIBUTION, DISTRIBUTION, Head, Table, head
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.budget import standard_uncertainty
from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.ground.statistics.uncertainty import expanded
from keisoku.language import join_texts, phrase

DISTRIBUTIONS = {
    "normal": phrase("normal"),
    "rectangular": phrase("rectangular"),
    "triangular": phrase("triangular"),
}
DIGITS = 3
FEW = 3
"""So many different budgets of the same figures are all shown."""


@dataclass(frozen=True)
class Entry:
    """A figure with a budget, and its place in the result; the line has no size and no case."""

    frame_bytes: int | None
    case: str
    figure: str
    quantity: Quantity


def entries(result: Result) -> list[Entry]:
    """Every figure of a result with a budget, in the order of its rows, those of the line last."""
    found = [
        Entry(row.frame_bytes or None, row.case, name, quantity)
        for row in result.rows
        for name, quantity in row.figures.items()
        if quantity.budget
    ]
    if result.line:
        line = {"slope": result.line.slope, "constant": result.line.constant}
        found += [Entry(None, phrase("line"), name, quantity) for name, quantity in line.items() if quantity.budget]
    return found


def budget_tables(result: Result) -> list[Table]:
    """One table for all figures that have the same budget, in a simulated run often a single one.

    Where the same figures have many different ones, only the largest is shown; the CSV file has all.
    """
    alike: dict[tuple[str, tuple[Contribution, ...]], list[Entry]] = {}
    for entry in entries(result):
        alike.setdefault((entry.quantity.unit, entry.quantity.budget), []).append(entry)
    of_figures: dict[tuple[str, ...], list[list[Entry]]] = {}
    for found in alike.values():
        of_figures.setdefault(tuple(dict.fromkeys(entry.figure for entry in found)), []).append(found)
    tables = []
    for groups in of_figures.values():
        largest = max(groups, key=lambda found: found[0].quantity.uncertainty or 0.0)
        shown = groups if len(groups) <= FEW else [largest]
        more = [phrase("the largest of {count}", count=len(groups))] if len(groups) > FEW else []
        tables += [_table(found, more) for found in shown]
    return tables


def _table(found: Sequence[Entry], more: Sequence[str]) -> Table:
    unit, parts = found[0].quantity.unit, found[0].quantity.budget
    heads = [
        Head(CONTRIBUTION, ""),
        Head(phrase("Type"), ""),
        Head(DISTRIBUTION, ""),
        Head(phrase("Value"), ""),
        Head(phrase("Divisor"), ""),
        Head(phrase("Sensitivity"), ""),
        Head(phrase("Standard uncertainty"), unit),
    ]
    rows = [
        [
            part.source,
            part.kind,
            DISTRIBUTIONS[part.distribution],
            _number(part.value),
            _number(part.divisor),
            _number(part.sensitivity),
            _number(part.uncertainty),
        ]
        for part in parts
    ]
    combined = standard_uncertainty(parts)
    rows.append([phrase("combined"), "", "", "", "", "", _number(combined)])
    rows.append([phrase("expanded, k = 2"), "", DISTRIBUTIONS["normal"], "", "", "", _number(expanded(combined))])
    return Table(join_texts(" · ", [*_whose(found), *more]), heads, rows, [])


def _number(value: float) -> str:
    return digits.significant(value, DIGITS)


def _whose(found: Sequence[Entry]) -> list[str]:
    """'Mean, Minimum · 64, 128 byte': the figures and rows of a budget table."""
    figures = join_texts(", ", dict.fromkeys(head(entry.figure, entry.frame_bytes is not None) for entry in found))
    sizes = some(f"{entry.frame_bytes}" for entry in found if entry.frame_bytes is not None)
    cases = some(entry.case for entry in found if entry.case)
    return [part for part in (figures, join_texts("", [sizes, " byte"]) if sizes else "", cases) if part]
