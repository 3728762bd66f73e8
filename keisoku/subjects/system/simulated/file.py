"""Simulated systems with a timetable of their loads: those that come with keisoku, and those of users' TOML files.

Reads, refuses and writes; simulates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import tomlkit
from pydantic import TypeAdapter, ValidationError

from keisoku.errors import PlanError
from keisoku.ground.host.text_file import read_toml
from keisoku.ground.run.settings import setting_error
from keisoku.language import phrase
from keisoku.subjects.system.simulated.model import ClientModel, ServerModel, SystemModel, e4

_Part = TypeVar("_Part")


@dataclass(frozen=True)
class LoadChange:
    """From `at_s` on, clients have these connections; those that are not named have as many as the system says."""

    at_s: float
    connections: Mapping[str, int]

    def __post_init__(self) -> None:
        if self.at_s < 0 or any(count < 0 for count in self.connections.values()):
            raise PlanError("load", "a time or a number of connections is negative", "give zero or more")


@dataclass(frozen=True)
class Timetable:
    """A system and its changes of load; they repeat every `repeat_s` if given, else the last load stays."""

    title: str
    model: SystemModel
    changes: tuple[LoadChange, ...] = ()
    """In order of time."""
    repeat_s: float | None = None

    def __post_init__(self) -> None:
        names = {client.name for client in self.model.clients}
        times = [change.at_s for change in self.changes]
        if times != sorted(times):
            raise PlanError("load", "at_s goes back", "put the loads in order of time")
        if self.repeat_s is not None and self.repeat_s <= max(times, default=0.0):
            raise PlanError("repeat_s", "it is not after the last load's at_s", "make it longer")
        for change in self.changes:
            if unknown := sorted(set(change.connections) - names):
                raise PlanError("load", f"there is no client '{unknown[0]}'", f"use {', '.join(sorted(names))}")

    def load(self, at_s: float) -> Mapping[str, int]:
        """Connections at a time, by client, where they are not what the system says."""
        within = at_s if self.repeat_s is None else at_s % self.repeat_s
        # Intervals add up with rounding errors: a load that is due within a millisecond is due.
        past = [change for change in self.changes if change.at_s <= within + 1e-3]
        return past[-1].connections if past else {}


@dataclass(frozen=True)
class _File:
    """As written."""

    server: dict[str, Any]
    client: list[dict[str, Any]]
    title: str = phrase("a system of servers and clients")
    load: list[dict[str, Any]] = field(default_factory=list)
    repeat_s: float | None = None


@cache
def builtin() -> dict[str, Timetable]:
    """The systems that come with keisoku, by name."""
    slow = [f"slow{number}" for number in range(1, 5)]
    loads: tuple[dict[str, int], ...] = (
        {},
        {"fast": 100},
        dict.fromkeys(slow, 20),
        {"fast": 3000},
        dict.fromkeys(slow[1:], 0),
        {"fast": 20, **dict.fromkeys(slow, 2)},
    )
    steps = tuple(LoadChange(300.0 * number, load) for number, load in enumerate(loads))
    return {
        "e4": Timetable(phrase("published server with a fast client and four slow ones"), e4()),
        "e4-steps": Timetable(phrase("published system whose load changes every five minutes"), e4(), steps, 1800.0),
    }


def read_system(path: Path) -> Timetable:
    """A user's file. Raises PlanError for the first thing that is wrong."""
    file = _part(_File, "system", read_toml("system", path))
    clients = tuple(_part(ClientModel, f"client {number}", each) for number, each in enumerate(file.client, 1))
    model = SystemModel(_part(ServerModel, "server", file.server), clients)
    changes = tuple(_part(LoadChange, f"load {number}", each) for number, each in enumerate(file.load, 1))
    return Timetable(file.title, model, changes, file.repeat_s)


def write_system(path: Path, timetable: Timetable) -> None:
    """A file that `read_system` reads as this timetable."""
    content = {
        "title": timetable.title,
        **({} if timetable.repeat_s is None else {"repeat_s": timetable.repeat_s}),
        "server": asdict(timetable.model.server),
        "client": [asdict(client) for client in timetable.model.clients],
        "load": [asdict(change) for change in timetable.changes],
    }
    path.write_text(tomlkit.dumps(content), encoding="utf-8")


def _part(kind: type[_Part], name: str, content: Mapping[str, Any]) -> _Part:
    known = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    if unknown := [key for key in content if key not in known]:
        raise PlanError(name, f"there is no setting '{unknown[0]}'", f"use {', '.join(known)}")
    try:
        return TypeAdapter(kind).validate_python(dict(content))
    except ValidationError as error:
        raise setting_error(error, lambda key: f"{name}.{key}") from error
