"""`Router`: the kernel's IPv4 and IPv6 forwarding. Acts on the calling thread's namespace, never on the host's own."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import ClassVar

from pyroute2 import IPRoute

from keisoku.errors import EngineError
from keisoku.ground.frame.networks import ipv4_network, ipv6_network
from keisoku.ground.lab.device import interface
from keisoku.ground.lab.device.ability import LeadingDevice, ResettableDevice
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.passage import Passage, routed
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.topology import add_addresses

_LOOK_S = 0.1


class Router(LeadingDevice, ResettableDevice):
    """IPv4 and IPv6 forwarding between all ports, each a /24 and a /64."""

    family: ClassVar[str] = "router"
    title: ClassVar[str] = "Linux router"
    l3: ClassVar[bool] = True

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """MACs and time to live change."""
        return routed(tx, rx)

    def build(self, site: Site) -> None:
        """Give the ports addresses and forward between them."""
        forward("1")
        with IPRoute() as ip:
            for port in site.ports:
                address(ip, port)

    def lead_networks(self, port: LabPort, count: int) -> None:
        """One route a network, with the tester's port as the next hop."""
        with IPRoute() as ip:
            index = ip.link_lookup(ifname=port.dut_interface)[0]
            for number in range(count):
                for network, gateway in (
                    (str(ipv4_network(number, count)), port.ipv4),
                    (f"{ipv6_network(number)}/64", port.ipv6),
                ):
                    ip.route("replace", dst=network, gateway=gateway, oif=index)

    def halt(self) -> None:
        """Stop forwarding."""
        forward("0")

    def restart(self, site: Site) -> None:
        """Forward again; addresses, neighbours and rules are unchanged."""
        forward("1")


def forward(value: str) -> None:
    """Switch forwarding of both versions on ("1") or off ("0")."""
    for key in ("ipv4/ip_forward", "ipv4/conf/all/forwarding", "ipv6/conf/all/forwarding"):
        interface.set_sysctl(key, value)


def address(ip: IPRoute, port: LabPort) -> None:
    """Give the DUT's end of a port its addresses, and the tester's as neighbours."""
    assert port.dut_ipv4 and port.dut_ipv6
    index = ip.link_lookup(ifname=port.dut_interface)[0]
    add_addresses(ip, index, port.dut_ipv4, port.dut_ipv6)
    know_tester(ip, index, port, port.ipv4, port.ipv6)


def know_tester(ip: IPRoute, index: int, port: LabPort, *addresses: str) -> None:
    """Make a tester port's addresses permanent neighbours at an interface.

    The kernel would probe other neighbours after some seconds, and a probe during a trial would be a foreign frame.
    """
    for address in addresses:
        ip.neigh("replace", dst=address, lladdr=port.mac, ifindex=index, state="permanent")


def network(port: LabPort) -> str:
    """The IPv4 network between a port and the device."""
    assert port.dut_ipv4
    return port.dut_ipv4.rpartition(".")[0] + ".0/24"


def await_routes(networks: Collection[str], patience_s: float, by: str = "") -> None:
    """Until the kernel has a route to each network, by an interface if one is named. The length of a route's prefix
    counts where the network has one.

    Raises EngineError after `patience_s`.
    """
    deadline_s = time.monotonic() + patience_s
    with IPRoute() as ip:
        while True:
            out = {"oif": ip.link_lookup(ifname=by)[0]} if by else {}
            routes = [(str(route.get("dst")), route["dst_len"]) for route in ip.get_routes(family=2, **out)]
            known = {form for address, length in routes for form in (address, f"{address}/{length}")}
            missing = sorted(set(networks) - known)
            if not missing:
                return
            if time.monotonic() > deadline_s:
                raise EngineError(f"the routers found no way to {missing[0]} in {patience_s:g} s")
            time.sleep(_LOOK_S)
