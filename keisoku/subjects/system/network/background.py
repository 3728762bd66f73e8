"""The load that a lab's system is under while limits are searched: HTTP, unwanted UDP, bulk TCP.

It is started and stopped as a whole, and gives no information to the search.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from keisoku._core import BulkFlow, UdpLoad
from keisoku.errors import EngineError
from keisoku.ground.lab.system.lab import SystemLab
from keisoku.subjects.system.load import apache_bench, clients
from keisoku.subjects.system.load.target import lab_aims

UDP_PORT, BULK_PORT = 9, 5001
UDP_BYTES = 1400
_FRAME_BYTES = UDP_BYTES + 42
_FOREVER_S = 1e6
TIMEOUT_S = 10.0
_AB_REQUESTS = 5_000_000
"""ab allocates memory for all of them at once."""


@dataclass(frozen=True)
class Background:
    """By client, in order; None or 0: none of it. `udp_bps` counts whole frames, `bulk` is a number of TCP flows."""

    connections: tuple[int, ...]
    udp_bps: tuple[int | None, ...]
    bulk: tuple[int, ...]
    keep_alive: bool = False
    client: str = "own"
    per_second: tuple[float | None, ...] = ()
    """Open loop: requests of each client, at random, on at most its connections (None: closed loop)."""
    timeouts_s: tuple[float, ...] = ()
    """Time after which each client gives up a request and sends the next; none given: after `TIMEOUT_S`."""


class BackgroundLoad:
    """Runs from entry to exit."""

    def __init__(self, lab: SystemLab, load: Background) -> None:
        self._lab, self._load = lab, load
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._begin_http(stack)
            for at, port in enumerate(self._lab.ports):
                server = self._lab.servers[at % len(self._lab.servers)]
                try:
                    self._begin_flows(stack, at, port.address, server.path, port.namespace_path)
                except OSError as error:
                    raise EngineError(f"the load of {port.name} cannot be started: {error}") from error
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _begin_http(self, stack: ExitStack) -> None:
        load = self._load
        is_ab = load.client == apache_bench.NAME
        amount = {"requests": _AB_REQUESTS} if is_ab else {"seconds": _FOREVER_S}
        loads = [
            aim.load(
                connections=connections,
                keep_alive=load.keep_alive,
                per_second=load.per_second[at] if load.per_second else None,
                poisson=True,
                timeout_s=load.timeouts_s[at] if load.timeouts_s else TIMEOUT_S,
                seed=at,
                **amount,
            )
            for at, (aim, connections) in enumerate(zip(lab_aims(self._lab), load.connections, strict=True))
            if connections
        ]
        if loads:
            running = clients.begin(loads, load.client)
            stack.callback(clients.end, running)

    def _begin_flows(self, stack: ExitStack, at: int, address: str, server: Path, client: Path) -> None:
        if rate_bps := self._load.udp_bps[at]:
            per_second = rate_bps / 8 / _FRAME_BYTES
            udp = UdpLoad(str(server), f"{address}:{UDP_PORT}", UDP_BYTES, per_second)
            stack.callback(udp.close)
        for number in range(self._load.bulk[at]):
            to = f"{address}:{BULK_PORT + number}"
            flow = BulkFlow(str(server), str(client), to, None, self._lab.shape.congestion)
            stack.callback(flow.close)
