"""The lines of a system: two ports of a bridge that send at a rate (token bucket), with a queue in front of each.

Every function acts on the namespace of the calling thread. Only the lab calls them, in namespaces that it made.
"""

from __future__ import annotations

from pathlib import Path

from pyroute2 import IPRoute

from keisoku.ground.lab.device import interface

_FRAME_BYTES = 1514
_ROOT = 0x10000


def bridge(name: str) -> None:
    """Make a bridge and put it up; it learns, floods, and runs no spanning tree."""
    with IPRoute() as ip:
        ip.link("add", kind="bridge", ifname=name, br_stp_state=0, br_mcast_snooping=0)
        ip.link("set", index=ip.link_lookup(ifname=name)[0], state="up")


def pair(name: str, peer: str, place: Path | None = None) -> None:
    """Make a veth pair from here to the namespace at `place` (None: here) that carries frames as they were sent."""
    interface.make_pair({"ifname": name}, {"ifname": peer}, place)


def join(name: str, bridge_name: str | None) -> None:
    """Switch off offloads, make an interface a port of a bridge, and put it up."""
    interface.whole_frames(name)
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=name)[0]
        master = {"master": ip.link_lookup(ifname=bridge_name)[0]} if bridge_name else {}
        ip.link("set", index=index, state="up", txqlen=1000, gro_max_size=1, **master)


def limit_rate(name: str, rate_bps: int, queue_bytes: int) -> None:
    """Limit `name` to this rate; frames that find the queue full are dropped."""
    # A bucket that runs over forgets the time by which the kernel's timer came late. So it holds what a busy host may
    # be late by, 20 ms, or 20 frames if those are less; at high rates one millisecond, which is more than these.
    per_ms = rate_bps // 8 // 1000
    burst = max(2 * _FRAME_BYTES, per_ms, min(20 * per_ms, 20 * _FRAME_BYTES))
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=name)[0]
        ip.tc("add", "tbf", index, _ROOT, rate=rate_bps // 8, burst=burst, limit=queue_bytes)


def host(name: str, address: str, congestion: str) -> None:
    """A host's only interface: its address, and the congestion control of its TCP."""
    interface.whole_frames(name)
    interface.set_sysctl("ipv4/ip_local_port_range", "1024 65535")
    # A client opens thousands of connections a second; each TCP port would stay in TIME-WAIT for a minute.
    interface.set_sysctl("ipv4/tcp_tw_reuse", "1")
    with IPRoute() as ip:
        ip.link("set", index=ip.link_lookup(ifname="lo")[0], state="up")
        index = ip.link_lookup(ifname=name)[0]
        ip.link("set", index=index, state="up", gro_max_size=1)
        # In place of the kernel's own route: this one names the congestion control, which a namespace cannot set
        # otherwise.
        ip.addr("add", index=index, address=address, prefixlen=32)
        metrics = {"attrs": [["RTAX_CC_ALGO", congestion]]}
        ip.route("add", dst="198.18.0.0/16", oif=index, scope="link", prefsrc=address, metrics=metrics)
