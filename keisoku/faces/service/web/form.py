"""What a user filled in, as a plan."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.errors import PlanError
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import MODULES, find
from keisoku.subjects.device.table import PROCEDURES


def startable() -> list[tuple[str, str]]:
    """Name and title of each measurement that a server carries out."""
    found = [(name, find(name)) for name in MODULES]
    return [(name, entry.title) for name, entry in found if entry.from_afar is not None]


def procedures() -> list[tuple[str, str]]:
    """Name and title of each procedure of a device."""
    return [(name, procedure.title) for name, procedure in PROCEDURES.items()]


def plan(fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The plan of a form: its own fields, and further settings in TOML, which come last. Raises PlanError."""
    kind = _one(fields, "measurement") or DEVICE
    found: dict[str, Any] = {"measurement": kind}
    if kind == DEVICE:
        found["methods"] = list(fields.get("methods", ())) or ["throughput"]
        if dut := _one(fields, "dut"):
            found["dut"] = dut
        if sizes := _one(fields, "sizes"):
            try:
                found["frame_bytes"] = [int(size) for size in sizes.replace(",", " ").split()]
            except ValueError:
                raise PlanError("sizes", f"'{sizes}' are no sizes", "write 64, 512, 1518") from None
    try:
        further = tomllib.loads(_one(fields, "further").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise PlanError("further settings", f"are not TOML: {error}", "write them as in a plan") from error
    return {**found, **further}


def _one(fields: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(fields.get(name, ())), "").strip()
