"""A plan as a TOML file: the settings of any measurement, which the key `measurement` names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keisoku.host.text_file import read_toml
from keisoku.measurement.entry import Measurement
from keisoku.measurement.table import DEVICE, find
from keisoku.run.settings import RunSettings, parsed


def read(
    path: Path, changes: Mapping[str, Any] | None = None, usual: str = DEVICE
) -> tuple[Measurement[Any], RunSettings]:
    """What is measured, and its settings; without the key `measurement` it is a plan of `usual`.

    `changes` are values in place of those of the file.
    Raises PlanError if the file cannot be read or is wrong.
    """
    values = read_toml("plan file", path)
    values.pop("format", None)  # of the directory that the plan was copied from
    return of_values({**values, **(changes or {})}, usual)


def of_values(values: Mapping[str, Any], usual: str = DEVICE) -> tuple[Measurement[Any], RunSettings]:
    """The same of a plan's values. Raises PlanError if they are wrong."""
    values = dict(values)
    measurement = find(str(values.pop("measurement", usual)))
    settings = parsed(measurement.settings, values)
    assert isinstance(settings, RunSettings)
    return measurement, settings
