"""`Nat64`: a stateful NAT64 of Debian's tayga and nftables. Acts on the lab's namespace, never on the host's own.

tayga translates each IPv6 address to one IPv4 address and back, without state; nftables' source NAT behind it has the
table of connections and the outer ports. That is how tayga's manual makes a stateful NAT64 of it.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import ClassVar

from pyroute2 import IPRoute

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.nftables import NFT, Nat
from keisoku.ground.lab.device.passage import HOPS, UDP, Passage, ethernet, ipv4, ipv6
from keisoku.ground.lab.device.port import LabPort

TAYGA = Program("tayga", "tayga", version_option="")
_TUN = "nat64"
_PREFIX = IPv6Address("2001:2:0:6464::")
"""IPv4 addresses as the initiator sees them (RFC 6052), inside the range for benchmarks of RFC 5180 §8. Its length is
96 bits."""
_BETWEEN, _OWN, _INNER = "198.18.255.0/24", "198.18.255.1", "198.18.255.2"
"""Network between tayga and the source NAT, and in it the addresses of tayga and of port 1's tester."""
_GROWTH_BYTES = 20
"""An IPv6 header is so much longer than an IPv4 header without options."""
_QUEUE_FRAMES = 2_000
"""In front of tayga, which needs about 60 ms for so many."""
_ROUTINGS = 3
"""The kernel forwards to tayga, tayga forwards, and the kernel forwards what tayga made."""


class Nat64(Nat):
    """Stateful NAT64 from port 1 (IPv6) to port 2 (IPv4): tayga, and nftables' source NAT behind it.

    Without a table of its own size, port 2's address leads to port 1's tester.
    """

    family: ClassVar[str] = "nat64"
    title: ClassVar[str] = "tayga with nftables source NAT"
    by_daemon: ClassVar[bool] = True
    programs: ClassVar[tuple[Program, ...]] = (NFT, TAYGA)

    def headroom_bytes(self, port: int) -> int:
        """Frames are longer on the side of IPv6."""
        return _GROWTH_BYTES if port == 1 else 0

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """What is called 'ipv4' is the traffic that is translated: outwards it is IPv6 before."""
        assert tx.dut_mac and rx.dut_mac
        before, after = ethernet(tx.mac, tx.dut_mac), ethernet(rx.dut_mac, rx.mac)
        if tx.interface < rx.interface:
            assert rx.dut_ipv4
            sent, arrives = ipv6(tx.ipv6, mapped(rx.ipv4)), ipv4(rx.dut_ipv4, rx.ipv4, HOPS - _ROUTINGS)
            growth = -_GROWTH_BYTES
        else:
            assert tx.dut_ipv4
            # It must not be made fragments of 1280 bytes.
            sent = ipv4(tx.ipv4, tx.dut_ipv4).replace("id=0", "id=0, flags='DF'")
            arrives = ipv6(mapped(tx.ipv4), rx.ipv6, HOPS - _ROUTINGS)
            growth = _GROWTH_BYTES
        stacks = ({"ipv4": f"{link}/{network}/{UDP}"} for link, network in ((before, sent), (after, arrives)))
        return Passage((tx.dut_mac,), growth, *stacks)

    def inside(self, site: Site) -> tuple[str, str]:
        """Between tayga and the source NAT."""
        return _TUN, _INNER

    def build(self, site: Site) -> None:
        """The source NAT, then tayga at a tunnel interface, which takes its MTU from there when it begins."""
        super().build(site)
        with IPRoute() as ip:
            ip.link("add", ifname=_TUN, kind="tuntap", mode="tun")
            index = ip.link_lookup(ifname=_TUN)[0]
            ip.link("set", index=index, mtu=site.ports[0].mtu_bytes, txqlen=_QUEUE_FRAMES, state="up")
            ip.route("add", dst=_BETWEEN, oif=index)
            ip.route("add", dst=f"{_PREFIX}/96", oif=index)
            file = site.daemons.make_directory() / "tayga.conf"
            file.write_text(
                f"tun-device {_TUN}\nipv4-addr {_OWN}\nprefix {_PREFIX}/96\nmap {_INNER} {site.ports[0].ipv6}\n"
            )

            def attached() -> bool:
                return bool(ip.get_links(index)[0].get("carrier"))

            site.daemons.start(TAYGA, "--nodetach", "--config", str(file), ready=attached, core=site.core)


def mapped(address: str) -> str:
    """An IPv4 address as the side of IPv6 sees it."""
    return str(IPv6Address(int(_PREFIX) + int(IPv4Address(address))))
