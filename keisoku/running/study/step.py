"""One run of a study's step, made from the entry of its measurement like any run. It knows no published figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import Outcome, carry_out
from keisoku.running.measurement.table import find

Receivers: TypeAlias = Mapping[str, Any]
"""Of what is said while measuring: parameters of `carry_out`."""


def run_step(name: str, path: Path, receivers: Receivers, **settings: object) -> Outcome:
    """Carries out a measurement of the table in the directory `path`. Raises what it raises."""
    measurement = find(name)
    return carry_out(measurement, parsed(measurement.settings, settings), path, **receivers)
