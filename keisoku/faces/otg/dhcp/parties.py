"""`Parties`: the DHCP clients and servers of a configuration, from their start to their stop.

keisoku translates; dhcpcd asks, and Kea serves. Nothing runs before `start`, and nothing after `stop`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError
from keisoku.faces.otg.device.device import Interface
from keisoku.faces.otg.dhcp import clients, kea
from keisoku.faces.otg.dhcp.clients import DhcpClient
from keisoku.faces.otg.dhcp.servers import DhcpServer
from keisoku.faces.otg.dhcp.states import (
    Lease,
    client_metric,
    interface_state,
    lease,
    leases_state,
    server_metric,
)
from keisoku.ground.host.capability import missing
from keisoku.ground.lab.tester_agents import RIGHTS
from keisoku.ground.lab.tester_dhcp import DhcpPlace, TesterDhcp, leases_hook

Document = dict[str, Any]
METRICS = tuple(f"dhcpv{version}_{role}" for version in (4, 6) for role in ("client", "server"))
"""OTG's names of their metrics, also in the answer."""
STATES = {
    f"dhcpv{version}_{what}": role
    for version in (4, 6)
    for what, role in (("interfaces", "client"), ("leases", "server"))
}
"""OTG's names of their states, and whose they are."""
MOST_PARTIES = 32
"""Each has a namespace and daemons of its own."""

Where = Callable[[Interface], tuple[str, Path]]
"""The interface of the kernel on which an interface of a device is, and its namespace."""


class Parties:
    """Those of one configuration."""

    def __init__(self, own_clients: Sequence[DhcpClient], own_servers: Sequence[DhcpServer]) -> None:
        self._all: tuple[DhcpClient | DhcpServer, ...] = (*own_clients, *own_servers)
        self._numbers = {party.name: number for number, party in enumerate(self._all)}
        self._running: TesterDhcp | None = None

    @property
    def paths(self) -> dict[str, str]:
        """By the names of their interfaces, where they are in the configuration."""
        return {party.interface.name: party.path for party in self._all}

    @property
    def interfaces(self) -> list[Interface]:
        """Those at which they are."""
        return [party.interface for party in self._all]

    def parties(self, kind: str) -> dict[str, DhcpClient | DhcpServer]:
        """Those of an entry of `METRICS`, by their names."""
        wanted = DhcpClient if kind.endswith("client") else DhcpServer
        return {
            party.name: party
            for party in self._all
            if isinstance(party, wanted) and party.version == int(kind.removeprefix("dhcpv")[0])
        }

    def check(self) -> None:
        """Raises PlanError, with the path, where this server may not start them, and for too many."""
        for party in self._all:
            if isinstance(party, DhcpClient) and (absent := missing(RIGHTS)):
                problem = f"dhcpcd does not run with the rights of this server, which has no {absent[0]}"
                raise PlanError(party.path, problem, "start the server with --user root")
        if len(self._all) > MOST_PARTIES:
            problem = f"{len(self._all)} DHCP clients and servers are too many"
            raise PlanError("devices", problem, f"use at most {MOST_PARTIES}")

    def start(self, where: Where) -> None:
        """Starts all, unless they run. Raises PlanError where a program is absent, EngineError if one does not
        start."""
        if self._running is None and self._all:
            self._running = TesterDhcp([_place(party, *where(party.interface)) for party in self._all])

    def stop(self) -> None:
        """Ends all; no error if none runs. Clients give their leases back."""
        running, self._running = self._running, None
        if running is not None:
            running.close()

    def metric(self, party: DhcpClient | DhcpServer) -> Document:
        """The metric of one."""
        counts = {} if self._running is None else self._running.counts(self._numbers[party.name])
        return client_metric(party, counts) if isinstance(party, DhcpClient) else server_metric(party, counts)

    def state(self, party: DhcpClient | DhcpServer) -> Document:
        """What a client was given, or what a server gave. Raises EngineError if its daemon does not answer."""
        number = self._numbers[party.name]
        if isinstance(party, DhcpClient):
            return interface_state(party, *self._told(number))
        return leases_state(party, [] if self._running is None else self._running.leases(number))

    def lease(self, client: DhcpClient) -> Lease | None:
        """The address that a client has now."""
        return lease(client, *self._told(self._numbers[client.name]))

    def _told(self, number: int) -> tuple[dict[str, str], str | None]:
        if self._running is None:
            return {}, None
        return dict(self._running.lease(number)), self._running.router(number)


def _place(party: DhcpClient | DhcpServer, kernel_name: str, namespace: Path) -> DhcpPlace:
    if isinstance(party, DhcpClient):
        return DhcpPlace(kernel_name, namespace, party.version, clients.text(party, kernel_name), party.interface.mac)
    return DhcpPlace(kernel_name, namespace, party.version, kea.text(party, kernel_name, leases_hook()), None)
