"""The states that a system of servers and clients can be in."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from keisoku.language import phrase


class State(StrEnum):
    """What bounds the rate of a client, or of the whole system."""

    IDLE = "idle"
    """Nothing: the load is low."""
    NETWORK_BOUND = "network-bound"
    """A link, or a limit that was set there."""
    SERVER_BOUND = "server-bound"
    CLIENT_BOUND = "client-bound"
    """The clients request no more than they get."""
    OVERLOADED = "overloaded with waste"
    """The server, which does less than it could because it is overloaded."""


SAID = {
    State.IDLE: phrase("idle"),
    State.NETWORK_BOUND: phrase("network-bound"),
    State.SERVER_BOUND: phrase("server-bound"),
    State.CLIENT_BOUND: phrase("client-bound"),
    State.OVERLOADED: phrase("overloaded with waste"),
}
"""The states in words for a reader."""


def whole(clients: Iterable[tuple[State, float]]) -> State:
    """The state of the system from those of its clients, each with its rate in requests/s.

    A server that bounds one client bounds them all; else it is the bound of most that counts.
    """
    weights: dict[State, float] = dict.fromkeys(State, 0.0)
    for state, rate in clients:
        weights[state] += max(rate, 1e-9)
    for state in (State.OVERLOADED, State.SERVER_BOUND):
        if weights[state]:
            return state
    busy = {state: weight for state, weight in weights.items() if weight and state is not State.IDLE}
    return max(busy, key=lambda state: busy[state]) if busy else State.IDLE
