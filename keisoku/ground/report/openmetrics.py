"""Figures of runs as OpenMetrics text, for Prometheus and what reads its form.

Names and units follow OpenMetrics 1.0 and Prometheus' conventions: base units (seconds, bytes, ratios), the unit at the
end of the name. Each figure has the lower and upper end of its interval as metrics of their own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.names import names_of
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.start import instant
from keisoku.ground.statistics.quantity import Quantity

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_BASE: dict[str, tuple[float, str]] = {
    "ns": (1e9, "seconds"),
    "ns/s": (1e9, "seconds_per_second"),
    "ns/byte": (1e9, "seconds_per_byte"),
    "s/GB": (1e9, "seconds_per_byte"),
    "ppb": (1e9, "ratio"),
    "%": (100.0, "ratio"),
    "byte": (1.0, "bytes"),
    "bit/s": (8.0, "bytes_per_second"),
    "frames/s": (1.0, "frames_per_second"),
    "requests/s": (1.0, "requests_per_second"),
    "addresses/s": (1.0, "addresses_per_second"),
}
"""How many of it make the base unit, and the name of that; any other unit stays as it is."""
_LABELS = ("device", "measurement", "group", "case", "frame_bytes", "state")
_NO_NAME = re.compile(r"[^a-zA-Z0-9_]+")


@dataclass(frozen=True)
class Measured:
    """A finished run, and how it is labelled."""

    device: str
    results: Sequence[Result]
    started_s: float | None
    """When it started, in seconds since 1970; None: not known."""


def measured(run: RunDirectory) -> Measured:
    """A finished run. Raises PlanError if it is not finished."""
    results = run.results()
    began = instant(str(run.context.get("started_at")))
    return Measured(names_of([run], [results])[0], results, began.timestamp() if began else None)


def openmetrics(runs: Sequence[Measured]) -> str:
    """All figures of all runs, which differ by device or measurement.

    The label `state` is 'measured', 'at least' or 'at most'; a row without a figure is only in `keisoku_row_measured`,
    as 0.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Runs(runs))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]  # it has no types of its own
    return text.decode()


class _Runs(Collector):
    def __init__(self, runs: Sequence[Measured]) -> None:
        self._runs = runs

    def collect(self) -> Iterator[Metric]:
        families: dict[str, GaugeMetricFamily] = {}
        starts = GaugeMetricFamily(
            "keisoku_run_start_time", "When the run began.", labels=("device", "measurement"), unit="seconds"
        )
        rows = GaugeMetricFamily(
            "keisoku_row_measured", "1 if the row was measured, 0 if it was not.", labels=_LABELS[:-1]
        )
        for run in self._runs:
            for result in run.results:
                if run.started_s is not None:
                    starts.add_metric([run.device, result.measurement], run.started_s)
                missing = {id(row) for row in result.not_measured}
                for row in result.rows:
                    labels = _labels(run, result, row)
                    counts = id(row) not in missing and not row.invalid
                    rows.add_metric(labels, float(counts))
                    for name, figure in row.figures.items() if counts else ():
                        _add(families, name, figure, labels)
        yield starts
        yield rows
        yield from (families[name] for name in sorted(families))


def _labels(run: Measured, result: Result, row: Row) -> list[str]:
    size = str(row.frame_bytes) if row.frame_bytes else ""
    return [run.device, result.measurement, row.group, row.case, size]


def _add(families: dict[str, GaugeMetricFamily], name: str, figure: Quantity, labels: list[str]) -> None:
    divisor, unit = _BASE.get(figure.unit, (1.0, _NO_NAME.sub("_", figure.unit).strip("_").lower()))
    ends = figure.bounds or (math.nan, math.nan)
    state = figure.bound or "measured"
    parts = [("", "The figure", figure.value)]
    if not figure.bound and not math.isnan(ends[0]):
        parts += [("_lower", "Lower end of the interval of the figure", ends[0])]
        parts += [("_upper", "Upper end of the interval of the figure", ends[1])]
    for ending, said, value in parts:
        full = "keisoku_" + _NO_NAME.sub("_", name) + ending
        key = f"{full} {unit}"
        if key not in families:
            families[key] = GaugeMetricFamily(full, f"{said} {name}.", labels=_LABELS, unit=unit)
        families[key].add_metric([*labels, state], value / divisor)
