"""A run as CSV: one file for each method, one for all trials. Full precision, units in column names.

For programs: nothing is rounded or scaled, and an unknown uncertainty is an empty cell.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from keisoku.analysis.quantity import Quantity
from keisoku.device.record.trial import TrialRecord
from keisoku.device.report.accounting import account
from keisoku.device.report.device import Device
from keisoku.report.budget import Entry, entries
from keisoku.run.result import Result
from keisoku.run.run import Run

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


def write_csv(run: Run, directory: Path) -> list[Path]:
    """Writes `METHOD.csv`, `METHOD_line.csv` where a line was fitted, `METHOD_budget.csv`, and `trials.csv`.

    Makes `directory` if need be and replaces files of those names; returns what it wrote.
    Raises OSError if that is not possible.
    """
    directory.mkdir(parents=True, exist_ok=True)
    device = Device(0, "", run)
    written = []
    for method in dict.fromkeys(result.method for result in run.results):
        result = device.result(method)
        if result is None:
            continue
        written.append(_write(directory / f"{method}.csv", _result_rows(result)))
        if result.line:
            written.append(_write(directory / f"{method}_line.csv", _line_rows(result)))
        if budgets := entries(result):
            written.append(_write(directory / f"{method}_budget.csv", _budget_rows(budgets)))
    written.append(_write(directory / "trials.csv", _trial_rows(run.records)))
    return written


def _write(path: Path, rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def _result_rows(result: Result) -> Iterable[Sequence[object]]:
    names = list(dict.fromkeys(name for row in result.rows for name in row.figures))
    units = {name: row.figures[name].unit for row in result.rows for name in row.figures}
    columns = [f"{name}_{UNITS.get(units[name], units[name])}" for name in names]
    head = [cell for column in columns for cell in (column, f"{column}_uncertainty_k2")]
    yield ["frame_bytes", "case", *head, "trial", "remark"]
    for row in result.rows:
        cells: list[object] = []
        for name in names:
            figure = row.figures.get(name)
            cells += ["", ""] if figure is None else [figure.value, _uncertainty(figure)]
        yield [row.frame_bytes, row.case, *cells, "" if row.trial is None else row.trial, row.remark]


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


def _trial_rows(records: Iterable[TrialRecord]) -> Iterable[Sequence[object]]:
    yield [
        "trial",
        "method",
        "purpose",
        "started_at_utc",
        "frame_bytes",
        "duration_ns",
        "intended_frames_per_second",
        "offered_frames_per_second",
        "intended_frames",
        "offered_frames",
        "forwarded_frames",
        "lost_frames",
        "lost_gaps",
        "corrupt_frames",
        "corrupt_arrivals",
        "duplicated_frames",
        "reordered_frames",
        "foreign_frames",
        "received_frames",
        "tester_dropped_frames",
        "latency_min_ns",
        "latency_mean_ns",
        "latency_max_ns",
        "latency_deviation_ns",
        "adds_up",
        "stopped_for_loss",
        "invalid_because",
    ]
    for record in sorted(records, key=lambda record: record.index):
        trial, sent, tracked = record.trial, record.facts.sent, record.facts.tracked
        latency = tracked.latency
        yield [
            record.index,
            record.method,
            trial.purpose,
            record.started_at,
            trial.frame_bytes,
            trial.duration_ns,
            trial.frames_per_second,
            record.offered_fps,
            record.intended_frames,
            sent.offered_frames,
            tracked.forwarded_frames,
            tracked.lost_frames,
            len(tracked.lost),
            tracked.corrupt.count,
            tracked.corrupt_arrivals,
            tracked.duplicated.count,
            tracked.reordered.count,
            tracked.foreign_frames,
            tracked.received_frames,
            record.facts.tester_dropped_frames,
            *((latency.min_ns, latency.mean_ns, latency.max_ns, latency.deviation_ns) if latency else ("", "", "", "")),
            account(record).adds_up,
            record.facts.stopped_for_loss,
            "; ".join(record.invalid_because),
        ]
