"""A simulated system in the form in which any system is searched and governed, its load changing by a timetable.

Time is virtual: an interval has passed as soon as it is computed. It sets nothing on any host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from keisoku.errors import PlanError
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.language import phrase, recorded
from keisoku.subjects.system.observation import Observation
from keisoku.subjects.system.simulated.file import Timetable, builtin, read_system
from keisoku.subjects.system.simulated.system import SimulatedSystem
from keisoku.subjects.system.state import State

NAMES = f"{{{', '.join(builtin())}}} or FILE.toml"


def open_system(name: str, seed: int) -> VirtualSystem:
    """A system that comes with keisoku, or a file's. Raises PlanError for an unknown one."""
    if name.endswith(".toml"):
        return VirtualSystem(name, read_system(Path(name)), seed)
    if name not in builtin():
        raise PlanError("system", f"there is no simulated system '{name}'", f"use {NAMES}")
    return VirtualSystem(name, builtin()[name], seed)


class VirtualSystem:
    """A `System` (keisoku/subjects/system/system.py) that runs a timetable."""

    def __init__(self, name: str, timetable: Timetable, seed: int = DEFAULT) -> None:
        self.name, self.timetable, self.seed = name, timetable, seed
        self._system = SimulatedSystem(timetable.model, seed)
        self._load: Mapping[str, int] = {}
        self._at_s = 0.0

    @property
    def ports(self) -> Mapping[str, float]:
        """One port a client, with its rate in bit/s."""
        return {client.name: client.line_bps for client in self.timetable.model.clients}

    def limit(self, limits: Mapping[str, float | None]) -> None:
        """Limits in bit/s, which take effect with the next interval. Raises PlanError for a client without a port."""
        if unknown := sorted(set(limits) - set(self.ports)):
            raise PlanError("client", f"no port leads to '{unknown[0]}'", f"use {', '.join(self.ports)}")
        self._system.limit(limits)

    def observe(self, seconds: float) -> Observation:
        """The next interval of virtual time."""
        # A load that changes within an interval counts from the next: intervals are short beside loads.
        load = self.timetable.load(self._at_s)
        if load != self._load:
            self._system.change(self.timetable.model.with_connections(load))
            self._load = load
        observation = self._system.run(seconds)
        self._at_s += observation.seconds
        return observation

    def now_s(self) -> float:
        """Virtual time, which passes in intervals only."""
        return self._at_s

    def truth(self) -> State | None:
        """From the simulation's inside."""
        return None if self._system.truth is None else self._system.truth.whole

    def facts(self) -> dict[str, Any]:
        """Names the system and says that time is virtual."""
        return {
            "system": phrase("simulated: {title}", title=recorded(self.timetable.title)),
            "time": "virtual",
            "seed": self.seed,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._system.limit({})
