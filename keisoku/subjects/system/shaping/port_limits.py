"""`PortLimits`: the limits of some ports, by name; a context manager that leaves every port as it was."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from pyroute2 import NetlinkError

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host import discipline
from keisoku.ground.host.interface import Interface
from keisoku.ground.host.namespace import run_in_namespace, uninterrupted
from keisoku.ground.host.undo import record, undo, undo_left
from keisoku.subjects.system.shaping.guard import Guard
from keisoku.subjects.system.shaping.port_place import PortPlace

FLOOR_BPS = 8_000
"""Below it a full frame would take more than a second."""


class PortLimits:
    """Limits by the names of `places`. On entry: entries of the journal, then guard; nothing is limited yet.

    Raises PlanError on entry for an interface that is not there or has a qdisc of another program.
    """

    def __init__(self, places: Mapping[str, PortPlace]) -> None:
        self._places = dict(places)
        self._numbers = {name: number for number, name in enumerate(self._places, 1)}
        self._found: list[Interface] = []
        self._entries: list[Path] = []
        self._guard: Guard | None = None
        self._process = os.getpid()

    def __enter__(self) -> Self:
        undo_left()
        ports = {place.port for place in self._places.values()}
        alone = [place for place in self._places.values() if place.address is None]
        if len({place.port for place in alone}) < len(alone) or any(
            place.port in {other.port for other in alone} for place in self._places.values() if place.address
        ):
            raise PlanError("port", "one interface is given twice", "give the address of each client behind it")
        for namespace, interface in ports:
            run_in_namespace(namespace, partial(discipline.require_free, interface))
        self._found = [Interface.find(interface, namespace) for namespace, interface in sorted(ports, key=str)]
        try:
            self._arm()
        except BaseException:
            self.close()
            raise
        return self

    def _arm(self) -> None:
        """Journal, then guard: nothing is limited without both."""
        self._entries = [record("limit", interface=vars(one)) for one in self._found]
        self._guard = Guard(self._entries)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def set(self, limits: Mapping[str, float | None]) -> None:
        """Limits in bit/s from now on; ports that are not named have none.

        After a stall of this process its guard has lifted all limits and ended: another one is started first.
        Raises PlanError for a limit below `FLOOR_BPS` or a port that is unknown, EngineError if it cannot be set.
        """
        if self._guard is None:
            raise EngineError("the limits are closed")
        for name, limit in limits.items():
            if name not in self._places:
                raise PlanError("port", f"there is no port {name}", f"give one of {', '.join(self._places)}")
            if limit is not None and limit < FLOOR_BPS:
                raise PlanError("limit", f"{limit:g} b/s lets nothing pass", f"give {FLOOR_BPS} b/s or more")
        if not self._guard.watches:
            uninterrupted(self._close)
            self._arm()
        uninterrupted(lambda: self._set(limits))

    def read(self) -> dict[str, float | None]:
        """The limit of each port in bit/s as the kernel has it now; None: there is none, whatever was set before.

        Raises EngineError if the kernel does not say it.
        """
        found: dict[str, float | None] = {}
        for namespace, interface in sorted({place.port for place in self._places.values()}, key=str):
            try:
                rates = run_in_namespace(namespace, partial(discipline.rates, interface))
            except (NetlinkError, OSError) as error:
                raise EngineError(f"the limit of {interface} cannot be read: {error}") from error
            mine = (name for name, place in self._places.items() if place.port == (namespace, interface))
            found |= {name: rates.get(self._numbers[name]) for name in mine}
        return found

    def queue(self, name: str) -> int:
        """The handle of the qdisc in which what is limited waits; it exists only while there is a limit."""
        return discipline.leaf(self._numbers[name])

    def close(self) -> None:
        """Lifts all limits; doing it twice is no error, and a forked child's copy does nothing."""
        if os.getpid() != self._process:
            return
        uninterrupted(self._close)

    def _close(self) -> None:
        undo(*self._entries)
        if self._guard is not None:
            self._guard.end()
            self._guard = None

    def _set(self, limits: Mapping[str, float | None]) -> None:
        for namespace, interface in sorted({place.port for place in self._places.values()}, key=str):
            rates = {
                self._numbers[name]: (place.address, round(rate))
                for name, place in self._places.items()
                if place.port == (namespace, interface) and (rate := limits.get(name)) is not None
            }
            try:
                run_in_namespace(namespace, partial(discipline.limit, interface, rates))
            except (NetlinkError, OSError) as error:
                raise EngineError(f"the limit of {interface} cannot be set: {error}") from error
