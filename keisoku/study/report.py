"""A study's published figures compared with ours: tables for page and terminal, CSV and JSON for programs.

Rounds with `digits` and computes no figure.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keisoku.analysis.quantity import Quantity
from keisoku.report import digits
from keisoku.report.finding import Finding
from keisoku.report.table import Head, Table
from keisoku.study.cell import FAILED, Cell, as_json
from keisoku.study.explanation import Check, Checked
from keisoku.study.run import Outcome

_HEADS = (
    Head("Cell", ""),
    Head("Unit", ""),
    Head("Published", "± standard error"),
    Head("Ours", "± standard error"),
    Head("Difference", ""),
    Head("In standard errors", ""),
    Head("Ours is", "an independent prediction, or made from the published cell"),
    Head("Verdict", ""),
)
_TRUE_HEADS = (*_HEADS[:2], Head("True", "± tolerance"), *_HEADS[3:5], _HEADS[7])
_OPEN_HEADS = (*_HEADS[:2], Head("Ours", ""))
_CHECK_HEADS = (
    Head("Explanation", ""),
    Head("Cell", ""),
    Head("Figure that would refute it", ""),
    Head("Expected", ""),
    Head("Found", "± standard error"),
    Head("Verdict", ""),
)
_SAID = {
    "differs": "differs, explanation held",
    "undecided": "differs, explanation undecided",
    "refuted": "DIFFERS, EXPLANATION REFUTED",
    "unexplained": "DIFFERS, UNEXPLAINED",
}
_WORST_FIRST = ("refuted", "unexplained", "not found", "undecided", "differs", "open", "agrees")
VERDICT = 3
"""The column of `cell_table` that says whether they agree."""
_INTO = "Input: "
_PUBLISHED_DIGITS = 12
"""More than any publication prints, so that its figures are shown as they were."""


def study_findings(outcome: Outcome) -> list[Finding]:
    """A finding for each published table, with every figure that its explanations depend on.

    Each explanation stands once below it, under a number.
    """
    findings = []
    for table in outcome.study.table:
        mine = [cell for cell in outcome.cells if cell.table == table.name]
        reasons = list(dict.fromkeys(one.text for cell in mine for one in cell.explained))
        rows = [_row(cell, reasons) for cell in mine]
        heads: Sequence[Head] = _HEADS
        source = outcome.study.source
        if table.truth:
            heads, source = _TRUE_HEADS, "No published figures: the true values are known from the lab's own links"
            rows = [[*row[:5], row[7]] for row in rows]
        if table.open:
            heads, source = _OPEN_HEADS, f"Asked for by {outcome.study.source}, who published no figures"
            rows = [[*row[:2], row[3]] for row in rows]
        notes = [f"[{number}] {reason}" for number, reason in enumerate(reasons, 1)]
        if not table.open:
            notes = [*_counts(mine, table.truth), *notes]
        tables = [Table("", list(heads), rows, _marks(rows))]
        if checks := _checks(mine, reasons):
            tables.append(Table("Figures that would refute the explanations", list(_CHECK_HEADS), checks, []))
        findings.append(
            Finding(
                f"{outcome.study.name}-{table.name}".lower().replace(" ", "-").replace(".", "-").replace(",", ""),
                table.name,
                f"{outcome.study.title}: {table.title}. {source}",
                tables,
                notes,
            )
        )
    return findings


def study_verdicts(outcomes: Sequence[Outcome]) -> list[str]:
    """How many cells of all tables agree: predictions, those with a true value, and inputs by themselves."""
    cells = [cell for outcome in outcomes for cell in outcome.cells if cell.agreement != "open"]
    true = [cell for cell in cells if cell.is_tolerance]
    published = [cell for cell in cells if not cell.is_tolerance]
    said = [line for mine, truth in ((published, False), (true, True)) if mine for line in _counts(mine, truth)]
    return [line for line in said if not line.startswith(_INTO)]


def cell_table(outcomes: Sequence[Outcome]) -> Table:
    """The cells of all tables in a few words, what disagrees first; without inputs that are found again or explained,
    which are only counted."""
    cells = [cell for outcome in outcomes for cell in outcome.cells if not cell.input or cell.agreement in FAILED]
    cells.sort(key=lambda cell: _WORST_FIRST.index(cell.agreement))
    rows = []
    for cell in cells:
        known = (
            "" if cell.agreement == "open" else _with_unit(digits.significant(cell.published, _PUBLISHED_DIGITS), cell)
        )
        ours = "–"
        if cell.ours is not None:
            of_cell = Quantity(value=cell.ours, unit=f"{cell.unit} ", uncertainty=cell.our_error, bound=cell.bound)
            ours = _with_unit(digits.digits(of_cell).number, cell)
        rows.append([f"{cell.row}: {cell.column}", known, ours, cell.agreement])
    heads = [Head("Cell", ""), Head("Published", ""), Head("Ours", ""), Head("Verdict", "")]
    return Table("Ours beside the published figures", heads, rows, [])


def _with_unit(number: str, cell: Cell) -> str:
    return f"{number} {cell.unit}".rstrip()


def study_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Every cell, and the differences from the experiment."""
    return {
        "cells": [as_json(cell) for outcome in outcomes for cell in outcome.cells],
        "notes": [note for outcome in outcomes for note in outcome.notes],
    }


