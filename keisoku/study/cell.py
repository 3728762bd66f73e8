"""A published figure and ours: the difference in standard errors, and its explanation, if there is one.

Standard errors here are k = 1, as the literature prints them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from keisoku.analysis.quantity import Quantity
from keisoku.errors import PlanError
from keisoku.run.comparison import overall_figures
from keisoku.run.result import Result, Row
from keisoku.study.file import Column, Study, Table, TableRow

_FACTOR = {("ns", "µs"): 1e-3, ("ns", "ms"): 1e-6, ("frames/s", "kframes/s"): 1e-3, ("bit/s", "Mb/s"): 1e-6}
_ROUNDING = 1e-11
"""Relative difference that floating-point rounding alone can make."""

Agreement = Literal["agrees", "differs", "unexplained", "not found", "open"]


@dataclass(frozen=True)
class Cell:
    """One cell of a published table, in its unit."""

    study: str
    table: str
    row: str
    column: str
    unit: str
    published: float
    """nan in a cell of an open table."""
    published_error: float | None
    """None if none was published."""
    ours: float | None
    """None if our result has no such figure."""
    our_error: float | None
    explanation: str = ""
    up_to: float | None = None
    bound: Literal["", "at least", "at most"] = ""
    """Whether ours is only a bound, which agrees with nothing."""

    @property
    def difference(self) -> float | None:
        """Ours minus published."""
        if self.ours is None or self.bound or math.isnan(self.published):
            return None
        difference = self.ours - self.published
        return 0.0 if abs(difference) <= _ROUNDING * abs(self.published) else difference

    @property
    def in_errors(self) -> float | None:
        """The difference in standard errors of itself; None without one, or for figures that have no error."""
        if self.difference is None or self.published_error is None:
            return None
        error = math.hypot(self.published_error, self.our_error or 0.0)
        return self.difference / error if error > 0 else (None if self.difference else 0.0)

    @property
    def agreement(self) -> Agreement:
        """'agrees' within the published standard error (exactly, without one); otherwise 'differs' if explained.

        'open' where nothing was published to agree with.
        """
        if math.isnan(self.published):
            return "open"
        if self.difference is None:
            return "not found"
        if abs(self.difference) <= (self.published_error or 0.0):
            return "agrees"
        explained = self.explanation and (self.up_to is None or abs(self.difference) <= self.up_to)
        return "differs" if explained else "unexplained"


def cells(study: Study, results: Mapping[str, Result]) -> list[Cell]:
    """Every published figure beside ours; `results` are by the name of the step.

    Raises PlanError if our figure cannot be converted to the file's unit.
    """
    return [_cell(study, table, row, column, value, results[row.step]) for table, row, column, value in study.cells()]


def _cell(study: Study, table: Table, row: TableRow, column: Column, value: float, result: Result) -> Cell:
    found = _find(result, row, column)
    ours, error = None, None
    if found is not None:
        factor = 1.0 if found.unit == column.unit else _FACTOR.get((found.unit, column.unit))
        if factor is None:
            raise PlanError(
                f"{table.name}, {column.name}", f"ours is in {found.unit}, not {column.unit}", "correct the unit"
            )
        ours = found.value * factor
        error = None if found.uncertainty is None else found.uncertainty * factor / 2
    why = next(
        (
            one
            for one in table.explanation
            if row.name in (one.rows or [row.name]) and column.name in (one.columns or [column.name])
        ),
        None,
    )
    return Cell(
        study.name,
        table.name,
        row.name,
        column.name,
        column.unit,
        value,
        table.published_error(row, column),
        ours,
        error,
        why.text if why else "",
        why.up_to if why else None,
        found.bound if found else "",
    )


def _find(result: Result, row: TableRow, column: Column) -> Quantity | None:
    """Our figure for a cell, or its standard error as a figure of its own."""
    percent = column.figure.endswith(".error_percent")
    name = column.figure.removesuffix(".error_percent").removesuffix(".error")
    figure = _figure(result, row, column, name)
    if figure is None or name == column.figure:
        return figure
    if figure.uncertainty is None:
        return None
    error = figure.uncertainty / 2
    if not percent:
        return Quantity(value=error, unit=figure.unit)
    return Quantity(value=abs(error / figure.value) * 100, unit="%") if figure.value else None


def _figure(result: Result, row: TableRow, column: Column, name: str) -> Quantity | None:
    if name.startswith("line.") or name in ("largest", "largest_received"):
        return _overall(result).get(name)
    case = column.case if column.case is not None else row.case
    fitting = [
        one
        for one in result.rows
        if row.frame_bytes in (None, one.frame_bytes)
        and fnmatchcase(f"{one.group}: {one.case}" if one.group else one.case, case or "*")
    ]
    return _only(fitting, row).figures.get(name) if fitting else None


def _overall(result: Result) -> dict[str, Quantity]:
    """Figures of the whole result by the names that study files give them."""
    own = {"largest": "largest", "slope": "line.slope", "constant": "line.constant"}
    found = {own[name]: figure for name, figure in overall_figures(result).items()}
    received = [row.frame_bytes for row in result.rows if (drop := row.figures.get("drop")) and drop.value < 100]
    if received:
        found["largest_received"] = Quantity(value=max(received), unit="byte", uncertainty=0.0)
    return found


def _only(fitting: list[Row], row: TableRow) -> Row:
    if len(fitting) > 1:
        raise PlanError(row.name, f"{len(fitting)} of our rows have this figure", "name frame_bytes or case")
    return fitting[0]


def as_json(cell: Cell) -> dict[str, Any]:
    """The cell for programs."""
    return {
        "study": cell.study,
        "table": cell.table,
        "row": cell.row,
        "column": cell.column,
        "unit": cell.unit,
        "published": None if cell.agreement == "open" else cell.published,
        "published_standard_error": cell.published_error,
        "ours": cell.ours,
        "our_bound": cell.bound,
        "our_standard_error": cell.our_error,
        "difference": cell.difference,
        "difference_in_standard_errors": cell.in_errors,
        "agreement": cell.agreement,
        "explanation": cell.explanation if cell.agreement == "differs" else "",
    }
