"""What the interface towards a peer can carry at most, as far as this host knows: its line rate, its token bucket.

Every function acts on the namespace of the calling thread. A slower link further on is not seen.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyroute2 import IPRoute, NetlinkError

from keisoku.ground.host.address import interface_towards
from keisoku.ground.host.ethtool import driver, speed_bps

_ROOT = 0xFFFFFFFF
_ETHERNET_BYTES, _ON_THE_LINE_BYTES = 14, 38
"""What a token bucket counts with each IP packet; and a line, with checksum, preamble and gap between frames."""
_WITHOUT_RATE = ("veth", "tun", "bridge", "dummy")
"""Drivers that name a rate that they do not have."""


@dataclass(frozen=True)
class LinkRate:
    """A limit of one interface."""

    interface: str
    limit: str
    """`line` or `tbf`."""
    bps: int
    frame_bytes: int
    """Bytes that count with each IP packet."""
    both_ways: bool
    """A line is as fast in both directions; a token bucket is for what is sent."""


def link_rates(peer: str) -> list[LinkRate]:
    """Limits of the interface by which an address is reached; empty where none is known."""
    try:
        with IPRoute() as ip:
            index = interface_towards(ip, peer)
            name = str(ip.get_links(index)[0].get_attr("IFLA_IFNAME"))
            roots = [qdisc for qdisc in ip.get_qdiscs(index=index) if qdisc["parent"] == _ROOT]
    except (NetlinkError, IndexError):
        return []
    found = []
    for root in roots:
        if root.get_attr("TCA_KIND") == "tbf":
            rate = root.get_attr("TCA_OPTIONS").get_attr("TCA_TBF_PARMS")["rate"]
            found.append(LinkRate(name, "tbf", 8 * int(rate), _ETHERNET_BYTES, False))
    line = None if driver(name) in (None, *_WITHOUT_RATE) else speed_bps(name)
    if line:
        found.append(LinkRate(name, "line", line, _ON_THE_LINE_BYTES, True))
    return found
