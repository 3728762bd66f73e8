"""Builds the wires of a lab inside its namespaces, with pyroute2.

Each function acts on the namespace of the calling thread. It must never run in the host's own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyroute2 import IPRoute
from pyroute2.netlink import nlmsg

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.device import interface
from keisoku.ground.lab.device.port import LabPort

QUEUES = 1
"""One per veth: with more, the frames of one stream could overtake each other between cores. A device with queues by
traffic class has more at its outputs; then the tester receives from as many, since XDP refuses fewer."""
MERGED_BYTES = 1
"""GRO may merge frames up to so many bytes, so it merges none. It is only on because it switches NAPI on
(`whole_frames`)."""
_SILENCE_S = 0.06
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Wire:
    """Names of a veth pair: port `number` of the tester and the DUT's end of it."""

    number: int
    tester: Namespace
    dut: Namespace | None
    mtu_bytes: int

    def port(self, addressed: tuple[str, ...]) -> LabPort:
        """The tester's end; the DUT has addresses at it of the versions in `addressed`.

        Addresses are of the benchmark nets (RFC 2544 C.2.2, RFC 5180 §8).
        """
        number = self.number
        return LabPort(
            name=f"t{number}",
            interface=f"t{number}",
            namespace_path=self.tester.path,
            mac=f"02:6b:73:00:00:{number:02x}",
            ipv4=f"198.18.{number}.2",
            ipv6=f"2001:2:0:{number:x}::2",
            mtu_bytes=self.mtu_bytes,
            dut_interface=f"d{number}" if self.dut else None,
            dut_namespace_path=self.dut.path if self.dut else None,
            dut_mac=f"02:6b:73:00:01:{number:02x}" if self.dut else None,
            dut_ipv4=f"198.18.{number}.1" if "ipv4" in addressed else None,
            dut_ipv6=f"2001:2:0:{number:x}::1" if "ipv6" in addressed else None,
        )


def plug(ports: list[LabPort], queues: int) -> None:
    """In the tester's namespace: make a veth pair between each port and the DUT, which has so many transmit queues."""
    for port in ports:
        peer = _end(port.dut_interface, port.dut_mac, port.mtu_bytes, tx_queues=queues)
        own = _end(port.interface, port.mac, port.mtu_bytes, rx_queues=queues)
        interface.make_pair(own, peer, port.dut_namespace_path)


def plug_cable(ports: list[LabPort]) -> None:
    """In the tester's namespace: make one veth pair of which both ends are tester ports."""
    one, other = (_end(port.interface, port.mac, port.mtu_bytes) for port in ports)
    interface.make_pair(one, other, None)


def _end(
    name: str | None, mac: str | None, mtu: int, tx_queues: int = QUEUES, rx_queues: int = QUEUES
) -> dict[str, object]:
    return {"ifname": name, "address": mac, "mtu": mtu, "num_tx_queues": tx_queues, "num_rx_queues": rx_queues}


def raise_tester_ports(ports: list[LabPort]) -> dict[str, dict[str, str]]:
    """Give the tester's ports their addresses and put them up; return the offload settings of each.

    A veth takes XDP frames if its other end polls when it is put up. Of a cable that is a port as well, so all are set
    before the first is put up.
    """
    offloads = {port.interface: interface.whole_frames(port.interface) for port in ports}
    with IPRoute() as ip:
        for port in ports:
            index = ip.link_lookup(ifname=port.interface)[0]
            ip.link("set", index=index, state="up", gro_max_size=MERGED_BYTES)
            add_addresses(ip, index, port.ipv4, port.ipv6)
    return offloads


def raise_dut_port(name: str) -> dict[str, str]:
    """Put the DUT's port up; return its offload settings."""
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=name)[0]
        offloads = interface.whole_frames(name)
        ip.link("set", index=index, state="up", gro_max_size=MERGED_BYTES)
    return offloads


def settle(ports: list[LabPort]) -> None:
    """In the tester's namespace: wait until the ports have carrier and the frames caused by their creation have ended.

    A port that has sent and received nothing for `_SILENCE_S` is settled; its kernel has then reported
    its multicast groups, which it does within some timer ticks (see `quiet_defaults`). Raises EngineError after
    `_PATIENCE_S`.
    """
    await_silence({port.interface for port in ports})


def await_silence(names: set[str]) -> None:
    """The same for interfaces by name, in their namespace. Raises EngineError if they do not settle."""
    deadline = time.monotonic() + _PATIENCE_S
    before: list[object] = []
    with IPRoute() as ip:
        while time.monotonic() < deadline:
            links = [link for link in ip.get_links() if link.get("ifname") in names]
            now: list[object] = [(link.get("operstate"), _frames(link)) for link in links]
            if now == before and all(link.get("operstate") == "UP" for link in links):
                return
            before = now
            time.sleep(_SILENCE_S)
    raise EngineError(f"the ports {', '.join(sorted(names))} of the lab did not settle in {_PATIENCE_S} s")


def _frames(link: nlmsg) -> tuple[int, int]:
    statistics = link.get("stats64")
    return statistics["rx_packets"], statistics["tx_packets"]


def add_addresses(ip: IPRoute, index: int, ipv4: str, ipv6: str) -> None:
    """Give an interface an IPv4 /24, an IPv6 /64 and a link-local address of the same end."""
    no_duplicate_detection = 0x02
    # Neighbour solicitations are only sent from a link-local address (RFC 4861 §7.2.2).
    link_local = "fe80::" + ipv6.rsplit("::", 1)[1]
    ip.addr("add", index=index, address=ipv4, prefixlen=24)
    for address in (link_local, ipv6):
        ip.addr("add", index=index, address=address, prefixlen=64, flags=no_duplicate_detection)
