"""`Passage`: how a device changes a frame between two tester ports, known in advance. Plain values.

Header stacks are text in Scapy's notation, so that they can be read, kept in a record and built. Loads no Scapy.
"""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.ground.lab.device.port import LabPort

HOPS = 10
"""Time to live of the stacks below (RFC 2544 appendix C.2.6.4, as are the ports)."""
UDP = "UDP(sport=49184, dport=7)"


@dataclass(frozen=True)
class Passage:
    """The way from one tester port to another.

    `sent` and `arrives` hold, for each kind of traffic that the device forwards ('ethernet', 'ipv4', 'ipv6'), all
    headers of a frame that goes in and of the same frame as it comes out; the payload follows them unchanged.
    Fields that are absent have Scapy's default or, as an outer UDP source port, are the device's choice.
    """

    next_hop_macs: tuple[str, ...]
    """Destination MACs of this way; the first is the one to use, the others are further flows."""
    growth_bytes: int
    """How much longer the frame is at the output than at the input; negative if shorter."""
    sent: dict[str, str]
    arrives: dict[str, str]

    @property
    def next_hop_mac(self) -> str:
        """The destination MAC of the outermost header."""
        return self.next_hop_macs[0]


def bridged(tx: LabPort, rx: LabPort) -> Passage:
    """Nothing changes."""
    stacks = inside(tx, rx)
    return Passage((rx.mac,), 0, stacks, stacks)


def inside(tx: LabPort, rx: LabPort) -> dict[str, str]:
    """The stacks for two tester ports joined by a wire."""
    ends = tx.mac, rx.mac
    return {
        "ethernet": ethernet(*ends, "type=0x88b5"),
        "ipv4": f"{ethernet(*ends)}/{ipv4(tx.ipv4, rx.ipv4)}/{UDP}",
        "ipv6": f"{ethernet(*ends)}/{ipv6(tx.ipv6, rx.ipv6)}/{UDP}",
    }


def routed(tx: LabPort, rx: LabPort, routers: int = 1) -> Passage:
    """MACs and, at each router, time to live change."""
    assert tx.dut_mac and rx.dut_mac
    before, after = ethernet(tx.mac, tx.dut_mac), ethernet(rx.dut_mac, rx.mac)
    return Passage(
        (tx.dut_mac,),
        0,
        {
            "ipv4": f"{before}/{ipv4(tx.ipv4, rx.ipv4)}/{UDP}",
            "ipv6": f"{before}/{ipv6(tx.ipv6, rx.ipv6)}/{UDP}",
        },
        {
            "ipv4": f"{after}/{ipv4(tx.ipv4, rx.ipv4, HOPS - routers)}/{UDP}",
            "ipv6": f"{after}/{ipv6(tx.ipv6, rx.ipv6, HOPS - routers)}/{UDP}",
        },
    )


def ethernet(source: str, destination: str, *more: str) -> str:
    """An Ethernet header."""
    return f"Ether({', '.join((f'src={source!r}', f'dst={destination!r}', *more))})"


def ipv4(source: str, destination: str, hops: int = HOPS) -> str:
    """An IPv4 header."""
    return f"IP(src={source!r}, dst={destination!r}, id=0, ttl={hops})"


def ipv6(source: str, destination: str, hops: int = HOPS) -> str:
    """An IPv6 header."""
    return f"IPv6(src={source!r}, dst={destination!r}, hlim={hops})"
