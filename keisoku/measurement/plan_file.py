"""A plan as a TOML file: the settings of any measurement, which the key `measurement` names."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError
from keisoku.measurement.entry import Measurement
from keisoku.measurement.table import DEVICE, find
from keisoku.run.settings import RunSettings, parsed


def read(path: Path) -> tuple[Measurement[Any], RunSettings]:
    """What is measured, and its settings; without the key `measurement` it is a plan of device procedures.

    Raises PlanError if the file cannot be read or is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PlanError("plan file", f"cannot read {path}: {reason}", "check the path and its permissions") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError("plan file", f"{path} is not valid TOML: {error}", "correct that line") from error
    values.pop("format", None)  # of the directory that the plan was copied from
    measurement = find(str(values.pop("measurement", DEVICE)))
    settings = parsed(measurement.settings, values)
    assert isinstance(settings, RunSettings)
    return measurement, settings
