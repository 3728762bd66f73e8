"""`ClientLoad`: the requests of one client host. A plain value."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.errors import PlanError
from keisoku.ground.statistics.seed import DEFAULT

MOST_CONNECTIONS = 100_000


@dataclass(frozen=True)
class ClientLoad:
    """Requests of a client in a namespace (path; None: this process's own), or on a host that ssh reaches, to a server
    (IPv4 address and port).

    Closed loop: each of `connections` sends the next request when the last one is answered. Open loop: `per_second`
    requests fall due independent of answers, at even gaps or as a Poisson process, on at most so many connections. It
    ends after `requests` or `seconds`, whichever comes first.
    """

    name: str
    server: str
    host: str
    paths: tuple[tuple[str, float], ...]
    """Files and how often each is asked for, relative to the others."""
    namespace: str | None = None
    ssh: str | None = None
    """Host of the client, 'ssh://USER@HOST:PORT'; None: this one."""
    connections: int = 1
    per_second: float | None = None
    poisson: bool = False
    keep_alive: bool = False
    requests: int | None = None
    seconds: float | None = None
    offset_s: float = 0.0
    """After the common beginning."""
    timeout_s: float = 10.0
    seed: int = DEFAULT
    compressed: bool = False
    """Request answers compressed with gzip."""

    def check(self) -> None:
        """Raise PlanError for an invalid value."""
        if not 1 <= self.connections <= MOST_CONNECTIONS:
            raise PlanError("concurrency", f"{self.connections} connections", f"give 1 to {MOST_CONNECTIONS}")
        if self.per_second is not None and not 0 < self.per_second <= 1e6:
            raise PlanError("rate", f"{self.per_second:g} requests/s is no valid rate", "give a rate above zero, to 1M")
        if self.requests is None and self.seconds is None:
            raise PlanError("duration", "the load has no end", "give --duration or --requests")
        if self.requests is not None and self.requests < 1:
            raise PlanError("requests", f"{self.requests} requests are too few", "give one or more")
        if (self.seconds is not None and self.seconds <= 0) or self.timeout_s <= 0 or self.offset_s < 0:
            raise PlanError("duration", "a time is not above zero", "give for example 10s")
