"""A run directory of a clock's log, or of a file of phase, as an observation and its plots: the same every time."""

from __future__ import annotations

import pyarrow as pa

from keisoku.clock.stability.analysis import Clock, stability
from keisoku.clock.stability.log import NS_PER_S, host_flags, logged
from keisoku.clock.stability.phase_log import from_phase
from keisoku.clock.stability.plot import stability_plots
from keisoku.clock.stability.power_law import Floats
from keisoku.report.plot import Plot
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Flag, Result

PHASE = "phase"
"""Table of a run that was made from a file of phase."""
_ROWS = 1 << 20
_STEERED = ("monotonic", "realtime", "boottime")


def keep_phase(directory: RunDirectory, phase_s: Floats) -> None:
    """The phase of a file, so that the run can be analysed without it; NaN is missing."""
    for first in range(0, len(phase_s), _ROWS):
        directory.append(PHASE, pa.table({"phase_s": pa.array(phase_s[first : first + _ROWS])}))


def observed(directory: RunDirectory) -> tuple[Result, list[Plot]]:
    """What the rows of the run say. Raises PlanError if there are too few."""
    if directory.parts(PHASE):
        phase = directory.rows(PHASE)["phase_s"].to_numpy()
        settings = directory.plan
        log = from_phase(phase, float(settings["tau0_s"]))
        clock = Clock(str(settings["phase"]), "its reference", 1.0)
        flags: list[Flag] = []
    else:
        log = logged(directory, float(directory.plan["every_s"]))
        clock = _clock(directory)
        flags = [Flag.model_validate(flag) for flag in directory.context.get("said", [])]
        if {directory.plan["clock"], directory.plan["reference"]} & set(_STEERED):
            flags += host_flags(directory)
    observation = stability(log, clock, flags)
    return observation, stability_plots(observation, log, clock.nominal_rate)


def _clock(directory: RunDirectory) -> Clock:
    reference = str(directory.plan["reference"])
    names = {"raw": "CLOCK_MONOTONIC_RAW", "monotonic": "CLOCK_MONOTONIC", "realtime": "CLOCK_REALTIME"}
    nominal = None if directory.plan["clock"] == "counter" else float(NS_PER_S)
    return Clock(str(directory.context["clock"]), names.get(reference, reference), nominal)
