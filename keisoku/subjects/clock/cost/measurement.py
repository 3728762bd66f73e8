"""`clock cost` as an entry of the table of measurements: the core measures all of it, and its record is the run."""

from __future__ import annotations

from pydantic import Field, ValidationError

from keisoku import _core
from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work, without_files
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.settings import RunSettings
from keisoku.language import phrase
from keisoku.subjects.clock.cost.analysis import NAME, CostRecord
from keisoku.subjects.clock.cost.analysis import analyse as analyse_record
from keisoku.subjects.clock.cost.plot import cost_plot

RECORD = "record.jsonl"
"""The core's record, in one line."""


class CostSettings(RunSettings):
    """Settings of one measurement."""

    reads: int = Field(100_000, ge=100, le=10_000_000)
    """Number of single reads of each time source."""
    stall_scan_s: float = Field(1.0, ge=0, le=3600)
    """Length of the search for stalls of this host."""
    rounds: int = Field(20_000, ge=1, le=10_000_000)
    """Number of signals between each pair of cores, which bound the difference of their counters."""


def measure(work: Work[CostSettings]) -> None:
    """Reads every time source of this machine."""
    settings = work.settings
    directory = work.begin({})
    record = CostRecord.model_validate_json(
        _core.clock_read_costs(settings.reads, settings.rounds, settings.stall_scan_s)
    )
    directory.append_line(RECORD, record.model_dump_json().encode())


def analyse(directory: RunDirectory) -> Findings:
    """From the record alone. Raises PlanError if there is none."""
    try:
        record = CostRecord.model_validate_json(directory.lines(RECORD)[0])
    except (IndexError, ValidationError) as error:
        raise PlanError("run", f"{directory.path / RECORD} is missing or damaged", "measure again") from error
    return Findings([analyse_record(record)], [cost_plot(record)])


def _seconds(settings: CostSettings) -> float:
    """With the reads of a dozen sources, and signals between each pair of a few cores, at some µs each."""
    return settings.stall_scan_s + 5e-5 * settings.reads + 5e-5 * settings.rounds


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Cost of time sources"),
    settings=CostSettings,
    seconds=_seconds,
    shortens=("stall_scan_s", "reads", "rounds"),
    measure=measure,
    analyse=analyse,
    figure="p50",
    units={
        "ns": "bulk min p50 p99 p99.9 p99.99 max smallest_step common_step lower_bound upper_bound"
        " shortest_round_trip looked_at longest",
        "%": "reads_without_a_step time_lost",
        "reads": "backward_steps",
        "rounds": "rounds",
        "gaps": "gaps_over_1_µs gaps_over_10_µs gaps_over_100_µs",
    },
    summary="Measures cost, resolution and monotonicity of every time source of this machine.",
    help="""Bounds of the difference between the counters of two cores, and stalls of the host, are measured too.

    \b
    keisoku clock cost
    keisoku clock cost --require "p50[rdtsc] < 50 ns\"""",
    from_afar=without_files(),
)
