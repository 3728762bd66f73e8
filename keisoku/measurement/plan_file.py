"""A plan as a TOML file: the settings of any measurement, which the key `measurement` names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keisoku.host.text_file import read_toml
from keisoku.measurement.entry import Measurement
from keisoku.measurement.table import DEVICE, find
from keisoku.run.settings import RunSettings, parsed


def read(path: Path, changes: Mapping[str, Any] | None = None) -> tuple[Measurement[Any], RunSettings]:
    """What is measured, and its settings; without the key `measurement` it is a plan of device procedures.

    `changes` are values in place of those of the file.
    Raises PlanError if the file cannot be read or is wrong.
    """
    values = read_toml("plan file", path)
    values.pop("format", None)  # of the directory that the plan was copied from
    measurement = find(str(values.pop("measurement", DEVICE)))
    settings = parsed(measurement.settings, {**values, **(changes or {})})
    assert isinstance(settings, RunSettings)
    return measurement, settings
