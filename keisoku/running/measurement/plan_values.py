"""A plan as plain values, as a file or a campaign has them: what is measured, and its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from keisoku.errors import PlanError, excerpt

if TYPE_CHECKING:
    from keisoku.ground.entry import Measurement
    from keisoku.ground.run.settings import RunSettings

DEVICE = "device"
"""What a plan measures that does not say it."""
Find: TypeAlias = "Callable[[str], Measurement[Any]]"
"""Gives the entry of a name; raises PlanError if there is none."""


def of_values(values: Mapping[str, Any], find: Find, usual: str = DEVICE) -> tuple[Measurement[Any], RunSettings]:
    """The entry that the key `measurement` names (default: `usual`), and its settings.

    Raises PlanError if they are wrong.
    """

    values = dict(values)
    name = values.pop("measurement", usual)
    if not isinstance(name, str):
        raise PlanError("measurement", f"{excerpt(name)} is no text", "write the name of one in quotes")
    measurement = find(name)
    settings: RunSettings = measurement.settings_of(values)
    return measurement, settings
