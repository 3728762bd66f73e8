"""A study's published figures compared with ours: tables for page and terminal, CSV and JSON for programs.

Rounds with `digits` and computes no figure.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keisoku.analysis.quantity import Quantity
from keisoku.report import digits
from keisoku.report.finding import Finding
from keisoku.report.table import Head, Table
from keisoku.study.cell import Cell, as_json
from keisoku.study.run import Outcome

_HEADS = (
    Head("Cell", ""),
    Head("Unit", ""),
    Head("Published", "± standard error"),
    Head("Ours", "± standard error"),
    Head("Difference", ""),
    Head("In standard errors", ""),
    Head("Verdict", ""),
)
_TRUE_HEADS = (*_HEADS[:2], Head("True", "± tolerance"), *_HEADS[3:5], _HEADS[6])
_OPEN_HEADS = (*_HEADS[:2], Head("Ours", ""))
_PUBLISHED_DIGITS = 12
"""More than any publication prints, so that its figures are shown as they were."""


def study_findings(outcome: Outcome) -> list[Finding]:
    """A finding for each published table; each explanation stands once below it, under a number."""
    findings = []
    for table in outcome.study.table:
        mine = [cell for cell in outcome.cells if cell.table == table.name]
        reasons = list(dict.fromkeys(cell.explanation for cell in mine if cell.agreement == "differs"))
        rows = [_row(cell, reasons) for cell in mine]
        heads: Sequence[Head] = _HEADS
        source = outcome.study.source
        if table.truth:
            heads, source = _TRUE_HEADS, "No published figures: the true values are known from the lab's own links"
            rows = [[*row[:5], row[6]] for row in rows]
        if table.open:
            heads, source = _OPEN_HEADS, f"Asked for by {outcome.study.source}, who published no figures"
            rows = [[*row[:2], row[3]] for row in rows]
        notes = [f"[{number}] {reason}" for number, reason in enumerate(reasons, 1)]
        if not table.open:
            notes.insert(0, _count(mine, "tolerance" if table.truth else "published standard error"))
        findings.append(
            Finding(
                f"{outcome.study.name}-{table.name}".lower().replace(" ", "-").replace(".", "-").replace(",", ""),
                table.name,
                f"{outcome.study.title}: {table.title}. {source}",
                [Table("", list(heads), rows, _marks(rows))],
                notes,
            )
        )
    return findings


def study_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Every cell, and the differences from the experiment."""
    return {
        "cells": [as_json(cell) for outcome in outcomes for cell in outcome.cells],
        "notes": [note for outcome in outcomes for note in outcome.notes],
    }


def write_study_csv(outcomes: Sequence[Outcome], path: Path) -> None:
    """One line a cell, full precision. Raises OSError if the file cannot be written."""
    rows = study_json(outcomes)["cells"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _row(cell: Cell, reasons: list[str]) -> list[str]:
    published = digits.significant(cell.published, _PUBLISHED_DIGITS)
    if cell.published_error:
        published += f" ± {digits.significant(cell.published_error, _PUBLISHED_DIGITS)}"
    if cell.ours is None:
        said = "" if cell.agreement == "open" else "not found"
        return [f"{cell.row}: {cell.column}", cell.unit, published, "–", "", "", said]
    ours = digits.digits(Quantity(value=cell.ours, unit=f"{cell.unit} ", uncertainty=cell.our_error, bound=cell.bound))
    in_errors = "" if cell.in_errors is None else digits.significant(cell.in_errors, 2)
    if cell.bound:
        said = "" if cell.agreement == "open" else "only a bound"
        return [f"{cell.row}: {cell.column}", cell.unit, published, ours.compact, "", "", said]
    said = {"differs": "differs", "unexplained": "DIFFERS, UNEXPLAINED"}.get(cell.agreement, cell.agreement)
    if cell.agreement == "differs":
        said += f" [{reasons.index(cell.explanation) + 1}]"
    difference = digits.significant(cell.difference or 0.0, 3)
    return [f"{cell.row}: {cell.column}", cell.unit, published, ours.compact, difference, in_errors, said]


def _count(cells: Sequence[Cell], within: str) -> str:
    agreeing = sum(cell.agreement == "agrees" for cell in cells)
    differing = sum(cell.agreement == "differs" for cell in cells)
    left = len(cells) - agreeing - differing
    said = f"{agreeing} of {len(cells)} cells agree within the {within}"
    said += f", {differing} differ and are explained" if differing else ""
    return said + (f", {left} differ without an explanation or were not found" if left else "") + "."


def _marks(rows: Sequence[Sequence[str]]) -> list[str]:
    return [mark for mark in digits.MARKS if any(mark in text for row in rows for text in row)]
