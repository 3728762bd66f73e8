"""A plan as a TOML file: the settings of any measurement, which the key `measurement` names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError, excerpt
from keisoku.ground.entry import Measurement
from keisoku.ground.host.text_file import read_toml
from keisoku.ground.run.directory import FORMAT
from keisoku.ground.run.settings import RunSettings
from keisoku.running.measurement.plan_values import DEVICE, of_values
from keisoku.running.measurement.table import find


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
        problem = f"{path} has format {excerpt(version)}, and this version of keisoku reads format {FORMAT}"
        raise PlanError("format", problem, "use the version that wrote it, or remove it to have the plan read as it is")
    return of_values({**values, **(changes or {})}, find, usual)
