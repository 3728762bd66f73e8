"""A study's published figures compared with ours: tables for page and terminal, CSV and JSON for programs.

Rounds with `digits` and computes no figure.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keisoku.ground.report import digits
from keisoku.ground.report.finding import Finding
from keisoku.ground.report.table import Head, Table
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.running.study.cell import FAILED, Agreement, Cell, as_json
from keisoku.running.study.explanation import Check, Checked
from keisoku.running.study.run import Outcome

_HEADS = (
    Head(phrase("Cell"), ""),
    Head(phrase("Unit"), ""),
    Head(phrase("Published"), phrase("± standard error")),
    Head(phrase("Ours"), phrase("± standard error")),
    Head(phrase("Difference"), ""),
    Head(phrase("In standard errors"), ""),
    Head(phrase("Ours is"), phrase("an independent prediction, or made from the published cell")),
    Head(phrase("Verdict"), ""),
)
_TRUE_HEADS = (*_HEADS[:2], Head(phrase("True"), phrase("± tolerance")), *_HEADS[3:5], _HEADS[7])
_OPEN_HEADS = (*_HEADS[:2], Head(phrase("Ours"), ""))
_CHECK_HEADS = (
    Head(phrase("Explanation"), ""),
    Head(phrase("Cell"), ""),
    Head(phrase("Figure that would refute it"), ""),
    Head(phrase("Expected"), ""),
    Head(phrase("Found"), phrase("± standard error")),
    Head(phrase("Verdict"), ""),
)
_AGREED = {
    "agrees": phrase("agrees"),
    "too wide": phrase("interval too wide to say"),
    "differs": phrase("differs"),
    "undecided": phrase("undecided"),
    "refuted": phrase("refuted"),
    "unexplained": phrase("unexplained"),
    "not found": phrase("not found"),
    "open": phrase("open"),
    "held": phrase("held"),
}
"""How a cell agrees, and how the check of an explanation ended, in a word."""
_SAID = {
    **_AGREED,
    "differs": phrase("differs, explanation held"),
    "undecided": phrase("differs, explanation undecided"),
    "refuted": phrase("DIFFERS, EXPLANATION REFUTED"),
    "unexplained": phrase("DIFFERS, UNEXPLAINED"),
}
_WORST_FIRST = ("refuted", "unexplained", "not found", "undecided", "too wide", "differs", "open", "agrees")
VERDICT = 3
"""The column of `cell_table` that says whether they agree."""
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
            heads, source = (
                _TRUE_HEADS,
                phrase("No published figures: the true values are known from the lab's own links"),
            )
            rows = [[*row[:5], row[7]] for row in rows]
        if table.open:
            heads, source = (
                _OPEN_HEADS,
                phrase("Asked for by {source}, who published no figures", source=outcome.study.source),
            )
            rows = [[*row[:2], row[3]] for row in rows]
        notes = [_explanation(number, reason, mine) for number, reason in enumerate(reasons, 1)]
        if not table.open:
            notes = [*_counts(mine, table.truth), *_inputs(mine), *_following(mine), *notes]
        tables = [Table("", list(heads), rows, _marks(rows))]
        if checks := _checks(mine, reasons):
            tables.append(Table(phrase("Figures that would refute the explanations"), list(_CHECK_HEADS), checks, []))
        findings.append(
            Finding(
                f"{outcome.study.name}-{table.name}".lower().replace(" ", "-").replace(".", "-").replace(",", ""),
                table.name,
                join_texts("", [outcome.study.title, ": ", table.title, ". ", source]),
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
    return [line for mine, truth in ((published, False), (true, True)) if mine for line in _counts(mine, truth)]


def cell_table(outcomes: Sequence[Outcome]) -> Table:
    """The cells of all tables in a few words, what disagrees first; without inputs that are found again or explained,
    which are only counted, and without what follows from other cells."""
    shown = [cell for outcome in outcomes for cell in outcome.cells if not cell.follows]
    cells = [cell for cell in shown if not cell.input or cell.agreement in FAILED]
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
        rows.append([f"{cell.row}: {cell.column}", known, ours, _AGREED[cell.agreement]])
    heads = [
        Head(phrase("Cell"), ""),
        Head(phrase("Published"), ""),
        Head(phrase("Ours"), ""),
        Head(phrase("Verdict"), ""),
    ]
    return Table(phrase("Our figures and the published ones"), heads, rows, [])


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
    basis = phrase("follows") if cell.follows else phrase("input") if cell.input else phrase("prediction")
    if cell.ours is None:
        said = "" if cell.agreement == "open" else phrase("not found")
        return [*name, "–", "", "", basis, said]
    ours = digits.digits(Quantity(value=cell.ours, unit=f"{cell.unit} ", uncertainty=cell.our_error, bound=cell.bound))
    in_errors = "" if cell.in_errors is None else digits.significant(cell.in_errors, 2)
    if cell.bound:
        said = "" if cell.agreement == "open" else phrase("only a bound")
        return [*name, ours.compact, "", "", basis, said]
    said = _SAID[cell.agreement]
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
                    _AGREED[checked.verdict],
                )
                found.setdefault(row, []).append(f"{cell.row}: {cell.column}")
    rows = sorted(found.items(), key=lambda each: int(each[0][0][1:-1]))
    return [[number, _cells_named(names), *rest] for (number, *rest), names in rows]


def _cells_named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else phrase("{names} and {count} more", names=names[0], count=len(names) - 1)


def _range(check: Check) -> str:
    unit = f" {check.unit}" if check.unit else ""
    if check.at_least is None or check.at_most is None:
        if check.at_most is None:
            return phrase("at least {figure}", figure=f"{digits.significant(check.at_least or 0.0, 4)}{unit}")
        return phrase("at most {figure}", figure=f"{digits.significant(check.at_most, 4)}{unit}")
    return phrase(
        "{low} to {high}{unit}",
        low=digits.significant(check.at_least, 4),
        high=digits.significant(check.at_most, 4),
        unit=unit,
    )


def _found(checked: Checked) -> str:
    if checked.found is None:
        return phrase("not measured")
    error = checked.found.error or None
    return digits.digits(Quantity(value=checked.found.value, unit=f"{checked.check.unit} ", uncertainty=error)).compact


def _counts(cells: Sequence[Cell], truth: bool) -> list[str]:
    """How many agree: independent predictions by themselves, inputs by themselves."""
    predicted = [cell for cell in cells if not cell.input and not cell.follows]
    given = [cell for cell in cells if cell.input and not cell.follows]
    within = phrase("the tolerance") if truth else phrase("two standard errors of the difference")
    what = phrase("cells") if truth else phrase("independent predictions")
    said = [_count(predicted, what, phrase("agree within {within}", within=within))] if predicted else []
    if not predicted:
        said.append(phrase("No cell of this table is an independent prediction."))
    if given:
        said.append(
            _count(
                given,
                phrase("inputs of our models"),
                phrase("are found again, which confirms nothing about the device"),
            )
        )
    return said


def _inputs(cells: Sequence[Cell]) -> list[str]:
    """Where inputs of our models went."""
    return [phrase("Input: {into}", into=into) for into in dict.fromkeys(cell.input for cell in cells if cell.input)]


def _following(cells: Sequence[Cell]) -> list[str]:
    """From which other cells some are computed."""
    found = dict.fromkeys(cell.follows for cell in cells if cell.follows)
    return [phrase("Follows from others, and is not counted: {of}", of=of) for of in found]


def _explanation(number: int, reason: str, cells: Sequence[Cell]) -> str:
    why = next(one.untested for cell in cells for one in cell.explained if one.text == reason)
    said = phrase("{reason} No run tries it: {why}", reason=reason, why=why) if why else reason
    return f"[{number}] {said}"


def _count(cells: Sequence[Cell], what: str, agree: str) -> str:
    """Of our figures: one that stands beside several published ones counts once, by the worst."""
    worst: dict[object, Agreement] = {}
    for place, cell in enumerate(cells):
        key = (cell.study, *cell.figure) if cell.figure else place
        worst[key] = min(worst.get(key, cell.agreement), cell.agreement, key=_WORST_FIRST.index)
    counts = Counter(worst.values())
    parts = [
        phrase(
            "{agreeing} of {cells} {what} {agree}", agreeing=counts["agrees"], cells=len(worst), what=what, agree=agree
        )
    ]
    said: tuple[tuple[Agreement, str], ...] = (
        ("too wide", phrase("have an interval too wide to say")),
        ("differs", phrase("differ and an explanation held")),
        ("undecided", phrase("differ and their explanations are undecided")),
        ("refuted", phrase("differ and their explanations are refuted")),
        ("unexplained", phrase("differ without an explanation")),
        ("not found", phrase("were not found")),
    )
    for agreement, text in said:
        if number := counts[agreement]:
            parts.append(phrase("{number} {what}", number=number, what=text))
    return phrase("{said}.", said=join_texts(", ", parts))


def _marks(rows: Sequence[Sequence[str]]) -> list[str]:
    return [mark for mark in digits.MARKS if any(mark in text for row in rows for text in row)]
