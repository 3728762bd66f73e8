"""A published figure and ours: the difference in standard errors, and its explanations with their verdicts.

Standard errors here are k = 1, as the literature prints them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

from keisoku.errors import PlanError
from keisoku.ground.run.comparison import overall_figures
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.arithmetic import Arguments, Value
from keisoku.running.study.explanation import Explained, Verdict
from keisoku.running.study.file import MATTERS, Column, Study, Table, TableRow

_FACTOR = {("ns", "µs"): 1e-3, ("ns", "ms"): 1e-6, ("frames/s", "kframes/s"): 1e-3, ("bit/s", "Mb/s"): 1e-6}
_ROUNDING = 1e-11
"""Relative difference that floating-point rounding alone can make."""

Agreement = Literal["agrees", "too wide", "differs", "undecided", "refuted", "unexplained", "not found", "open"]
"""'too wide': the interval contains no difference, and one that matters. 'differs': an explanation held. 'undecided'
and 'refuted': no explanation held, and the best of them is this."""
FAILED = ("refuted", "unexplained", "not found")
_COVERAGE = 2.0
"""Standard errors of a difference that chance exceeds in 5 % of cases."""
_PRECISE = 0.02
"""Where no error was published, only as precise a figure of ours (standard error, relative) can agree: the less precise
one is, the more it would agree with."""
_BEST_FIRST: tuple[Verdict, ...] = ("held", "undecided", "refuted")


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
    bound: Literal["", "at least", "at most"] = ""
    """Whether ours is only a bound, which agrees with nothing."""
    input: str = ""
    """Where the published figure went into what ours was made from; empty: ours is an independent prediction."""
    is_tolerance: bool = False
    """`published_error` is a tolerance, as in a table of the truth, and no standard error."""
    matters: float = math.inf
    """A difference that would matter; an interval that contains it agrees with too much."""
    follows: str = ""
    """From which other published cells it is computed; empty: it says something by itself."""
    figure: tuple[str | int | None, ...] = ()
    """Which of our figures it is beside; several cells may have one."""
    explained: tuple[Explained, ...] = ()
    """All explanations of this cell, tried on it, in their order."""

    @property
    def difference(self) -> float | None:
        """Ours minus published, in the unit of the column."""
        if self.ours is None or self.bound or math.isnan(self.published):
            return None
        difference = self.ours - self.published
        return 0.0 if abs(difference) <= _ROUNDING * abs(self.published) else difference

    @property
    def in_errors(self) -> float | None:
        """The difference as a ratio to its standard error; None without one, or for figures that have no error."""
        if self.difference is None or self.published_error is None:
            return None
        error = math.hypot(self.published_error, self.our_error or 0.0)
        return self.difference / error if error > 0 else (None if self.difference else 0.0)

    @property
    def _reach(self) -> float:
        if self.is_tolerance:
            return self.published_error or 0.0
        if self.published_error is None and (self.our_error or 0.0) > _PRECISE * abs(self.published):
            return 0.0
        return _COVERAGE * math.hypot(self.published_error or 0.0, self.our_error or 0.0)

    @property
    def _half_width(self) -> float:
        """Of the interval of the difference; a tolerance is no error of what is true."""
        published_error = 0.0 if self.is_tolerance else self.published_error or 0.0
        return _COVERAGE * math.hypot(published_error, self.our_error or 0.0)

    @property
    def agreement(self) -> Agreement:
        """'agrees' within two standard errors of the difference (exactly, without any), or what its explanations say.

        'too wide' where a difference that matters lies within them, 'open' where nothing was published to agree with.
        """
        if math.isnan(self.published):
            return "open"
        if self.difference is None:
            return "not found"
        if abs(self.difference) <= self._reach:
            return "agrees" if self._half_width <= self.matters else "too wide"
        best = self.explanation
        if best is None:
            return "unexplained"
        return "differs" if best.verdict == "held" else best.verdict

    @property
    def explanation(self) -> Explained | None:
        """The first that held, or else the first that is undecided, or else the first."""
        return min(self.explained, key=lambda one: _BEST_FIRST.index(one.verdict), default=None)


def cells(study: Study, results: Mapping[str, Result]) -> list[Cell]:
    """Every published figure beside ours, those that differ with their explanations; `results` are by step.

    Raises PlanError if our figure cannot be converted to the file's unit, or if a check asks for what cannot be.
    """
    places = [(table, row, column) for table, row, column, _ in study.cells()]
    found = [_cell(study, table, row, column, value, results[row.step]) for table, row, column, value in study.cells()]
    by_place = {(cell.table, cell.row, cell.column): cell for cell in found}
    return [
        _explained(cell, by_place, results, table, row, column)
        for cell, (table, row, column) in zip(found, places, strict=True)
    ]


def _explained(
    cell: Cell,
    by_place: Mapping[tuple[str, str, str], Cell],
    results: Mapping[str, Result],
    table: Table,
    row: TableRow,
    column: Column,
) -> Cell:
    if cell.agreement != "unexplained":
        return cell

    def lookup(name: str, arguments: Arguments) -> Value | None:
        return _looked_up(name, arguments, cell, by_place, results)

    explained = [
        Explained(one.text, tuple(check.carried_out(lookup) for check in one.check), one.untested)
        for one in table.explanations(row, column)
    ]
    return replace(cell, explained=tuple(explained))


def _looked_up(
    name: str,
    arguments: Arguments,
    cell: Cell,
    by_place: Mapping[tuple[str, str, str], Cell],
    results: Mapping[str, Result],
) -> Value | None:
    """A figure that a check asks for (`explanation.py` has the names)."""
    match name, arguments:
        case (("figure" | "value"), (str(step), str(case), str(figure), *size)) if len(size) <= 1:
            if step not in results:
                raise PlanError(f"{cell.table}, check", f"there is no step '{step}'", "correct its name")
            asked = TableRow(name=f"{step}, {case}", step=step, case=case, frame_bytes=int(size[0]) if size else None)
            found = _figure(results[step], asked, Column(name=figure, unit="", figure=figure), figure)
            if found is None or found.bound:
                return None
            return Value(found.value, (found.uncertainty or 0.0) / 2 if name == "figure" else 0.0)
        case (("published" | "printed" | "ours" | "difference" | "error"), ()):
            there = cell
        case (("published" | "printed" | "ours"), (str(row), str(column))):
            place = by_place.get((cell.table, row or cell.row, column))
            if place is None:
                raise PlanError(f"{cell.table}, check", f"there is no cell '{row}', '{column}'", "correct its name")
            there = place
        case _:
            raise PlanError(f"{cell.table}, check", f"'{name}' takes other names", "see docs/studies.md")
    if name == "published":
        return Value(there.published, there.published_error or 0.0)
    if name == "printed":
        return Value(there.published)
    if there.ours is None or there.bound:
        return None
    if name == "ours":
        return Value(there.ours, there.our_error or 0.0)
    error = math.hypot(there.published_error or 0.0, there.our_error or 0.0)
    return Value(error) if name == "error" else Value(there.difference or 0.0, error)


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
    published_error = table.published_error(row, column)
    return Cell(
        study.name,
        table.name,
        row.name,
        column.name,
        column.unit,
        value,
        published_error,
        ours,
        error,
        found.bound if found else "",
        table.input_of(row, column),
        table.truth,
        _matters(table, column, value, published_error),
        table.follows_from(row, column),
        (row.step, column.case if column.case is not None else row.case, row.frame_bytes, column.figure),
    )


def _matters(table: Table, column: Column, value: float, tolerance: float | None) -> float:
    """A difference that would matter, in the column's unit: where the truth is known, one beyond the tolerance."""
    if table.truth:
        return math.inf if tolerance is None else tolerance
    return MATTERS * abs(value) if column.matters is None else column.matters


