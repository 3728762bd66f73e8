"""`Srv6`: a router at the edge of an SRv6 domain (RFC 8986): port 1 plain, port 2 encapsulated.

Acts on the calling thread's namespace, never on the host's own.
"""

from __future__ import annotations

from typing import ClassVar

from pyroute2 import IPRoute

from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.passage import HOPS, UDP, Passage, ethernet, ipv4, ipv6
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import Router

HEADER_BYTES = 64
"""IPv6, and a routing header with one segment (RFC 8754)."""
TESTER_SEGMENT = "2001:2:0:102::1"
DUT_SEGMENTS = {"ipv4": "2001:2:0:101::4", "ipv6": "2001:2:0:101::6"}


class Srv6(Router):
    """Encapsulates what goes to port 2 (H.Encaps), and decapsulates what comes from there (End.DX4, End.DX6)."""

    family: ClassVar[str] = "srv6"
    title: ClassVar[str] = "Linux SRv6 edge router"
    most_ports: ClassVar[int] = 2

    def headroom_bytes(self, port: int) -> int:
        """Port 2 carries the outer headers."""
        return HEADER_BYTES if port == 2 else 0

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """From port 1 to 2 headers are added, from 2 to 1 they are removed."""
        assert tx.dut_mac and rx.dut_mac and tx.dut_ipv6 and rx.dut_ipv6
        before, after = ethernet(tx.mac, tx.dut_mac), ethernet(rx.dut_mac, rx.mac)
        outwards = tx.interface < rx.interface
        sent, arrives = {}, {}
        for kind, headers in (("ipv4", _ipv4), ("ipv6", _ipv6)):
            if outwards:
                # Linux encapsulates first and forwards the outer header, so that one counts down: from its own
                # 64, or from what it copied of an IPv6 packet.
                outer = _outer(rx.dut_ipv6, TESTER_SEGMENT, (64 if kind == "ipv4" else HOPS) - 1)
                sent[kind] = f"{before}/{headers(tx, rx, HOPS)}"
                arrives[kind] = f"{after}/{outer}/{headers(tx, rx, HOPS)}"
            else:
                sent[kind] = f"{before}/{_outer(tx.ipv6, DUT_SEGMENTS[kind], 64)}/{headers(tx, rx, HOPS)}"
                arrives[kind] = f"{after}/{headers(tx, rx, HOPS - 1)}"
        return Passage((tx.dut_mac,), HEADER_BYTES if outwards else -HEADER_BYTES, sent, arrives)

    def build(self, site: Site) -> None:
        """Make the router, then the routes that encapsulate and decapsulate."""
        super().build(site)
        plain, far = site.ports
        with IPRoute() as ip:
            inner, outer = (ip.link_lookup(ifname=port.dut_interface)[0] for port in (plain, far))
            ip.route("add", dst=f"{TESTER_SEGMENT}/128", gateway=far.ipv6, oif=outer)
            around = {"type": "seg6", "mode": "encap", "segs": TESTER_SEGMENT}
            for address in (f"{far.ipv4}/32", f"{far.ipv6}/128"):
                ip.route("add", dst=address, oif=outer, encap=around)
            ends = {
                "ipv4": {"type": "seg6local", "action": "End.DX4", "nh4": plain.ipv4},
                "ipv6": {"type": "seg6local", "action": "End.DX6", "nh6": plain.ipv6},
            }
            for kind, end in ends.items():
                ip.route("add", dst=f"{DUT_SEGMENTS[kind]}/128", oif=inner, encap=end)


def _ipv4(tx: LabPort, rx: LabPort, hops: int) -> str:
    return f"{ipv4(tx.ipv4, rx.ipv4, hops)}/{UDP}"


def _ipv6(tx: LabPort, rx: LabPort, hops: int) -> str:
    return f"{ipv6(tx.ipv6, rx.ipv6, hops)}/{UDP}"


def _outer(source: str, segment: str, hops: int) -> str:
    return f"{ipv6(source, segment, hops)}/IPv6ExtHdrSegmentRouting(addresses=[{segment!r}])"
