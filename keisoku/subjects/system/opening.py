"""Opens the system that a user named: 'sim:e4', or the name or file of any other kind. It starts nothing by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.subjects.system.system import System

KINDS: dict[str, str] = {
    "sim": "keisoku.subjects.system.simulated.virtual",
    "lab": "keisoku.subjects.system.network.lab_system",
    "net": "keisoku.subjects.system.network.net_system",
}
"""Modules by the word before the colon. Each has `open_system(rest: str, seed: int) -> System`, which raises PlanError
for what it does not know, and `NAMES`, for users: how the rest is written."""


def open_system(name: str, seed: int = DEFAULT) -> System:
    """The system, not yet entered. `seed` is for what is random in it. Raises PlanError for an unknown one."""
    kind, colon, rest = name.partition(":")
    if not colon or kind not in KINDS or not rest:
        raise PlanError("system", f"there is no system '{name}'", f"use {' or '.join(names())}")
    open_one: Callable[[str, int], System] = import_module(KINDS[kind]).open_system
    return open_one(rest, seed)


def from_afar(values: Mapping[str, Any]) -> None:
    """Settings that a client of the server sent name a simulated system that comes with keisoku. Raises PlanError."""
    kind, _, rest = str(values.get("system", "")).partition(":")
    if kind != "sim" or "/" in rest or rest.endswith(".toml"):
        raise PlanError(
            "system", "may only be given on this host's command line", "use a simulated one, such as sim:e4"
        )


def names() -> list[str]:
    """How systems are written, one a kind."""
    return [f"{kind}:{import_module(module).NAMES}" for kind, module in KINDS.items()]
