"""`End` and `Pair`: where frames go in and where they come out, and the kernel's own counters there.

A pair is taken from a lab, or made of two namespaces where a sender (iperf3) insists on two hosts.
It never looks into keisoku: what it counts is the same for every sender.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.undo import record, undo
from keisoku.ground.lab.device.interface import quiet_defaults, whole_frames
from keisoku.ground.lab.device.lab import Lab

_UDP_PORTS = bytes.fromhex("c0200007")


@dataclass(frozen=True)
class End:
    """An interface in a namespace."""

    namespace: Path
    interface: str
    mac: str
    ipv4: str

    def inside(self, *command: str) -> list[str]:
        """The command, to be run in the namespace."""
        return ["ip", "netns", "exec", self.namespace.name, *command]

    def frames(self) -> tuple[int, int]:
        """Frames sent and received by the interface so far, by its kernel counters."""

        def read() -> tuple[int, int]:
            with IPRoute() as ip:
                (link,) = ip.get_links(ifname=self.interface)
                counters = link.get("stats64")
                return int(counters["tx_packets"]), int(counters["rx_packets"])

        return run_in_namespace(self.namespace, read)


@dataclass(frozen=True)
class Pair:
    """Frames enter at `near` and come out at `far`."""

    near: End
    far: End

    def frame(self, reverse: bool = False) -> bytes:
        """The 60 bytes (64 with FCS) that every peer sends: IPv4/UDP with both checksums, shaped as keisoku's are."""
        source, target = (self.far, self.near) if reverse else (self.near, self.far)
        addresses = b"".join(bytes(int(part) for part in end.ipv4.split(".")) for end in (source, target))
        ip = bytes.fromhex("4500002e00000000 0a11 0000") + addresses
        ip = ip[:10] + _checksum(ip) + ip[12:]
        udp = _UDP_PORTS + bytes.fromhex("001a")
        udp += _checksum(addresses + bytes.fromhex("0011 001a") + udp)
        ethernet = bytes.fromhex(target.mac.replace(":", "") + source.mac.replace(":", "") + "0800")
        return ethernet + ip + udp + bytes(18)

    def counters(self) -> tuple[float, int, int]:
        """Now in s, frames that have entered, frames that have come out."""
        return time.monotonic(), self.near.frames()[0], self.far.frames()[1]

    def rates(self, seconds: float) -> tuple[float, float]:
        """Offered and received frames/s over the next `seconds`, by the counters of the two interfaces."""
        before = self.counters()
        time.sleep(seconds)
        after = self.counters()
        elapsed = after[0] - before[0]
        return (after[1] - before[1]) / elapsed, (after[2] - before[2]) / elapsed


def _checksum(data: bytes) -> bytes:
    """Of the Internet (RFC 1071), over an even number of bytes."""
    words = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return (0xFFFF - words).to_bytes(2, "big")


def of_lab(lab: Lab) -> Pair:
    """From the lab's first port to its second."""
    near, far = (End(port.namespace_path, port.interface, port.mac, port.ipv4) for port in lab.ports[:2])
    return Pair(near, far)


@contextmanager
def two_hosts() -> Iterator[Pair]:
    """A bare veth pair between two namespaces, set up as the lab's cable is; named so that `keisoku clean` knows it."""
    names = (f"keisoku-{os.getpid()}-90-tester", f"keisoku-{os.getpid()}-90-dut")
    spaces = [Namespace(name) for name in names]
    macs = ("02:6b:73:00:09:01", "02:6b:73:00:09:02")
    near, far = (
        End(space.path, f"v{number}", macs[number - 1], f"198.18.9.{number}")
        for number, space in enumerate(spaces, start=1)
    )
    entries = [record("namespace", name=name) for name in names]
    try:
        for space in spaces:
            space.create()
            space.run(quiet_defaults)
        spaces[0].run(lambda: _plug(near, far))
        for own, other in ((near, far), (far, near)):
            run_in_namespace(own.namespace, lambda own=own, other=other: _raise(own, other))  # type: ignore[misc]
        yield Pair(near, far)
    finally:
        undo(*entries)


def _plug(near: End, far: End) -> None:
    with IPRoute() as ip:
        peer = {"ifname": far.interface, "address": far.mac, "num_tx_queues": 1, "num_rx_queues": 1}
        ip.link(
            "add",
            ifname=near.interface,
            kind="veth",
            address=near.mac,
            num_tx_queues=1,
            num_rx_queues=1,
            peer=peer | {"net_ns_fd": str(far.namespace)},
        )


def _raise(own: End, other: End) -> None:
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=own.interface)[0]
        whole_frames(own.interface)
        ip.link("set", index=index, state="up", gro_max_size=1)
        ip.addr("add", index=index, address=own.ipv4, prefixlen=24)
        ip.neigh("replace", dst=other.ipv4, lladdr=other.mac, ifindex=index, state="permanent")
