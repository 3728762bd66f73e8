"""Reads the kernel's counters of a tester port. `validity` judges what a change of them means."""

from __future__ import annotations

from pathlib import Path

from pyroute2 import IPRoute

from keisoku.device.record.interference import PortCounters, PortEngine
from keisoku.errors import EngineError
from keisoku.host import ethtool
from keisoku.host.namespace import within

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
)


def read_counters(
    engine: PortEngine,
    interface: str,
    namespace: Path | None,
    peer: tuple[str, Path] | None = None,
) -> PortCounters:
    """Counters of a port since it was made; `peer` is the lab device's end of its veth and that one's namespace.

    Raises EngineError if there is no such interface. Takes some ms: call it before and after a trial, not in it.
    """
    statistics, driver = _read(namespace, interface)
    dropped = None if peer is None else _read(peer[1], peer[0])[0]["tx_dropped"]
    counts = {name: statistics[name] for name in _NAMES}
    return PortCounters(port=interface, engine=engine, driver=driver, peer_tx_dropped=dropped, **counts)


def _read(namespace: Path | None, interface: str) -> tuple[dict[str, int], str | None]:
    def read() -> tuple[dict[str, int], str | None]:
        with IPRoute() as ip:
            indices = ip.link_lookup(ifname=interface)
            if not indices:
                raise EngineError(f"there is no interface {interface} to read the counters of")
            return ip.get_links(indices[0])[0].get("stats64"), ethtool.driver(interface)

    return within(namespace, read)
