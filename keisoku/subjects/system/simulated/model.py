"""What a simulated system is made of: a server, clients and the files they request; and E4's system.

E4 is a published experiment (KAKENHI report, 2012–14): web servers, a fast client and slow clients on one switch.

Descriptions only; nothing here runs. Times are in seconds, rates in bit/s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from statistics import NormalDist

from keisoku.errors import PlanError

REQUEST_S, BYTE_S, CROWD = 13.75e-6, 1.5e-9, 3000.0
SLOW_WORK_S, FAST_WORK_S = 115e-6, 16e-6
"""Of E4's hosts, by calibration: the server alone does 63,000 requests/s, a slow client 8,700, the fast one 62,500."""
HEADER_BYTES = 240
"""Of an answer of HTTP."""
SEGMENT_BYTES = 1460
FRAME_BYTES = 58
"""Ethernet, IPv4, TCP and FCS, as a port's counter and a limit see them."""
INITIAL_SEGMENTS = 10
"""That a server sends before the first acknowledgement (RFC 6928)."""
CONTROL_FRAMES = 3
"""Towards the client in each connection: SYN-ACK, an acknowledgement and FIN."""


@dataclass(frozen=True)
class ServerModel:
    """One server. A request costs processor time, more of it the more connections there are (caches, wake-ups)."""

    request_s: float
    byte_s: float = 0.0
    """Processor time for each byte of a file."""
    crowd: float = 3000.0
    """Connections at which a request costs twice what it costs alone; the excess is waste."""
    slots: int = 512
    """Connections served at a time (nginx: worker_connections, as far as its workers really take them on)."""
    backlog: int = 511
    """Of the accept queue (nginx's default). A SYN that finds it full is dropped."""
    line_bps: float = 10e9
    """Of the link from it, which all answers share."""
    syn_s: float = 5e-6
    """Processor time for a SYN that is dropped."""
    unsteady: float = 0.005
    """Relative standard deviation of its speed."""

    def __post_init__(self) -> None:
        _positive("server", request_s=self.request_s, line_bps=self.line_bps, crowd=self.crowd, slots=self.slots)
        _not_negative("server", byte_s=self.byte_s, backlog=self.backlog, syn_s=self.syn_s, unsteady=self.unsteady)

    @property
    def places(self) -> int:
        """Connections at the server, served or in the accept queue, beyond which SYNs are dropped."""
        return self.slots + self.backlog

    def crowding(self, connections: float) -> float:
        """How many times what it costs alone a request costs among so many connections."""
        return 1 + (connections / self.crowd) ** 2


@dataclass(frozen=True)
class ClientModel:
    """One client host that keeps a number of connections going, each with one request (ab without keep-alive)."""

    name: str
    connections: int
    line_bps: float
    file_bytes: int
    """Mean, if sizes differ."""
    sizes: tuple[tuple[float, float], ...] = ()
    """Sizes of files in bytes with their shares; empty: all files have `file_bytes`."""
    work_s: float = 0.0
    """Processor time of the client for each request; it has one processor (ab has one thread)."""
    pause_s: float = 0.0
    """Before each request."""
    round_trip_s: float = 100e-6

    def __post_init__(self) -> None:
        name = f"client {self.name}"
        _positive(name, line_bps=self.line_bps, file_bytes=self.file_bytes, round_trip_s=self.round_trip_s)
        _not_negative(name, connections=self.connections, work_s=self.work_s, pause_s=self.pause_s)
        if self.sizes and not math.isclose(self._mean(lambda size: size), self.file_bytes, rel_tol=1e-3):
            raise PlanError(f"{name}.sizes", f"their mean is not file_bytes, {self.file_bytes}", "correct one of them")

    @cached_property
    def answer_bits(self) -> float:
        """On the link towards the client for each request, all frames with their headers; the mean of all sizes."""
        return self._mean(_answer_bits)

    @cached_property
    def round_trips(self) -> float:
        """The number of them for each request: two until its first answer, and those of TCP's slow start for more
        segments (RFC 5681)."""
        return 2 + self._mean(_slow_start)

    @cached_property
    def size_variance(self) -> float:
        """The variance of the sizes, in bytes squared."""
        return self._mean(lambda size: (size - self.file_bytes) ** 2)

    def _mean(self, of: Callable[[float], float]) -> float:
        if not self.sizes:
            return of(float(self.file_bytes))
        return sum(share * of(size) for size, share in self.sizes) / sum(share for _, share in self.sizes)

    def capacity_bps(self, limit_bps: float | None) -> float:
        """Of the port towards the client."""
        return self.line_bps if limit_bps is None else min(self.line_bps, limit_bps)


