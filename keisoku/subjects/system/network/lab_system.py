"""A system of the lab under load, as a `System`: 'lab:system?rates=20M,none&uplink=100M&udp=90M,-&load=-,20&file=10k'.

The search and the governor see the network only, never the load.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Self, TypeVar

from keisoku.errors import PlanError
from keisoku.ground.lab.system import name as system_name
from keisoku.ground.lab.system.lab import SystemLab, SystemPort
from keisoku.ground.lab.system.shape import LINE_BPS
from keisoku.subjects.system.load.clients import BULK, find_client
from keisoku.subjects.system.network.background import TIMEOUT_S, Background, BackgroundLoad
from keisoku.subjects.system.network.network_system import GovernedPort, NetworkSystem
from keisoku.subjects.system.network.port_watch import Before, WatchedPort
from keisoku.subjects.system.observation import Observation
from keisoku.subjects.system.shaping.port_place import PortPlace
from keisoku.subjects.system.state import State
from keisoku.units import duration_ns, quantity

NAMES = "system?clients=2&file=1430&load=100,1000&…"
LOADS = ("load", "udp", "bulk", "with", "keepalive", "timeout", "rate")
_Value = TypeVar("_Value")


def open_system(name: str, seed: int) -> LabSystem:
    """A lab with its load, not yet made. Raises PlanError, naming the key. Nothing in it is random by `seed`."""
    if not system_name.is_system(name):
        raise PlanError("system", f"there is no system 'lab:{name}'", f"use lab:{NAMES}")
    given = system_name.pairs(name, (*system_name.KEYS, *LOADS), "system")
    lab = SystemLab(system_name.shape_of(given))
    return LabSystem(lab, load_of(given, len(lab.shape.rates_bps)))


def load_of(given: Mapping[str, str], clients: int) -> Background:
    """The load from what was given: for each key one value for all clients, or one for each; '-' is none.

    Raises PlanError for a value that does not go with another.
    """
    client = given.get("with", "own")
    find_client(client)
    if client in BULK:
        raise PlanError("with", f"{client} sends no requests", "use bulk=1, or with=own")
    if given.get("keepalive", "no") not in ("yes", "no"):
        raise PlanError("keepalive", f"'{given['keepalive']}' is neither yes nor no", "write keepalive=yes")
    return Background(
        connections=_each("load", given, clients, _count, 0),
        udp_bps=_each("udp", given, clients, lambda text: system_name.rate_bps("udp", text), None),
        bulk=_each("bulk", given, clients, _count, 0),
        keep_alive=given.get("keepalive") == "yes",
        client=client,
        per_second=_each("rate", given, clients, lambda text: quantity("rate", text, {"": 1.0, "/s": 1.0}), None),
        timeouts_s=_each("timeout", given, clients, lambda text: duration_ns("timeout", text) / 1e9, TIMEOUT_S),
    )


class LabSystem:
    """Made on entry: the lab, its load, and what limits and watches it; gone on any exit."""

    def __init__(self, lab: SystemLab, load: Background) -> None:
        self.lab, self.load = lab, load
        self._stack = ExitStack()
        self._network = NetworkSystem([])

    @property
    def ports(self) -> Mapping[str, float]:
        """In bit/s, known before the lab is made, too."""
        shape = self.lab.shape
        return {
            f"client{number}": float(shape.uplink_bps or rate or LINE_BPS)
            for number, rate in enumerate(shape.rates_bps, 1)
        }

    def limit(self, limits: Mapping[str, float | None]) -> None:
        """In bit/s, at the switch's ports."""
        self._network.limit(limits)

    def observe(self, seconds: float) -> Observation:
        """At the clients' ports."""
        return self._network.observe(seconds)

    def now_s(self) -> float:
        """CLOCK_MONOTONIC."""
        return time.monotonic()

    def truth(self) -> State | None:
        """Unknown: a lab's hosts are real."""
        return None

    def facts(self) -> dict[str, Any]:
        """The lab, its load and what limits it."""
        return {**self._network.facts(), "lab": self.lab.context(), "load": asdict(self.load)}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.lab)
            self._network = NetworkSystem([_governed(port, self.ports[port.name]) for port in self.lab.ports])
            stack.enter_context(self._network)
            stack.enter_context(BackgroundLoad(self.lab, self.load))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _governed(port: SystemPort, line_bps: float) -> GovernedPort:
    limited, seen = (port.limit_interface, port.limit_namespace), (port.seen_interface, port.seen_namespace)
    watched = WatchedPort(
        port.name, port.line_bps, *seen, before=None if limited == seen else Before(line_bps, *limited)
    )
    place = PortPlace(port.limit_interface, port.limit_namespace, port.address if port.shared else None)
    return GovernedPort(watched, place, line_bps)


def _each(
    key: str, given: Mapping[str, str], clients: int, read: Callable[[str], _Value], none: _Value
) -> tuple[_Value, ...]:
    parts = given[key].split(",") if key in given else ["-"]
    if len(parts) not in (1, clients):
        raise PlanError(key, f"there are {len(parts)} values for {clients} clients", "give one, or one for each")
    return tuple(none if part == "-" else read(part) for part in (parts * clients if len(parts) == 1 else parts))


def _count(text: str) -> int:
    if not text.isdecimal():
        raise PlanError("load", f"'{text}' is no whole number", "give for example load=100,-")
    return int(text)
