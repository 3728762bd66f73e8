"""`SystemShape`: servers and clients behind a switch, as a plain value. It builds nothing."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.errors import PlanError

LINE_BPS = 10_000_000_000
"""What counts as the rate of a line that nothing limits: a veth pair is as fast as the host."""
MOST_HOSTS = 64
WORKER_CONNECTIONS = 2560
"""Of nginx, as in E4."""
BACKLOG = 511
"""nginx's own default for its accept queue."""


@dataclass(frozen=True)
class ServedFile:
    """A file of random bytes, and how often it is asked for, relative to the others."""

    size_bytes: int
    weight: float = 1.0

    @property
    def path(self) -> str:
        """Under which every server has it."""
        return f"/{self.size_bytes}.bin"


@dataclass(frozen=True)
class SystemShape:
    """`rates_bps` are those of the clients' lines, in both directions (None: nothing limits them); `uplink_bps` is that
    of one line that all clients share towards the servers (None: there is none). In front of each line waits at most
    `queue_bytes`. Every server has all `files`.
    """

    rates_bps: tuple[int | None, ...]
    servers: int = 1
    uplink_bps: int | None = None
    server_bps: int | None = None
    """Of each server's own line, in both directions (None: nothing limits it)."""
    files: tuple[ServedFile, ...] = (ServedFile(1430),)
    queue_bytes: int = 150_000
    workers: int = 1
    worker_connections: int = WORKER_CONNECTIONS
    backlog: int = BACKLOG
    congestion: str = "cubic"
    compression: int = 0
    """Level at which nginx compresses every answer anew (gzip, 1 to 9) for who asks for it: work for its processor.
    The files then are a kilobyte over and over. 0: it sends files of random bytes as they are."""

    def check(self) -> None:
        """Raise PlanError, naming what cannot be."""
        if not 1 <= len(self.rates_bps) <= MOST_HOSTS:
            raise PlanError("clients", f"there cannot be {len(self.rates_bps)}", f"give 1 to {MOST_HOSTS}")
        if not 1 <= self.servers <= MOST_HOSTS:
            raise PlanError("servers", f"there cannot be {self.servers}", f"give 1 to {MOST_HOSTS}")
        for rate in (*self.rates_bps, self.uplink_bps, self.server_bps):
            if rate is not None and not 100_000 <= rate <= 100 * LINE_BPS:
                raise PlanError("rates", f"a line cannot have {rate} b/s", "give 100k to 1T, or none")
        if not self.files or any(not 0 <= file.size_bytes <= 1 << 30 for file in self.files):
            raise PlanError("file", "a file has 0 to 1 GiB", "write for example file=1430 or file=151:3,1430:1")
        if any(file.weight < 0 for file in self.files) or not any(file.weight for file in self.files):
            raise PlanError("file", "no file has a weight above zero", "write for example file=151:3,1430:1")
        counts = (self.workers, self.worker_connections, self.backlog)
        if min(counts) < 1 or self.workers > 64 or max(counts) > 1_000_000:
            raise PlanError("workers", "workers, connections and backlog are 1 or more", "give for example 1")
        if not 0 <= self.compression <= 9:
            raise PlanError("gzip", f"there is no level {self.compression}", "give 1 to 9")
        if self.queue_bytes < 3000:
            raise PlanError("queue", f"{self.queue_bytes} bytes do not hold two frames", "give 3000 or more")
        if self.congestion not in ("cubic", "bbr", "reno"):
            raise PlanError("congestion", f"'{self.congestion}' is not known", "choose cubic, bbr or reno")
