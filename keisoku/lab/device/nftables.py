"""Routers with nftables: `nat`, which rewrites IPv4 addresses, and `firewall`, which compares frames with rules.

Acts on the calling thread's namespace, never on the host's own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import Field
from pyroute2.netlink.nfnetlink.nfctsocket import NFCTSocket

from keisoku.host.program import Program
from keisoku.lab.device.device import Site
from keisoku.lab.device.passage import HOPS, UDP, Passage, ethernet, ipv4, routed
from keisoku.lab.device.port import LabPort
from keisoku.lab.device.router import Router

NFT = Program("nft", "nftables")


class Nat(Router):
    """Source NAT from port 1 to port 2 without changes of TCP and UDP ports; port 2's address leads to port 1's tester.

    IPv6 is forwarded untouched.
    """

    family: ClassVar[str] = "nat"
    title: ClassVar[str] = "nftables source NAT"
    most_ports: ClassVar[int] = 2
    programs: ClassVar[tuple[Program, ...]] = (NFT,)
    events: ClassVar[tuple[str, ...]] = ("conntrack-flushed",)

    def happen(self, event: str, site: Site) -> None:
        """Every connection is forgotten."""
        with NFCTSocket() as conntrack:
            conntrack.flush()

    def mend(self, event: str, site: Site) -> None:
        """The next frame of a connection makes it again, so there is nothing to undo."""

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """Outwards the source becomes the DUT's outer address; inwards that address, as destination, becomes the
        tester's."""
        plain = routed(tx, rx)
        assert tx.dut_mac and rx.dut_mac and tx.dut_ipv4 and rx.dut_ipv4
        outwards = tx.interface < rx.interface
        before = (tx.ipv4, rx.ipv4) if outwards else (tx.ipv4, tx.dut_ipv4)
        after = (rx.dut_ipv4, rx.ipv4) if outwards else (tx.ipv4, rx.ipv4)
        return replace(
            plain,
            sent=plain.sent | {"ipv4": f"{ethernet(tx.mac, tx.dut_mac)}/{ipv4(*before)}/{UDP}"},
            arrives=plain.arrives | {"ipv4": f"{ethernet(rx.dut_mac, rx.mac)}/{ipv4(*after, HOPS - 1)}/{UDP}"},
        )

    def build(self, site: Site) -> None:
        """Make the router, then the table."""
        super().build(site)
        inner, outer = site.ports
        NFT.run(
            "-f",
            "-",
            text=f"""
            table ip nat {{
                chain outwards {{
                    type nat hook postrouting priority srcnat
                    oifname {outer.dut_interface} ip saddr {inner.ipv4}/24 snat to {outer.dut_ipv4}
                }}
                chain inwards {{
                    type nat hook prerouting priority dstnat
                    iifname {outer.dut_interface} ip daddr {outer.dut_ipv4} meta l4proto {{ tcp, udp }} \
                        dnat to {inner.ipv4}
                }}
            }}
            """,
        )


class Firewall(Router):
    """Compares every frame with `rules` rules, of which the last forwards the tester's networks; drops all else.

    RFC 2544 §11.4 measures with 1 and with 25 filters. IPv4 and IPv6 have as many rules each.
    """

    family: ClassVar[str] = "firewall"
    title: ClassVar[str] = "nftables firewall"
    leads: ClassVar[bool] = False  # it forwards its own networks only
    parameters: ClassVar[str] = "rules=1 to 10000"
    programs: ClassVar[tuple[Program, ...]] = (NFT,)

    rules: int = Field(25, ge=1, le=10_000)

    def build(self, site: Site) -> None:
        """Make the router, then the tables."""
        super().build(site)
        others = range(1, self.rules)
        version_4 = [f"ip saddr 198.19.{n >> 8}.{n & 0xFF} ip daddr 198.19.100.1 drop" for n in others]
        version_6 = [f"ip6 saddr 2001:2:0:1900::{n:x} ip6 daddr 2001:2:0:1901::1 drop" for n in others]
        version_4.append("ip saddr 198.18.0.0/16 ip daddr 198.18.0.0/16 accept")
        version_6.append("ip6 saddr 2001:2::/56 ip6 daddr 2001:2::/56 accept")
        NFT.run("-f", "-", text=_filter("ip", version_4) + _filter("ip6", version_6))


def _filter(family: str, rules: list[str]) -> str:
    lines = "\n".join(rules)
    head = "type filter hook forward priority filter; policy drop;"
    return f"table {family} firewall {{\nchain forward {{\n{head}\n{lines}\n}}\n}}\n"


def withhold(interface: str, *matches: str) -> None:
    """Frames that a device would say about itself do not leave by this port (Linux 5.16)."""
    rules = "".join(f"add rule netdev {interface} out {match} drop\n" for match in matches)
    NFT.run(
        "-f",
        "-",
        text=f"add table netdev {interface}\n"
        f"add chain netdev {interface} out {{ type filter hook egress device {interface} priority 0; }}\n{rules}",
    )
