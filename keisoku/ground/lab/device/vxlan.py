"""`Vxlan`: the kernel's VXLAN tunnel end (RFC 7348) behind a bridge: port 1 plain, port 2 encapsulated.

Acts on the calling thread's namespace, never on the host's own.
"""

from __future__ import annotations

from typing import ClassVar

from pyroute2 import IPRoute

from keisoku.ground.lab.device.bridge import bridge
from keisoku.ground.lab.device.device import LabDevice, Site
from keisoku.ground.lab.device.passage import Passage, ethernet, inside
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import know_tester

HEADER_BYTES = 50
"""Ethernet, IPv4, UDP, VXLAN."""
NETWORK = 7
PORT = 4789
_HOPS = 64


class TunnelEnd(LabDevice):
    """A VXLAN tunnel end at port 2, whose other end is the tester's port 2; it carries the frames of port 1."""

    most_ports: ClassVar[int] = 2

    def headroom_bytes(self, port: int) -> int:
        """Port 2 carries the outer headers."""
        return HEADER_BYTES if port == 2 else 0

    def addressed(self, port: int) -> tuple[str, ...]:
        """The tunnel end has its address at port 2."""
        return ("ipv4",) if port == 2 else ()

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """From port 1 to 2 headers are added, from 2 to 1 they are removed."""
        inner = inside(tx, rx)
        if rx.dut_ipv4:
            assert rx.dut_mac
            outer = _outer(rx.dut_mac, rx.mac, rx.dut_ipv4, rx.ipv4, "UDP(")
            return Passage((rx.mac,), HEADER_BYTES, inner, {kind: outer + stack for kind, stack in inner.items()})
        assert tx.dut_mac and tx.dut_ipv4
        outer = _outer(tx.mac, tx.dut_mac, tx.ipv4, tx.dut_ipv4, "UDP(sport=49184, ")
        return Passage((tx.dut_mac,), -HEADER_BYTES, {kind: outer + stack for kind, stack in inner.items()}, inner)


def _outer(source_mac: str, destination_mac: str, source: str, destination: str, udp: str) -> str:
    network = f"{udp}dport={PORT}, chksum=0)/VXLAN(vni={NETWORK}, flags=8)"
    # The identification is the device's choice.
    return f"{ethernet(source_mac, destination_mac)}/IP(src={source!r}, dst={destination!r}, ttl={_HOPS})/{network}/"


class Vxlan(TunnelEnd):
    """A vxlan device bridged with port 1."""

    family: ClassVar[str] = "vxlan"
    title: ClassVar[str] = "Linux VXLAN tunnel end"

    def build(self, site: Site) -> None:
        """Make the tunnel end and the bridge."""
        plain, far = site.ports
        with IPRoute() as ip:
            below = ip.link_lookup(ifname=far.dut_interface)[0]
            ip.addr("add", index=below, address=far.dut_ipv4, prefixlen=24)
            know_tester(ip, below, far, far.ipv4)
            ip.link(
                "add",
                ifname="tunnel",
                kind="vxlan",
                mtu=plain.mtu_bytes,
                vxlan_id=NETWORK,
                vxlan_link=below,
                vxlan_local=far.dut_ipv4,
                vxlan_group=far.ipv4,
                vxlan_port=PORT,
                vxlan_ttl=_HOPS,
                vxlan_learning=0,
                vxlan_udp_csum=0,
            )
            ip.link("set", index=ip.link_lookup(ifname="tunnel")[0], state="up")
            bridge(ip, [str(plain.dut_interface), "tunnel"])