def _find(result: Result, row: TableRow, column: Column) -> Quantity | None:
    """Our figure for a cell, or its standard error as a figure of its own."""
    percent = column.figure.endswith(".error_percent")
    name = column.figure.removesuffix(".error_percent").removesuffix(".error")
    figure = _figure(result, row, column, name)
    if figure is None or name == column.figure:
        return figure
    error = _asymptotic_error(result, name)
    if error is None:
        if figure.uncertainty is None:
            return None
        error = figure.uncertainty / 2
    if not percent:
        return Quantity(value=error, unit=figure.unit)
    return Quantity(value=abs(error / figure.value) * 100, unit="%") if figure.value else None


def _asymptotic_error(result: Result, name: str) -> float | None:
    """Of slope or constant of the result's line, as publications print it: its uncertainty allows for more."""
    errors = {} if result.line is None else vars(result.line)
    return errors.get({"line.slope": "slope_error", "line.constant": "constant_error"}.get(name, ""))


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
        "basis": "follows" if cell.follows else "input" if cell.input else "prediction",
        "agreement": cell.agreement,
        "explanation": "" if cell.explanation is None else cell.explanation.text,
        "checks": [
            {
                "explanation": one.text,
                "says": checked.check.says,
                "figure": checked.check.figure,
                "unit": checked.check.unit,
                "at_least": checked.check.at_least,
                "at_most": checked.check.at_most,
                "found": None if checked.found is None else checked.found.value,
                "standard_error": None if checked.found is None else checked.found.error,
                "verdict": checked.verdict,
            }
            for one in cell.explained
            for checked in one.checks
        ],
    }
