"""`SystemShape`: servers and clients behind a switch, as a plain value. It builds nothing."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.errors import PlanError

LINE_BPS = 10_000_000_000
"""The rate assumed for a line without a limit: a veth pair is as fast as the host."""
MOST_HOSTS = 64
WORKER_CONNECTIONS = 2560
"""Connections of an nginx worker, as in the published load measurements (E4)."""
BACKLOG = 511
"""nginx's own default for its accept queue."""


@dataclass(frozen=True)
class ServedFile:
    """A file of random bytes, and how often clients request it, relative to the others."""

    size_bytes: int
    weight: float = 1.0

    @property
    def path(self) -> str:
        """Path of the file on every server."""
        return f"/{self.size_bytes}.bin"


@dataclass(frozen=True)
class SystemShape:
    """`rates_bps` are the rates of the clients' lines, in both directions (None: no limit); `uplink_bps` is the rate of
    a line to the servers that all clients share (None: there is none). The queue of each line has `queue_bytes`. Every
    server has all `files`.
    """

    rates_bps: tuple[int | None, ...]
    servers: int = 1
    uplink_bps: int | None = None
    server_bps: int | None = None
    """Rate of each server's own line, in both directions (None: no limit)."""
    files: tuple[ServedFile, ...] = (ServedFile(1430),)
    queue_bytes: int = 150_000
    workers: int = 1
    worker_connections: int = WORKER_CONNECTIONS
    backlog: int = BACKLOG
    congestion: str = "cubic"
    compression: int = 0
    """Level (gzip, 1 to 9) at which nginx compresses every response for clients that ask for it, to load its processor.
    The files then repeat one kilobyte. 0: files of random bytes are sent uncompressed."""

    def check(self) -> None:
        """Raise PlanError, naming what is invalid."""
        if not 1 <= len(self.rates_bps) <= MOST_HOSTS:
            raise PlanError("clients", f"{len(self.rates_bps)} is not a possible number", f"give 1 to {MOST_HOSTS}")
        if not 1 <= self.servers <= MOST_HOSTS:
            raise PlanError("servers", f"{self.servers} is not a possible number", f"give 1 to {MOST_HOSTS}")
        for rate in (*self.rates_bps, self.uplink_bps, self.server_bps):
            if rate is not None and not 100_000 <= rate <= 100 * LINE_BPS:
                raise PlanError("rates", f"a line cannot have {rate} b/s", "give 100k to 1T, or none")
        if not self.files or any(not 0 <= file.size_bytes <= 1 << 30 for file in self.files):
            raise PlanError(
                "file", "the size of a file must be from 0 to 1 GiB", "write for example file=1430 or file=151:3,1430:1"
            )
        if any(file.weight < 0 for file in self.files) or not any(file.weight for file in self.files):
            raise PlanError("file", "no file has a weight above zero", "write for example file=151:3,1430:1")
        counts = (self.workers, self.worker_connections, self.backlog)
        if min(counts) < 1 or self.workers > 64 or max(counts) > 1_000_000:
            raise PlanError("workers", "workers, connections and backlog must be 1 or more", "give for example 1")
        if not 0 <= self.compression <= 9:
            raise PlanError("gzip", f"there is no level {self.compression}", "give 1 to 9")
        if self.queue_bytes < 3000:
            raise PlanError("queue", f"{self.queue_bytes} bytes are too few for two frames", "give 3000 or more")
        if self.congestion not in ("cubic", "bbr", "reno"):
            raise PlanError("congestion", f"'{self.congestion}' is not known", "choose cubic, bbr or reno")
