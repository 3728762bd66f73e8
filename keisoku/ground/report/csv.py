"""Results as CSV: one file for each. Full precision, units in column names.

The files are for programs: nothing is rounded or scaled, and an unknown uncertainty is an empty cell. Where a figure is
only a bound in some row, a column `NAME_bound` says 'at least' or 'at most'; where an uncertainty is only the
resolution of one run, a column `NAME_covers` says so.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from keisoku.ground.report.budget import Entry, entries
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.quantity import Quantity

UNITS = {
    "ns": "ns",
    "ns/byte": "ns_per_byte",
    "ns/s": "ns_per_s",
    "frames/s": "frames_per_second",
    "bit/s": "bits_per_second",
    "%": "percent",
    "byte": "bytes",
    "frames": "frames",
}


def write_csv(folder: Path, results: Sequence[Result], more: Mapping[str, Iterable[Sequence[object]]]) -> list[Path]:
    """Writes `NAME.csv` for each result, `NAME_line.csv` where a line was fitted, `NAME_budget.csv`, and `more`.

    `more` are rows by the name of their file. Makes `folder` if necessary and replaces files of those names; returns
    the files. Raises OSError if that is not possible.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for result in results:
        name = result.measurement.replace(" ", "-")
        written.append(_write(folder / f"{name}.csv", _result_rows(result)))
        if result.line:
            written.append(_write(folder / f"{name}_line.csv", _line_rows(result)))
        if budgets := entries(result):
            written.append(_write(folder / f"{name}_budget.csv", _budget_rows(budgets)))
    return [*written, *(_write(folder / f"{name}.csv", rows) for name, rows in more.items())]


def _write(path: Path, rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def _result_rows(result: Result) -> Iterable[Sequence[object]]:
    names = list(dict.fromkeys(name for row in result.rows for name in row.figures))
    units = {name: {row.figures[name].unit for row in result.rows if name in row.figures} for name in names}
    figures = [(name, figure) for row in result.rows for name, figure in row.figures.items()]
    sided = {name for name, figure in figures if figure.interval}
    bounded = {name for name, figure in figures if figure.bound}
    covered = {name for name, figure in figures if figure.covers}
    of_frames = any(row.frame_bytes for row in result.rows)
    grouped = any(row.group for row in result.rows)
    head: list[object] = [*(["frame_bytes"] if of_frames else []), *(["group"] if grouped else []), "case"]
    for name in names:
        column = f"{name}_{_unit(units[name])}".removesuffix("_")
        head += [column, f"{column}_uncertainty_k2"]
        head += [f"{name}_unit"] if len(units[name]) > 1 else []
        head += [f"{column}_lower", f"{column}_upper"] if name in sided else []
        head += [f"{name}_bound"] if name in bounded else []
        head += [f"{name}_covers"] if name in covered else []
    yield [*head, "trial", "remark"]
    for row in result.rows:
        cells: list[object] = [*([row.frame_bytes] if of_frames else []), *([row.group] if grouped else []), row.case]
        for name in names:
            figure = row.figures.get(name)
            cells += ["", ""] if figure is None else [figure.value, _uncertainty(figure)]
            if len(units[name]) > 1:
                cells.append(figure.unit if figure else "")
            if name in sided:
                ends = figure.interval if figure else None
                cells += [ends.lower, ends.upper] if ends else ["", ""]
            cells += [figure.bound if figure else ""] if name in bounded else []
            cells += [figure.covers if figure else ""] if name in covered else []
        yield [*cells, "" if row.trial is None else row.trial, row.remark]


def _unit(units: set[str]) -> str:
    """The unit in the name of a column; empty where rows have different ones, which are then in a column of their
    own."""
    return UNITS.get(unit := next(iter(units)), unit) if len(units) == 1 else ""


def _uncertainty(figure: Quantity) -> object:
    return "" if figure.uncertainty is None else figure.uncertainty


def _line_rows(result: Result) -> Iterable[Sequence[object]]:
    yield ["term", "value", "unit", "uncertainty_k2", "standard_error", "points"]
    if result.line:
        line = result.line
        for name, figure, error in (
            ("slope", line.slope, line.slope_error),
            ("constant", line.constant, line.constant_error),
        ):
            yield [name, figure.value, figure.unit, _uncertainty(figure), error, len(line.points)]


def _budget_rows(budgets: Iterable[Entry]) -> Iterable[Sequence[object]]:
    """A row for each contribution; standard uncertainties are in the unit of the figure."""
    names = ["source", "kind", "distribution", "value", "divisor", "sensitivity", "uncertainty"]
    yield ["frame_bytes", "case", "figure", "unit", *names, "expanded_uncertainty_k2"]
    for entry in budgets:
        size = "" if entry.frame_bytes is None else entry.frame_bytes
        for part in entry.quantity.budget:
            cells = [getattr(part, name) for name in names]
            yield [size, entry.case, entry.figure, entry.quantity.unit, *cells, _uncertainty(entry.quantity)]
