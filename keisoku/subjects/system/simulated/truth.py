"""The true state of a simulated system, against which an inference is scored.

Code that infers or governs must never read it.
"""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.subjects.system.state import State, whole

IDLE = 0.1
"""Busy for a smaller share than this, server, link and client, is idle."""
BUSY = 0.9
WASTE = 1.05
"""How many times what it costs alone a request must cost to be called waste."""
DROPS = 0.005
"""Share of SYNs dropped that is waste too."""


@dataclass(frozen=True)
class ClientTruth:
    """Where a client's connections are on average, and how busy its link and its processor are (shares of 1)."""

    at_server: float
    at_uplink: float
    """The server's own link, which all answers share."""
    at_link: float
    """The port towards the client."""
    at_client: float
    """Or pausing."""
    per_s: float
    """Requests."""
    link_busy: float
    client_busy: float

    @property
    def connections(self) -> float:
        """The number of all of them."""
        return self.at_server + self.at_uplink + self.at_link + self.at_client


@dataclass(frozen=True)
class Truth:
    """One interval."""

    server_busy: float
    """Share of 1."""
    crowding: float
    """What a request cost over what it costs alone."""
    syns_dropped: float
    """Share of all SYNs."""
    clients: dict[str, ClientTruth]

    @property
    def waste(self) -> bool:
        """True if the server does less than it could because too much is asked of it."""
        return self.server_busy > BUSY and (self.crowding > WASTE or self.syns_dropped > DROPS)

    def state(self, name: str) -> State:
        """What bounds a client: the place at which most of its connections are."""
        client = self.clients[name]
        if max(client.link_busy, client.client_busy) < IDLE and client.at_client >= (1 - IDLE) * client.connections:
            return State.IDLE
        at_links = client.at_uplink + client.at_link
        if client.at_server >= max(at_links, client.at_client) and self.server_busy > BUSY:
            return State.OVERLOADED if self.waste else State.SERVER_BOUND
        return State.NETWORK_BOUND if at_links > client.at_client else State.CLIENT_BOUND

    @property
    def whole(self) -> State:
        """What bounds the system."""
        return whole((self.state(name), client.per_s) for name, client in self.clients.items())
