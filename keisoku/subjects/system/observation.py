"""What the network alone shows of servers and clients in an interval: counters of ports and of flows.

All of it can be counted at a switch from headers (SYN, first byte of a request, first byte of the answer, FIN) and from
the port's own counters. Nothing comes from a server or a client.
"""

from __future__ import annotations

from dataclasses import dataclass

_ROUNDED_BPS = 8.0


@dataclass(frozen=True)
class ClientView:
    """One client's port and its flows in one interval, as counted in the network."""

    name: str
    line_bps: float
    """The port's line rate towards the client."""
    limit_bps: float | None
    """The limit at that port, read back from it at the end of the interval; None if there was none, whatever was asked
    for."""
    sent_bytes: int
    """Forwarded to the client, with headers."""
    queued_bytes: float
    """Mean length of the port's queue."""
    opened: int
    """Connections tried: SYNs that repeat no other."""
    reopened: int
    """SYNs that repeat an earlier one, which was not answered."""
    completed: int
    """Connections that were answered and closed."""
    open_connections: float
    """Mean number between first SYN and FIN."""
    answering_s: float
    """Sum, over answers that began, of the time since their request (or their first SYN) was seen."""
    p99_s: float | None
    """99th percentile of the time from first SYN to FIN; None if too few connections ended."""
    passed_bytes: int | None = None
    """Sent by the port where the client is limited, if another one delivers to it (else None): frames that were lost
    behind it are in it, and those to others, where it leads to several."""
    passed_line_bps: float | None = None
    """Line rate of that port."""
    limit_steady: bool = True
    """False if the limit was another one earlier in the interval."""

    @property
    def capacity_bps(self) -> float:
        """What the port may forward."""
        return self.line_bps if self.limit_bps is None else min(self.line_bps, self.limit_bps)

    def limited_to(self, limit_bps: float | None) -> bool:
        """Whether this limit, or none, was set there throughout the interval."""
        if limit_bps is None or self.limit_bps is None:
            return self.limit_steady and self.limit_bps is limit_bps
        # The kernel keeps whole bytes per second.
        return self.limit_steady and abs(self.limit_bps - limit_bps) <= _ROUNDED_BPS + 1e-6 * limit_bps


@dataclass(frozen=True)
class Observation:
    """One interval of the whole system."""

    seconds: float
    clients: tuple[ClientView, ...]
    server_line_bps: float | None = None
    """Line rate of the port that all answers come from; None if that is not known, or if there are several."""
    pause_s: float = 0.0
    """What passed before it since the interval before: a busy host takes time to set a limit and to read the ports."""

    @property
    def passed_s(self) -> float:
        """From the end of the interval before to the end of this one."""
        return self.pause_s + self.seconds

    @property
    def bits_per_second(self) -> float:
        """Forwarded to all clients."""
        return 8 * sum(client.sent_bytes for client in self.clients) / self.seconds

    @property
    def requests_per_second(self) -> float:
        """Completed by all clients."""
        return sum(client.completed for client in self.clients) / self.seconds
