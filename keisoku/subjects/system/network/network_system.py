"""`NetworkSystem`: a real network as a `System`: limits at ports of a switch, observation at the ports of the clients.

It must never query a server or a client, and leaves no limit behind (keisoku/subjects/system/shaping).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from keisoku.ground.host import discipline
from keisoku.ground.host.interface import index_of
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.subjects.system.network.port_watch import PortReading, PortWatch, WatchedPort, view
from keisoku.subjects.system.observation import Observation
from keisoku.subjects.system.shaping.port_limits import PortLimits
from keisoku.subjects.system.shaping.port_place import PortPlace
from keisoku.subjects.system.shaping.queue_probe import ROOT, QueueProbe
from keisoku.subjects.system.state import State

SAMPLE_S = 0.1
"""Time between two readings of the queues."""
Queue = tuple[Path | None, int, int | None]
Queues = Mapping[tuple[int, int, int], int]
"""Bytes that wait, as `QueueProbe.read` gives them."""


@dataclass(frozen=True)
class GovernedPort:
    """A client: where a limit of it is set, at which rate that port sends at most, and where it is watched."""

    watched: WatchedPort
    place: PortPlace
    line_bps: float
    """Of the port at which the limit is set."""


class NetworkSystem:
    """A `System` (keisoku/subjects/system/system.py). On entry: programs at the ports, journal and guard; no limit."""

    def __init__(
        self, ports: Sequence[GovernedPort], server_line_bps: float | None = None, title: str = "network"
    ) -> None:
        self._title = title
        self._ports = {port.watched.name: port for port in ports}
        self._server_line_bps = server_line_bps
        self._stack = ExitStack()
        self._limits = PortLimits({name: port.place for name, port in self._ports.items()})
        self._watches: dict[str, PortWatch] = {}
        self._probes: dict[Path | None, QueueProbe] = {}
        self._queues: dict[str, list[Queue]] = {}

    @property
    def ports(self) -> Mapping[str, float]:
        """The line rate in bit/s of the port at which each client is limited."""
        return {name: port.line_bps for name, port in self._ports.items()}

    def limit(self, limits: Mapping[str, float | None]) -> None:
        """Sets limits in bit/s with HTB, at once."""
        self._limits.set(limits)

    def observe(self, seconds: float) -> Observation:
        """Waits for the interval; counters and limits at its ends, queues several times within it."""
        limits = self._limits.read()
        steady = dict.fromkeys(self._ports, True)
        before = self._read()
        end_s = time.monotonic() + seconds
        waiting = dict.fromkeys(self._ports, 0)
        looks = 0
        while (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(left_s, SAMPLE_S))
            looks += 1
            read = {namespace: probe.read() for namespace, probe in self._probes.items()}
            for name, amount in self._waiting(read).items():
                waiting[name] += amount
                # A limit that is lifted, as by the guard after a stall of this process, is not in force unseen.
                steady[name] &= self._limited(name, read) == (limits[name] is not None)
        after = self._read()
        ended = self._limits.read()
        views = tuple(
            view(
                port.watched,
                before[name],
                after[name],
                ended[name],
                waiting[name] / max(1, looks),
                steady[name] and limits[name] == ended[name],
            )
            for name, port in self._ports.items()
        )
        first = next(iter(self._ports))
        took_s = (after[first].at_ns - before[first].at_ns) / 1e9
        return Observation(took_s, views, self._server_line_bps)

    def now_s(self) -> float:
        """CLOCK_MONOTONIC."""
        return time.monotonic()

    def truth(self) -> State | None:
        """Unknown."""
        return None

    def facts(self) -> dict[str, Any]:
        """Which mechanism limits, and where."""
        return {
            "system": self._title,
            "limited_by": "HTB",
            "ports": {
                name: f"{port.place.interface}, seen at {port.watched.interface}" for name, port in self._ports.items()
            },
        }

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._limits)
            for name, port in self._ports.items():
                self._watches[name] = watch = PortWatch(port.watched)
                stack.callback(watch.close)
                self._queues[name] = self._queues_of(name, port)
            for namespace in {queue[0] for queues in self._queues.values() for queue in queues}:
                self._probes[namespace] = probe = QueueProbe(namespace)
                stack.callback(probe.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _read(self) -> dict[str, PortReading]:
        return {name: watch.read() for name, watch in self._watches.items()}

    def _queues_of(self, name: str, port: GovernedPort) -> list[Queue]:
        """Behind the limit, and at the client's port itself (None: its root qdisc, whatever that is)."""
        place, watched = port.place, port.watched
        return [
            (
                place.namespace,
                run_in_namespace(place.namespace, lambda: index_of(place.interface)),
                self._limits.queue(name),
            ),
            (watched.namespace, run_in_namespace(watched.namespace, lambda: index_of(watched.interface)), None),
        ]

    def _limited(self, name: str, read: Mapping[Path | None, Queues]) -> bool:
        namespace, index, handle = self._queues[name][0]
        return any((at, qdisc) == (index, handle) for at, qdisc, _ in read[namespace])

    def _waiting(self, read: Mapping[Path | None, Queues]) -> dict[str, int]:
        found = {}
        for name, queues in self._queues.items():
            own = {(namespace, index) for namespace, index, handle in queues if handle is not None}
            found[name] = sum(
                waits
                for namespace, index, handle in queues
                for (at, qdisc, parent), waits in read[namespace].items()
                if at == index
                # The root of a port that is limited itself counts what waits in our class once more.
                and (qdisc == handle or (handle is None and parent == ROOT and not _ours(qdisc, namespace, index, own)))
            )
        return found


def _ours(qdisc: int, namespace: Path | None, index: int, own: set[tuple[Path | None, int]]) -> bool:
    return qdisc == discipline.HANDLE and (namespace, index) in own
