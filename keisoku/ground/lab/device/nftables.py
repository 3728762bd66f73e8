"""Routers with nftables: `nat`, which rewrites IPv4 addresses, and `firewall`, which compares frames with rules.

Acts on the calling thread's namespace, never on the host's own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator
from pyroute2.netlink.nfnetlink.nfctsocket import NFCTSocket

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import interface
from keisoku.ground.lab.device.ability import EventfulDevice
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.parameter import TimeText, time_ns
from keisoku.ground.lab.device.passage import HOPS, UDP, Passage, ethernet, ipv4, routed
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import Router

NFT = Program("nft", "nftables")
_FIRST_PORT = 1024


class Tracking(Router, EventfulDevice):
    """A router that keeps a table of connections, and may be given its size."""

    programs: ClassVar[tuple[Program, ...]] = (NFT,)
    events: ClassVar[tuple[str, ...]] = ("conntrack-flushed",)

    table: int | None = Field(None, ge=1, le=1 << 18)
    """How many connections it takes (`ct count` of nftables); without it, as many as the kernel has room for. With it
    only port 1 opens connections."""
    timeout: TimeText = "300s"
    """After this time a connection of UDP is forgotten."""
    beyond: Literal["drop", "reset"] = "drop"
    """What becomes of a connection for which the table has no room: dropped, or answered by a reset of TCP or by an
    ICMP error."""

    @field_validator("beyond")
    @classmethod
    def _beyond_a_table(cls, beyond: str, given: ValidationInfo) -> str:
        if not given.data.get("table"):
            raise ValueError
        return beyond

    def inside(self, site: Site) -> tuple[str, str]:
        """The interface of the device from which connections are opened, and the IPv4 address that opens them there."""
        return str(site.ports[0].dut_interface), site.ports[0].ipv4

    def happen(self, event: str, site: Site) -> None:
        """Every connection is forgotten."""
        with NFCTSocket() as conntrack:
            conntrack.flush()
        self.limit(site)

    def mend(self, event: str, site: Site) -> None:
        """The next frame of a connection makes it again, so there is nothing to undo."""

    def limit(self, site: Site) -> None:
        """Limits the table. The rule is made anew where all are forgotten, because it learns of that only by and by."""
        if self.table is None:
            return
        seconds = max(1, round(time_ns(self.timeout) / 1e9))
        for key in ("nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream"):
            interface.set_sysctl(f"netfilter/{key}", str(seconds))
        new = f"iifname {self.inside(site)[0]} {{}} ct state new ct count over {self.table}"
        rules = new.format("") + " drop"
        if self.beyond == "reset":
            interface.unlimited_errors()
            rules = f"""{new.format("meta l4proto tcp")} reject with tcp reset
                    {new.format("meta l4proto != tcp")} reject with icmp port-unreachable"""
        NFT.run(
            "-f",
            "-",
            text=f"""
            table ip connections
            delete table ip connections
            table ip connections {{
                chain outwards {{
                    type filter hook forward priority filter - 1
                    {rules}
                }}
            }}
            """,
        )


class Nat(Tracking):
    """Source NAT from port 1 to port 2; TCP and UDP ports change only if there is a pool of `ports`.

    Without a table of its own size, port 2's address leads to port 1's tester. IPv6 is forwarded untouched.
    """

    family: ClassVar[str] = "nat"
    title: ClassVar[str] = "nftables source NAT"
    parameters: ClassVar[str] = "table=10000&timeout=300s&beyond=drop or reset&ports=1 to 64512"
    most_ports: ClassVar[int] = 2

    ports: int | None = Field(None, ge=1, le=64_512)
    """Outer ports, from 1024 on."""

    @field_validator("ports")
    @classmethod
    def _of_a_table(cls, ports: int | None, given: ValidationInfo) -> int | None:
        if ports is not None and not given.data.get("table"):
            raise ValueError
        return ports

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
        outer, (_, inner) = site.ports[1], self.inside(site)
        # Only what has ports can have one of a pool.
        which, pool = "", ""
        if self.ports is not None:
            which, pool = "meta l4proto { tcp, udp }", f":{_FIRST_PORT}-{_FIRST_PORT + self.ports - 1}"
        inwards = f"""
                chain inwards {{
                    type nat hook prerouting priority dstnat
                    iifname {outer.dut_interface} ip daddr {outer.dut_ipv4} meta l4proto {{ tcp, udp }} \
                        dnat to {inner}
                }}"""
        # What comes in without a connection must not be taken for one of the device itself, which would have an entry.
        closed = f"""
                chain closed {{
                    type filter hook prerouting priority 0
                    iifname {outer.dut_interface} meta l4proto {{ tcp, udp }} \
                        ct state != {{ established, related }} drop
                }}"""
        NFT.run(
            "-f",
            "-",
            text=f"""
            table ip nat {{
                chain outwards {{
                    type nat hook postrouting priority srcnat
                    oifname {outer.dut_interface} ip saddr {inner}/24 {which} \
                        snat to {outer.dut_ipv4}{pool}
                }}
                {inwards if self.table is None else closed}
            }}
            """,
        )
        self.limit(site)


class Firewall(Tracking):
    """Compares every frame with `rules` rules, of which the last forwards the tester's networks; drops all else.

    RFC 2544 §11.4 measures with 1 and with 25 filters. IPv4 and IPv6 have as many rules each. With a `table` it tracks
    connections: from port 2 it forwards IPv4 only as an answer.
    """

    family: ClassVar[str] = "firewall"
    title: ClassVar[str] = "nftables firewall"
    leads: ClassVar[bool] = False  # it forwards its own networks only
    parameters: ClassVar[str] = "rules=1 to 10000&table=10000&timeout=300s&beyond=drop or reset"

    rules: int = Field(25, ge=1, le=10_000)

    def build(self, site: Site) -> None:
        """Make the router, then the tables."""
        super().build(site)
        others = range(1, self.rules)
        version_4 = [f"ip saddr 198.19.{n >> 8}.{n & 0xFF} ip daddr 198.19.100.1 drop" for n in others]
        version_6 = [f"ip6 saddr 2001:2:0:1900::{n:x} ip6 daddr 2001:2:0:1901::1 drop" for n in others]
        if self.table is not None:
            outside = " ".join(f"iifname != {port.dut_interface}" for port in site.ports[:1])
            version_4.append(f"{outside} ct state != {{ established, related }} drop")
        version_4.append("ip saddr 198.18.0.0/16 ip daddr 198.18.0.0/16 accept")
        version_6.append("ip6 saddr 2001:2::/56 ip6 daddr 2001:2::/56 accept")
        NFT.run("-f", "-", text=_filter("ip", version_4) + _filter("ip6", version_6))
        self.limit(site)


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


def withhold_resets() -> None:
    """Stop the kernel from resetting connections of TCP that test frames open, for which the host has no socket.

    Behind a NAT they come from an address to which there is a route, so the kernel would answer.
    """
    NFT.run(
        "-f",
        "-",
        text="add table inet resets\n"
        "add chain inet resets out { type filter hook output priority 0; }\n"
        "add rule inet resets out tcp flags & rst == rst drop\n",
    )


def cut(interface: str) -> None:
    """Nothing leaves and enters by this interface any more, although it keeps its carrier."""
    NFT.run(
        "-f",
        "-",
        text="add table netdev cut\n"
        + "".join(
            f"add chain netdev cut {hook} {{ type filter hook {hook} device {interface} priority 0; policy drop; }}\n"
            for hook in ("ingress", "egress")
        ),
    )


def rejoin() -> None:
    """Undoes `cut` in this namespace."""
    NFT.run("delete", "table", "netdev", "cut")
