"""`clock phase` as an entry of the table of measurements: the phase of a clock that another program logged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import translatable_flag
from keisoku.ground.run.settings import parsed
from keisoku.language import phrase
from keisoku.subjects.clock.stability.analysis import UNITS, Clock, stability
from keisoku.subjects.clock.stability.phase_file.read import read_phase
from keisoku.subjects.clock.stability.phase_log import from_phase
from keisoku.subjects.clock.stability.plot import stability_plots
from keisoku.subjects.clock.stability.settings import PhaseSettings

NAME = "clock phase"
TABLE = "phase"
_ROWS = 1 << 20


def measure(work: Work[PhaseSettings]) -> None:
    """Keeps the phases of the file, so that the run can be analysed without it; NaN is missing.

    Raises PlanError as `read_phase`, and for averaging times that the file's interval does not divide.
    """
    settings = work.settings
    found = read_phase(Path(settings.file), settings.unit, settings.tau0_s, settings.column)
    said = [flag.model_dump(mode="json") for flag in found.flags]
    read = {"form": found.form, "column": found.column, "unit": found.unit, "timed": found.timed, "said": said}
    used = parsed(PhaseSettings, {**settings.plain(), "tau0_s": found.tau0_s})
    directory = work.begin({"read": read}, used)
    for first in range(0, len(found.phase_s), _ROWS):
        rows = slice(first, first + _ROWS)
        directory.append(TABLE, pa.table({"place": found.place[rows], "phase_s": found.phase_s[rows]}))


def analyse(directory: RunDirectory) -> Findings:
    """From the phases that were kept. Raises PlanError if there are too few."""
    settings = PhaseSettings.model_validate(directory.plan)
    rows, read = directory.rows(TABLE), directory.context["read"]
    tau0_s = settings.tau0_s or 1.0
    log = from_phase(rows["phase_s"].to_numpy(), tau0_s, rows["place"].to_numpy())
    clock = Clock(Path(settings.file).name, phrase("its reference"), 1.0)
    said = [translatable_flag(flag) for flag in read["said"]]
    result = stability(log, clock, said, _how_read(read, tau0_s), settings.tau)
    result = result.model_copy(update={"measurement": NAME})
    return Findings([result], stability_plots(result, log, clock.nominal_rate))


def _how_read(read: Mapping[str, Any], tau0_s: float) -> list[str]:
    """What was taken as the phase, and by what its intervals are known."""
    what = phrase("Phase is column '{column}' of the file, in {unit}.", column=read["column"], unit=read["unit"])
    if read["form"]:
        what = phrase(
            "Phase is '{column}' of a log of {form}, in {unit}.",
            column=read["column"],
            form=read["form"],
            unit=read["unit"],
        )
    if read["timed"]:
        return [what, phrase("The file's own times are {tau0_s:.12g} s apart.", tau0_s=tau0_s)]
    return [
        what,
        phrase(
            "The file has no times: phases are taken as {tau0_s:.12g} s apart, and gaps cannot be seen.", tau0_s=tau0_s
        ),
    ]


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Stability of a clock by a log of its phase"),
    settings=PhaseSettings,
    measure=measure,
    analyse=analyse,
    figure="adev",
    units=UNITS,
    summary="Computes the stability of a clock from FILE, a log of its phase by another program.",
    help="""\b
    keisoku clock phase tic.txt --tau0 100ms --unit ns
    keisoku clock phase ptp4l.log
    keisoku clock phase counters.csv --column 3 --tau 1s,10s,100s""",
)
