"""Ports of this host and of its namespaces, with any device between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.host.claim import Claim, InUse
from keisoku.subjects.device.engine.stamps import Wanted, choose
from keisoku.subjects.device.engine.traffic import Route
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.testbed.engine_choice import ENGINES, Alternatives
from keisoku.subjects.device.testbed.host_port import PortAddress, check, interface_ip
from keisoku.subjects.device.testbed.host_port_list import HostPort
from keisoku.subjects.device.testbed.requirements import WantedTestbed, WantedTraffic
from keisoku.subjects.device.testbed.tester_hosts import TesterHosts
from keisoku.subjects.device.testbed.wired import WiredTestbed

_OF_THIS_HOST = ("veth", "tun")
"""Drivers of interfaces whose other end is on this host."""


class HostPortsTestbed(WiredTestbed):
    """Raises PlanError, naming the port's field, for ports that do not exist or cannot be used.

    The operator resets the device.
    """

    resets = "by hand"

    def __init__(self, wanted: WantedTestbed) -> None:
        if wanted.device is not None:
            remedy = "leave it out, or give the numbers of its ports"
            raise PlanError("dut", f"'{wanted.device}' cannot be between ports of this host", remedy)
        addresses = [PortAddress.parse(port.name, port.field) for port in wanted.ports]
        places = [(address.namespace_path, address.interface) for address in addresses]
        wanted.check_apart(places, [interface for _, interface in places])
        asked = list(zip(wanted.ports, addresses, strict=True))
        self._found = [
            check(address, wanted.frame_bytes, wanted.force, port.field, wanted.tag_bytes) for port, address in asked
        ]
        with ExitStack() as claims:
            own: dict[object, Claim] = {}
            for place, port in zip(places, wanted.ports, strict=True):
                own[place] = wanted.held[place].shared() if place in wanted.held else claim(*place, port.field)
                claims.callback(own[place].close)
            opened = zip(asked, self._found, strict=True)
            super().__init__(
                [
                    wired_ports(each, found, port.receives, port.stamps or wanted.stamps)
                    for (port, each), found in opened
                ]
            )
            self._wanted = wanted
            self._hosts = _KernelHosts(self, wanted.addresses, wanted.gateways)
            self.answer({port: [host] for port, host in enumerate(self._hosts.ranges)})
            self._own, self._claims = own, claims.pop_all()

    @property
    def claims(self) -> Mapping[object, Claim]:
        """Those of all ports."""
        return self._own

    def line_rate(self, port: int) -> float | None:
        """The rate that the driver reports. A veth reports 10 Gb/s, which has no meaning."""
        found = self._found[port]
        return found.speed_mbps * 1e6 if found.speed_mbps and found.driver != "veth" else None

    def set_link(self, port: int, up: bool) -> None:
        """Always raises: an interface would lose its addresses and routes permanently."""
        problem = "keisoku does not change the interfaces of this host"
        raise PlanError("link", problem, "use a lab, or set the device's own port down")

    def routes(self, wanted: WantedTraffic) -> list[Route]:
        """Routes through the gateways, or directly to the other port."""
        return self._hosts.routes(wanted)

    def context(self) -> dict[str, object]:
        """The ports with their properties."""
        return {
            "device": " to ".join(port.name for port in self._wanted.ports),
            "drivers": [port.driver for port in self._found],
            "offloads": [port.offloads for port in self._found],
            "stamps_offered": [port.stamps.text() for port in self._found],
            "address": self._wanted.addresses,
            "gateway": self._wanted.gateways,
        }

    def close(self) -> None:
        """Lets others use the ports."""
        super().close()
        self._claims.close()


def claim(namespace: Path | None, interface: str, field: str = "port") -> Claim:
    """Holds an interface. Raises PlanError naming `field` if another process uses it."""
    try:
        return Claim(interface, namespace)
    except InUse as error:
        raise PlanError(field, str(error), "wait until that one ends, or choose another port") from error


class _KernelHosts(TesterHosts):
    """Hosts at the ports; where a plan gives no address, the kernel has one and answers for it."""

    def __init__(self, testbed: WiredTestbed, addresses: Sequence[str], gateways: Sequence[str]) -> None:
        super().__init__([port.mac for port in testbed.ports], addresses, gateways)
        self._testbed = testbed

    def gateway_mac(self, port: int) -> str:
        return self._testbed.resolve(port, self.ranges[port] if self.ranges else None, str(self.gateways[port]))

    def own_ip(self, port: int, version: int) -> str | None:
        own = self._testbed.ports[port]
        found = interface_ip(own.interface, own.namespace, version)
        if found is None and self.gateways:
            raise PlanError(
                "gateway",
                f"{own.interface} has no IPv{version} address, so a router cannot deliver to it",
                f"give one for each port with --address, or with `ip address add ADDRESS dev {own.interface}`",
            )
        return found


def wired_ports(address: PortAddress, found: HostPort, receives: bool, stamps: Wanted = "best") -> Alternatives:
    """A port of this host that `check` returned, in the form of each engine that may open it, the likely one first;
    `stamps` are its receive timestamps.

    Raises PlanError for timestamps that the port does not offer.
    """
    if address.engine is not None:
        return {address.engine: _wired_port(address, address.engine, found, receives, stamps)}
    native = found.xdp is not None and "native" in found.xdp
    alternatives, refusals = dict[PortEngine, WiredPort](), list[PlanError]()
    for engine in ENGINES if native else reversed(ENGINES):
        try:
            alternatives[engine] = _wired_port(address, engine, found, receives, stamps)
        except PlanError as error:
            refusals.append(error)
    if not alternatives:
        raise refusals[-1]
    return alternatives


def _wired_port(address: PortAddress, engine: PortEngine, found: HostPort, receives: bool, stamps: Wanted) -> WiredPort:
    choice = choose(found.stamps, engine, stamps if receives else "best")
    phc = found.stamps.phc_index if receives and choice.receive == "hardware" else None
    path = address.namespace_path
    virtual = found.driver == "veth"
    return WiredPort(
        engine,
        found.name,
        path,
        found.mac,
        found.mtu,
        stamps=choice,
        phc=phc,
        speed_mbps=None if virtual else found.speed_mbps,
        removes_tags=found.removes_tags,
        on_host=found.driver in _OF_THIS_HOST,
        counts_refusals=not virtual,
    )
