"""One run of a study's step, made from the entry of its measurement like any run. It knows no published figure."""

from __future__ import annotations

from pathlib import Path

from keisoku.ground.entry import Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.table import find


def run_step(name: str, path: Path, observer: Observer, **settings: object) -> Outcome:
    """Carries out a measurement of the table in the directory `path`. Raises what it raises."""
    measurement = find(name)
    return carry_out(Work(measurement, parsed(measurement.settings, settings), path, observer=observer))
