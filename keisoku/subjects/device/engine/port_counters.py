"""Reads the kernel's counters of a tester port. `validity` judges what a change of them means."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from keisoku.errors import EngineError
from keisoku.ground.host import ethtool
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.subjects.device.record.interference import PortCounters, PortEngine

_NAMES = (
    "rx_packets",
    "tx_packets",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "rx_missed_errors",
    "rx_fifo_errors",
    "rx_over_errors",
    "rx_crc_errors",
)


class Counters(Protocol):
    """Of a port, wherever it is."""

    def read(self, taken_frames: int | None = None) -> PortCounters:
        """Since the port was made; `taken_frames` are those of the tester's own program. Raises EngineError."""

    def close(self) -> None:
        """Nothing is read afterwards."""


class KernelCounters:
    """Of an interface here; `peer` is the lab device's end of its veth and that one's namespace.

    Their folders stay open: to enter the namespaces before and after took a third of a short trial on a busy host.
    Raises EngineError if there is no such interface.
    """

    def __init__(
        self, engine: PortEngine, interface: str, namespace: Path | None, peer: tuple[str, Path] | None = None
    ) -> None:
        self._engine, self._interface = engine, interface
        with ExitStack() as stack:
            self._own, self._driver = run_in_namespace(namespace, lambda: (_open(interface), ethtool.driver(interface)))
            stack.callback(os.close, self._own)
            self._peer: tuple[str, int] | None = None
            if peer is not None:
                name, device = peer
                self._peer = name, run_in_namespace(device, lambda: _open(name))
                stack.callback(os.close, self._peer[1])
            self._stack = stack.pop_all()

    def read(self, taken_frames: int | None = None) -> PortCounters:
        """Raises EngineError if the interface is gone. Takes about 0.2 ms: call it before and after a trial."""
        counts = {name: _count(self._interface, self._own, name) for name in _NAMES}
        return PortCounters(
            port=self._interface,
            engine=self._engine,
            driver=self._driver,
            peer_tx_dropped=None if self._peer is None else _count(*self._peer, "tx_dropped"),
            taken_frames=taken_frames,
            **counts,
        )

    def close(self) -> None:
        """May be called more than once."""
        self._stack.close()


def read_all(counters: Sequence[Counters], taken_frames: Mapping[int, int]) -> list[PortCounters]:
    """Of all ports in their order; `taken_frames` are those of the tester's own programs, by the port's number."""
    return [port.read(taken_frames.get(number)) for number, port in enumerate(counters)]


def _open(interface: str) -> int:
    try:
        # An open folder of /sys stays with the namespace in which it was opened.
        return os.open(f"/sys/class/net/{interface}/statistics", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise EngineError(f"there is no interface {interface} to read the counters of") from error


def _count(interface: str, folder: int, name: str) -> int:
    try:
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        try:
            return int(os.read(file, 32))
        finally:
            os.close(file)
    except OSError as error:
        raise EngineError(f"there is no interface {interface} any more to read the counters of") from error
