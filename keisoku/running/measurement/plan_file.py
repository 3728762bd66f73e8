"""A plan as a TOML file: the settings of any measurement, which the key `measurement` names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError, shown
from keisoku.ground.entry import Measurement
from keisoku.ground.host.text_file import read_toml
from keisoku.ground.run.directory import FORMAT
from keisoku.ground.run.settings import RunSettings, parsed
from keisoku.running.measurement.table import DEVICE, find


def read(
    path: Path, changes: Mapping[str, Any] | None = None, usual: str = DEVICE
) -> tuple[Measurement[Any], RunSettings]:
    """What is measured, and its settings; without the key `measurement` it is a plan of `usual`.

    `changes` are values in place of those of the file.
    Raises PlanError if the file cannot be read or is wrong.
    """
    values = read_toml("plan file", path)
    version = values.pop("format", FORMAT)  # of the directory that the plan was copied from
    if version != FORMAT:
        problem = f"{path} has format {shown(version)}, and this version of keisoku reads format {FORMAT}"
        raise PlanError("format", problem, "use the version that wrote it, or remove it to have the plan read as it is")
    return of_values({**values, **(changes or {})}, usual)


def of_values(values: Mapping[str, Any], usual: str = DEVICE) -> tuple[Measurement[Any], RunSettings]:
    """The same of a plan's values. Raises PlanError if they are wrong."""
    values = dict(values)
    name = values.pop("measurement", usual)
    if not isinstance(name, str):
        raise PlanError("measurement", f"{shown(name)} is no text", "write the name of one in quotes")
    measurement = find(name)
    settings = parsed(measurement.settings, values)
    assert isinstance(settings, RunSettings)
    return measurement, settings
