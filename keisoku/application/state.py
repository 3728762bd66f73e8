"""The states that a system of servers and clients can be in."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """What bounds the rate of the whole system."""

    IDLE = "idle"
    """Nothing: little is asked of it."""
    NETWORK_BOUND = "network-bound"
    """A link, or a limit that was set there."""
    SERVER_BOUND = "server-bound"
    CLIENT_BOUND = "client-bound"
    """The clients ask for no more than they get."""
    OVERLOADED = "overloaded with waste"
    """The server, which does less than it could because too much is asked of it."""