@dataclass(frozen=True)
class SystemModel:
    """A server and its clients."""

    server: ServerModel
    clients: tuple[ClientModel, ...]

    def __post_init__(self) -> None:
        names = [client.name for client in self.clients]
        if not names or len(set(names)) < len(names):
            raise PlanError("client", "there is none, or two have one name", "give each a name of its own")

    def with_connections(self, connections: Mapping[str, int]) -> SystemModel:
        """The same system under another load; clients that are not named keep theirs."""
        changed = (replace(c, connections=connections.get(c.name, c.connections)) for c in self.clients)
        return replace(self, clients=tuple(changed))


def e4(
    file_bytes: int = 1430, slow_clients: int = 4, slow_connections: int = 100, fast_connections: int = 1000
) -> SystemModel:
    """E4's system: one client at 10 Gb/s and some at 1 Gb/s, whose total has its maximum at a limit of 420 Mb/s.

    Published are the links, the concurrencies, the file and that maximum. The costs in the hosts were not: they are
    chosen so that the maximum lies where it was found, and the curve has its published form on both sides.
    """
    slow = (
        ClientModel(f"slow{number}", slow_connections, 1e9, file_bytes, work_s=SLOW_WORK_S)
        for number in range(1, slow_clients + 1)
    )
    fast = ClientModel("fast", fast_connections, 10e9, file_bytes, work_s=FAST_WORK_S)
    return SystemModel(ServerModel(request_s=REQUEST_S, byte_s=BYTE_S, crowd=CROWD), (fast, *slow))


@lru_cache
def log_normal_sizes(mean_bytes: int, variation: float, count: int = 200) -> tuple[tuple[float, float], ...]:
    """Equally frequent sizes of a log-normal distribution with this mean and this ratio of deviation and mean.

    Files of web servers are nearly so distributed (Barford and Crovella, SIGMETRICS 1998). Each size is the mean of its
    part of the distribution, so that the mean of all is exact; the largest is the mean of the top 1/`count`.
    """
    sigma = math.sqrt(math.log1p(variation**2))
    normal = NormalDist()
    # The share of all bytes that is in the files below a quantile.
    below = [0.0, *(normal.cdf(normal.inv_cdf(k / count) - sigma) for k in range(1, count)), 1.0]
    return tuple((mean_bytes * count * (end - begin), 1 / count) for begin, end in pairwise(below))


def _answer_bits(size: float) -> float:
    carried = size + HEADER_BYTES
    return 8.0 * (carried + FRAME_BYTES * (CONTROL_FRAMES + math.ceil(carried / SEGMENT_BYTES)))


def _slow_start(size: float) -> float:
    """Round trips in which the window doubles until all segments are sent, after the first."""
    segments = math.ceil((size + HEADER_BYTES) / SEGMENT_BYTES)
    return max(0, math.ceil(math.log2(segments / INITIAL_SEGMENTS + 1)) - 1)


def _positive(part: str, **values: float) -> None:
    """Raises PlanError for a value that is not above zero."""
    for name, value in values.items():
        if value <= 0:
            raise PlanError(f"{part}.{name}", f"{value:g} is not above zero", "give more")


def _not_negative(part: str, **values: float) -> None:
    """Raises PlanError for a value below zero."""
    for name, value in values.items():
        if value < 0:
            raise PlanError(f"{part}.{name}", f"{value:g} is below zero", "give zero or more")
