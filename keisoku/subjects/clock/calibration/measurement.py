"""`clock calibrate` as an entry of the table of measurements: readings of the reference, and what is kept of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from time import CLOCK_MONOTONIC_RAW

from pydantic import Field

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, translatable_flag
from keisoku.ground.run.settings import RunSettings
from keisoku.language import phrase
from keisoku.subjects.clock import interval_clock, oscillator
from keisoku.subjects.clock.calibration import table
from keisoku.subjects.clock.calibration.analysis import NAME, SPOILING, Measured, best_frequency, residuals
from keisoku.subjects.clock.calibration.analysis import analyse as analyse_readings
from keisoku.subjects.clock.calibration.plot import residual_plot
from keisoku.subjects.clock.host_clocks import HostClocks, counter, host_clocks
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.kinds import Reference, flags
from keisoku.subjects.clock.reference.local import TRIES, brackets
from keisoku.subjects.clock.reference.opening import choose, open_reference

KEEP_EVERY_S = 1.0
"""How often readings are written to the disk, and the kernel's clocks are checked."""
_LEAST_S = 0.01


class CalibrationSettings(RunSettings):
    """Settings of one calibration."""

    reference: str = "auto"
    """Reference clock to compare with: phc:N, pps:N, ptp:HOST, ntp:HOST, http:URL, realtime, monotonic, raw."""
    duration_s: float = Field(1.0, gt=0)
    """Time for which the counter is compared with the reference."""
    tries: int = Field(TRIES, ge=1, le=10_000)
    """Reads of a clock of this machine for each reading; the read with the shortest bracket counts."""
    pause_s: float = Field(2.0, gt=0)
    """Time between two requests to a PTP master or an NTP server; use 2 s or more for servers of other people."""


def measure(work: Work[CalibrationSettings]) -> None:
    """Reads the reference until the duration is over. Raises EngineError if it does not answer."""
    settings, host = work.settings, host_clocks()
    chosen = choose(settings.reference, host)
    name, kept_time = counter(host)
    reference = open_reference(chosen, host, settings.pause_s, settings.tries)
    try:
        least_s = max(reference.at_least_s, _LEAST_S)
        if settings.duration_s < least_s:
            problem = f"{settings.duration_s:g} s is too short for {chosen.name}"
            raise PlanError("duration", problem, f"compare for at least {least_s:g} s")
        directory = work.begin(
            {
                "counter": name,
                "reference": reference.described,
                "reference_is_real": reference.is_real,
                "reference_facts": reference.facts,
                "said": [flag.model_dump(mode="json") for flag in (*flags(chosen, host, kept_time), *reference.flags)],
            },
            settings.model_copy(update={"reference": chosen.name}),
        )
        read_all(
            reference,
            settings.duration_s,
            host_clocks,
            lambda: brackets(CLOCK_MONOTONIC_RAW, 8, 0.0),
            lambda part: table.keep(directory, part),
        )
    finally:
        reference.close()


def read_all(
    reference: Reference,
    duration_s: float,
    look: Callable[[], HostClocks],
    kernel: Callable[[], list[Reading]],
    keep: Callable[[Measured], None],
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Reads for `duration_s`, at least twice; `keep` is given a part every second, and the last one whatever happens.

    Raises EngineError if the reference stops answering.
    """
    count, readings, looks, of_kernel = 0, list[Reading](), [look()], list(kernel())
    begun_s = kept_s = now_s()
    try:
        while True:
            readings += reference.read()
            elapsed_s = now_s() - begun_s
            if elapsed_s >= duration_s and count + len(readings) >= 2:
                break
            if now_s() - kept_s >= KEEP_EVERY_S:
                keep(Measured(tuple(readings), (*looks, look()), tuple(of_kernel)))
                count, readings, looks, of_kernel = count + len(readings), [], [], []
                kept_s = now_s()
            sleep(min(reference.pause_s, max(0.0, duration_s - elapsed_s)))
    finally:
        if count or readings:
            keep(Measured(tuple(readings), (*looks, look()), (*of_kernel, *kernel())))


def analyse(directory: RunDirectory) -> Findings:
    """From the readings alone. Raises PlanError if there are none, and EngineError if they give no frequency."""
    measured, context = table.calibration_rows(directory), directory.context
    said = [translatable_flag(flag) for flag in context["said"]]
    result = analyse_readings(
        measured, str(context["counter"]), str(context["reference"]), said, real=bool(context["reference_is_real"])
    )
    fit = residuals(measured)
    return Findings([result], [residual_plot(fit)] if fit is not None else [])


def keep_frequency(directory: RunDirectory, results: Sequence[Result]) -> str | None:
    """Keeps the counter's frequency for later runs, if it was measured against a real reference and well enough."""
    if not directory.context["reference_is_real"]:
        return None
    frequency = best_frequency(table.calibration_rows(directory))
    if not oscillator.is_worth_keeping(frequency):
        return phrase("calibration not kept: no better than the oscillator's own ± 100 ppm; compare for longer")
    if any(result.flagged(name) for result in results for name in SPOILING):
        return None
    valid_for = interval_clock.oscillator_valid_for(str(directory.context["counter"]))
    made = oscillator.measured_now(frequency, str(directory.plan["reference"]), valid_for)
    return phrase("calibration kept: {keep}", keep=oscillator.keep(interval_clock.oscillator_folder(), made))


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Calibration of the counter"),
    settings=CalibrationSettings,
    seconds=lambda settings: settings.duration_s,
    shortens=("duration_s",),
    measure=measure,
    analyse=analyse,
    keep=keep_frequency,
    figure="frequency",
    units={
        "Hz": "frequency",
        "ppb": "relative_uncertainty runs_fast_by",
        "readings": "readings",
        "ns": "over narrowest_bracket median_bracket residual",
    },
    summary="Measures the frequency of this machine's counter, and keeps it for the error budgets of later runs.",
    help="""Without --reference, a hardware clock or a pulse-per-second input of this machine is used, if there is one.

    \b
    keisoku clock calibrate
    keisoku clock calibrate --reference ptp:HOST --duration 10min --pause 125ms
    keisoku clock calibrate --reference ptp:HOST,domain=44
    keisoku clock calibrate --reference ntp:HOST --duration 10min
    keisoku clock calibrate --reference raw    # the result says if this compares the counter with itself""",
)
