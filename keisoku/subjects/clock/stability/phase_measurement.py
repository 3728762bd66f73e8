"""`clock phase` as an entry of the table of measurements: the phase of a clock that another program logged."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.clock.stability.analysis import Clock, stability
from keisoku.subjects.clock.stability.phase_file import read_phase
from keisoku.subjects.clock.stability.phase_log import from_phase
from keisoku.subjects.clock.stability.plot import stability_plots
from keisoku.subjects.clock.stability.settings import PhaseSettings

NAME = "clock phase"
TABLE = "phase"
_ROWS = 1 << 20


def measure(work: Work[PhaseSettings]) -> None:
    """Keeps the phases of the file, so that the run can be analysed without it; NaN is missing."""
    phase_s = read_phase(Path(work.settings.file), work.settings.unit)
    directory = work.begin({})
    for first in range(0, len(phase_s), _ROWS):
        directory.append(TABLE, pa.table({"phase_s": pa.array(phase_s[first : first + _ROWS])}))


def analyse(directory: RunDirectory) -> Findings:
    """From the phases that were kept. Raises PlanError if there are too few."""
    settings = PhaseSettings.model_validate(directory.plan)
    log = from_phase(directory.rows(TABLE)["phase_s"].to_numpy(), settings.tau0_s)
    clock = Clock(Path(settings.file).name, phrase("its reference"), 1.0)
    result = stability(log, clock, tau=settings.tau).model_copy(update={"measurement": NAME})
    return Findings([result], stability_plots(result, log, clock.nominal_rate))


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Stability of a clock by a log of its phase"),
    settings=PhaseSettings,
    measure=measure,
    analyse=analyse,
    figure="adev",
    summary="Computes the stability of a clock from FILE, a log of its phase by another program.",
    help="""\b
    keisoku clock phase tic.txt --tau0 1s
    keisoku clock phase tic.txt --tau0 100ms --unit ns
    keisoku clock phase tic.txt --tau0 1s --tau 1s,10s,100s""",
)
