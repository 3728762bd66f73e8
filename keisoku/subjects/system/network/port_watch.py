"""`PortWatch`: one client's port, watched: bytes by the port's own counter, connections by their headers.

Only the network is observed, never a host. Packet counts come from programs at the port (core/bpf/flows.c), which let
every frame pass.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keisoku._core import FlowWatch
from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.subjects.system.load.latency_figures import quantile
from keisoku.subjects.system.observation import ClientView

ENOUGH = 100
"""Least number of connections for a 99th percentile."""
_MODULUS = 1 << 64


@dataclass(frozen=True)
class Before:
    """A port in front of the one that delivers."""

    line_bps: float
    interface: str
    namespace: Path | None = None


@dataclass(frozen=True)
class WatchedPort:
    """The port that delivers to a client, by its interface and namespace (None: this one), and its line rate."""

    name: str
    line_bps: float
    interface: str
    namespace: Path | None = None
    before: Before | None = None
    """Where the client is limited, if that is another port."""


@dataclass(frozen=True)
class PortReading:
    """All counters of a port at one moment."""

    at_ns: int
    sent_bytes: int
    totals: dict[str, int]
    durations: tuple[tuple[int, int, int], ...]
    """Of connections that completed since the reading before."""
    passed_bytes: int | None = None
    """By the port at which the client is limited, if that is another one."""


class PortWatch:
    """Raises PlanError for an interface that is not there, EngineError if the kernel refuses the programs."""

    def __init__(self, port: WatchedPort) -> None:
        self.port = port
        with ExitStack() as stack:
            self._counter = _counter(stack, port.interface, port.namespace)
            self._before = _counter(stack, port.before.interface, port.before.namespace) if port.before else None
            self._flows = self._watch()
            self._stack = stack.pop_all()

    def _watch(self) -> FlowWatch:
        port = self.port
        try:
            return FlowWatch(str(port.namespace) if port.namespace else None, port.interface)
        except RuntimeError as error:
            raise EngineError(f"the flows of {port.interface} cannot be watched: {error}") from error

    def read(self) -> PortReading:
        """The counters now."""
        seen: dict[str, Any] = json.loads(self._flows.read())
        buckets = seen["durations"]
        return PortReading(
            seen["at_ns"],
            _count(self._counter),
            seen["totals"],
            tuple(zip(buckets["lower_ns"], buckets["upper_ns"], buckets["counts"], strict=True)),
            None if self._before is None else _count(self._before),
        )

    def close(self) -> None:
        """Takes the programs off."""
        self._flows.close()
        self._stack.close()


def view(
    port: WatchedPort,
    before: PortReading,
    after: PortReading,
    limit_bps: float | None,
    queued_bytes: float,
    limit_steady: bool = True,
) -> ClientView:
    """The difference between two readings."""
    gone = {name: after.totals[name] - before.totals[name] for name in after.totals}
    found = quantile(after.durations, 99) if gone["completed"] >= ENOUGH else None
    return ClientView(
        name=port.name,
        line_bps=port.line_bps,
        limit_bps=limit_bps,
        sent_bytes=after.sent_bytes - before.sent_bytes,
        queued_bytes=queued_bytes,
        opened=gone["opened"],
        reopened=gone["reopened"],
        completed=gone["completed"],
        # A client that gave up is noticed late, and counts until its last SYN only, maybe in an earlier interval.
        open_connections=max(0.0, (_age_ns(after) - _age_ns(before)) / max(1, after.at_ns - before.at_ns)),
        answering_s=gone["answering_ns"] / 1e9,
        p99_s=None if found is None else found[0] / 1e9,
        passed_bytes=(
            None
            if before.passed_bytes is None or after.passed_bytes is None
            else after.passed_bytes - before.passed_bytes
        ),
        passed_line_bps=port.before.line_bps if port.before else None,
        limit_steady=limit_steady,
    )


def _age_ns(reading: PortReading) -> int:
    """Connections times how long they have been open, summed up since the beginning; core/bpf/flows.c."""
    totals = reading.totals
    open_ns = (totals["open"] * reading.at_ns - totals["open_since_ns"]) % _MODULUS
    return int(totals["closed_ns"] + open_ns)


def _counter(stack: ExitStack, interface: str, namespace: Path | None) -> int:
    # An open file of /sys stays with the namespace in which it was opened.
    counter = run_in_namespace(namespace, lambda: _open(interface))
    stack.callback(os.close, counter)
    return counter


def _count(counter: int) -> int:
    return int(os.pread(counter, 64, 0))


def _open(interface: str) -> int:
    try:
        return os.open(f"/sys/class/net/{interface}/statistics/tx_bytes", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise PlanError("port", f"there is no interface {interface}", "see ip link, in the namespace named") from error
