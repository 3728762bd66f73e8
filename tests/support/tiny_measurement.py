"""The smallest possible measurement, made by following docs/recipes.md: how long two reads of a clock are apart."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

import pyarrow as pa
from pydantic import Field

from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.report.plot import Plot, axis, device_colour
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import RunSettings
from keisoku.ground.statistics import budget

NAME = "clock tick"
READINGS = "readings"
"""Table of the raw rows: one part for each repetition, with the column `apart_ns`."""


class TickSettings(RunSettings):
    """Of one measurement."""

    repetitions: int = Field(5, ge=2)
    """Series of reads that are measured."""
    reads: int = Field(100, ge=2, le=1_000_000)
    """Pairs of reads in each series."""


def read() -> int:
    before = perf_counter_ns()
    return perf_counter_ns() - before


def measure(work: Work[TickSettings]) -> None:
    """Keeps each series as soon as it is complete; a run that is continued measures those that are missing."""
    settings = work.settings
    directory = work.begin({})
    for number in range(len(directory.parts(READINGS)), settings.repetitions):
        directory.append(READINGS, pa.table({"apart_ns": [read() for _ in range(settings.reads)]}))
        work.observer.came_to(number + 1, settings.repetitions, f"series {number + 1} of {settings.repetitions}")


def analyse(directory: RunDirectory) -> Findings:
    """From the rows alone. Raises PlanError if there are none."""
    apart_ns = directory.rows(READINGS)["apart_ns"].to_pylist()
    figures = {"mean": budget.mean(apart_ns, "ns")}
    return Findings([Result(measurement=NAME, rows=[Row(case="perf_counter", figures=figures)])], [tick_plot(apart_ns)])


def tick_plot(apart_ns: Sequence[int]) -> Plot:
    """Every pair of reads, in the order in which it was measured."""
    axes = {"xaxis": axis("pair of reads"), "yaxis": axis("ns from the first read to the second", apart_ns)}
    plot = Plot("tick", "How long two reads of the clock are apart.", axes)
    colour = {"color": device_colour(0)}
    plot.add({"mode": "markers", "x": list(range(len(apart_ns))), "y": list(apart_ns), "marker": colour})
    return plot


MEASUREMENT = Measurement(
    name=NAME,
    title="Distance of two reads",
    settings=TickSettings,
    measure=measure,
    analyse=analyse,
    figure="mean",
    units={"ns": "mean"},
    summary="Measures how long two reads of the clock are apart.",
    help="""
    \b
    keisoku clock tick --repetitions 10""",
    resumes=True,
    from_afar=lambda values: None,
)