def write_study_csv(outcomes: Sequence[Outcome], path: Path) -> None:
    """One line a cell, full precision. Raises OSError if the file cannot be written."""
    rows = [cell | {"checks": json.dumps(cell["checks"])} for cell in study_json(outcomes)["cells"]]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _row(cell: Cell, reasons: list[str]) -> list[str]:
    published = digits.significant(cell.published, _PUBLISHED_DIGITS)
    if cell.published_error:
        published += f" ± {digits.significant(cell.published_error, _PUBLISHED_DIGITS)}"
    name = [f"{cell.row}: {cell.column}", cell.unit, published]
    basis = "input" if cell.input else "prediction"
    if cell.ours is None:
        said = "" if cell.agreement == "open" else "not found"
        return [*name, "–", "", "", basis, said]
    ours = digits.digits(Quantity(value=cell.ours, unit=f"{cell.unit} ", uncertainty=cell.our_error, bound=cell.bound))
    in_errors = "" if cell.in_errors is None else digits.significant(cell.in_errors, 2)
    if cell.bound:
        said = "" if cell.agreement == "open" else "only a bound"
        return [*name, ours.compact, "", "", basis, said]
    said = _SAID.get(cell.agreement, cell.agreement)
    if cell.explanation is not None:
        said += f" [{reasons.index(cell.explanation.text) + 1}]"
    difference = digits.significant(cell.difference or 0.0, 3)
    return [*name, ours.compact, difference, in_errors, basis, said]


def _checks(cells: Sequence[Cell], reasons: list[str]) -> list[list[str]]:
    """A row for each figure; cells for which an explanation's figure is the same share one."""
    found: dict[tuple[str, ...], list[str]] = {}
    for cell in cells:
        for one in cell.explained:
            for checked in one.checks:
                row = (
                    f"[{reasons.index(one.text) + 1}]",
                    checked.check.says,
                    _range(checked.check),
                    _found(checked),
                    checked.verdict,
                )
                found.setdefault(row, []).append(f"{cell.row}: {cell.column}")
    rows = sorted(found.items(), key=lambda each: int(each[0][0][1:-1]))
    return [[number, _cells_named(names), *rest] for (number, *rest), names in rows]


def _cells_named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _range(check: Check) -> str:
    unit = f" {check.unit}" if check.unit else ""
    if check.at_least is None or check.at_most is None:
        side = "at least" if check.at_most is None else "at most"
        end = check.at_least if check.at_most is None else check.at_most
        return f"{side} {digits.significant(end or 0.0, 4)}{unit}"
    return f"{digits.significant(check.at_least, 4)} to {digits.significant(check.at_most, 4)}{unit}"


def _found(checked: Checked) -> str:
    if checked.found is None:
        return "not measured"
    error = checked.found.error or None
    return digits.digits(Quantity(value=checked.found.value, unit=f"{checked.check.unit} ", uncertainty=error)).compact


def _counts(cells: Sequence[Cell], truth: bool) -> list[str]:
    """How many agree: independent predictions by themselves, inputs by themselves with where they went."""
    predicted = [cell for cell in cells if not cell.input]
    given = [cell for cell in cells if cell.input]
    within = "the tolerance" if truth else "two standard errors of the difference"
    what = "cells" if truth else "independent predictions"
    said = [_count(predicted, what, f"agree within {within}")] if predicted else []
    if not predicted:
        said.append("No cell of this table is an independent prediction.")
    if given:
        said.append(_count(given, "inputs of our models", "are found again, which confirms nothing about the device"))
        said += [f"{_INTO}{into}" for into in dict.fromkeys(cell.input for cell in given)]
    return said


def _count(cells: Sequence[Cell], what: str, agree: str) -> str:
    agreeing = sum(cell.agreement == "agrees" for cell in cells)
    said = f"{agreeing} of {len(cells)} {what} {agree}"
    for agreement, text in (
        ("differs", "differ and an explanation held"),
        ("undecided", "differ and their explanations are undecided"),
        ("refuted", "differ and their explanations are refuted"),
        ("unexplained", "differ without an explanation"),
        ("not found", "were not found"),
    ):
        if number := sum(cell.agreement == agreement for cell in cells):
            said += f", {number} {text}"
    return f"{said}."


def _marks(rows: Sequence[Sequence[str]]) -> list[str]:
    return [mark for mark in digits.MARKS if any(mark in text for row in rows for text in row)]
