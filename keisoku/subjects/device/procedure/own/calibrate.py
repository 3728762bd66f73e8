"""The latency that the tester itself adds, on a bare cable, by frame size and load (RFC 8238 §4)."""

from __future__ import annotations

from collections.abc import Generator

from pydantic import Field

from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import deviation
from keisoku.language import phrase
from keisoku.subjects.device.analysis.histogram import merged
from keisoku.subjects.device.analysis.percentile import percentile
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.repetitions import repetition
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS, reached_fps
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


class CalibrateSettings(Settings):
    """The tester on a bare cable: its latency and scatter by frame size and load."""

    trial_s: float = Field(1.0, gt=0)
    repetitions: int = Field(5, ge=2)
    """Number of trials at each size and load."""
    loads_percent: tuple[float, ...] = (1.0, 10.0, 50.0, 90.0)
    """Loads as shares of the highest that the tester can offer on the cable."""
    length_m: float | None = Field(None, ge=0)
    """Length of the cable, for 'keisoku cable-series'; sim:cable gets this length."""


def calibrate(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """Rows, one a size and load: 'offered' (frames/s), 'bias', 'repeat' and 'spread' (ns); see `calibration.bias`."""
    settings = inputs.plan.settings_of(CalibrateSettings)
    rows = []
    for size in inputs.plan.frame_bytes:
        maximum = yield from _maximum(inputs, size)
        for percent in settings.loads_percent:
            records = []
            for number in range(1, settings.repetitions + 1):
                record = yield from _trial(inputs, size, maximum * percent / 100, number, percent)
                if record is not None:
                    records.append(record)
            if len(records) >= 2:
                rows.append(_row(inputs, records))
    remarks = [] if rows else [phrase("the tester could offer no load reliably: nothing was calibrated")]
    return Result(measurement="calibrate", rows=rows, remarks=remarks)


def _maximum(inputs: MethodInput, size: int) -> Generator[Trial, TrialRecord, float]:
    """What the tester can offer on the cable, at most the link's maximum, in frames/s."""
    line = inputs.line_fps(size) or CEILING_WITHOUT_LINK_FPS
    record = yield inputs.trial(
        phrase("maximum {size} byte", size=size), size, line, inputs.plan.settings_of(CalibrateSettings).trial_s
    )
    return reached_fps(record)


def _trial(
    inputs: MethodInput, size: int, rate: float, number: int, percent: float
) -> Generator[Trial, TrialRecord, TrialRecord | None]:
    trial_s = inputs.plan.settings_of(CalibrateSettings).trial_s
    trial = inputs.trial(
        phrase("cable {percent:g} % {number}, {size} byte", percent=percent, number=number, size=size),
        size,
        rate,
        trial_s,
    )
    record = yield from repetition(trial)
    return record if record.valid and record.facts.tracked.latency is not None else None


def _row(inputs: MethodInput, records: list[TrialRecord]) -> Row:
    latencies = [latency for record in records if (latency := record.facts.tracked.latency) is not None]
    means = [latency.mean_ns for latency in latencies]
    histogram = merged([latency.histogram for latency in latencies])
    low, high = percentile(histogram, 15.87), percentile(histogram, 84.13)
    assert low is not None and high is not None, "a negative latency on one clock is impossible"
    repeat = deviation(means)
    trial = records[0].trial
    instrument = inputs.bias.correction(trial.frame_bytes, trial.frames_per_second)
    others = instrument.of_mean if instrument else ()
    bias = budget.mean_with(means, "ns", phrase("repeatability of the trials' means"), others)
    return Row(
        frame_bytes=trial.frame_bytes,
        figures={
            "offered": Quantity(value=trial.frames_per_second, unit="frames/s"),
            "bias": bias,
            "repeat": Quantity(value=repeat, unit="ns"),
            "spread": Quantity(value=(high.value_ns - low.value_ns) / 2, unit="ns"),
        },
        trial=records[0].index,
    )


def _keep(plan: Plan, result: Result, capabilities: Capabilities) -> str | None:
    """Stores the calibration for later runs."""
    from keisoku.subjects.device.calibration.store import keep  # with clocks, which no help waits for

    path = keep(result, capabilities, plan.settings_of(CalibrateSettings).length_m) if result.rows else None
    return None if path is None else phrase("calibration kept: {keep}", keep=path)


PROCEDURE = Procedure(
    name="calibrate",
    title=phrase("Calibration"),
    standard=phrase("the tester on a bare cable"),
    summary="The tester's own latency on a bare cable, which is stored and subtracted from later results.",
    settings=CalibrateSettings,
    of_cpu=True,
    generator=calibrate,
    figure="bias",
    units={"frames/s": "offered", "ns": "bias repeat spread"},
    example="keisoku calibrate --tx xdp:eth1 --rx xdp:eth2",
    dut="lab:cable",
    cable_m=lambda settings: settings.length_m,
    over_two_hosts="latencies",
    keep=_keep,
    is_of_tester=True,
)
