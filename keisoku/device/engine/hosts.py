"""The tester's hosts at its ports: which IP addresses are its own, who answers for them, where the DUT is.

An address that the interface has is the kernel's to answer for; for those that a plan gives, the tester answers
ARP and neighbour discovery itself. Nothing is set on an interface.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from ipaddress import ip_address
from types import TracebackType
from typing import Self

from pyroute2 import IPRoute

from keisoku._core import Neighbours
from keisoku.device.engine.port import resolve_mac
from keisoku.device.engine.wired import Port
from keisoku.errors import PlanError
from keisoku.frame.headers import DESTINATION_IPV4, DESTINATION_IPV6, SOURCE_IPV4, SOURCE_IPV6
from keisoku.host.namespace import within

_UNADDRESSED = {4: (SOURCE_IPV4, DESTINATION_IPV4), 6: (SOURCE_IPV6, DESTINATION_IPV6)}
"""RFC 2544's and RFC 5180's, for a first and for every other port; nobody answers for them."""
_RESOLVE_S = 3.0


class Hosts:
    """At ports of this host; a context manager that answers until it is left.

    `addresses`: one a port, or none; 'FIRST-LAST' answers for all of a range and sends from its first. `gateways`: the
    DUT's, of the first ports in order. Raises PlanError for texts that are no such addresses.
    """

    def __init__(self, ports: Sequence[Port], addresses: Sequence[str], gateways: Sequence[str]) -> None:
        if addresses and len(addresses) != len(ports):
            problem = f"{len(addresses)} are given for {len(ports)} ports"
            raise PlanError("address", problem, "give one for each port, or none")
        if len(gateways) > len(ports):
            raise PlanError("gateway", f"{len(gateways)} are given for {len(ports)} ports", "give one for each port")
        self._ports = ports
        self._ranges = [_range(text) for text in addresses]
        self._gateways = [_address("gateway", text) for text in gateways]
        self._neighbours: list[Neighbours] = []

    def __enter__(self) -> Self:
        for port, (first, last) in zip(self._ports, self._ranges, strict=False):
            hosts = [{"mac": port.mac, "first": first, "last": last}]
            self._neighbours.append(Neighbours(json.dumps(port.place()), json.dumps(hosts)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for neighbours in self._neighbours:
            neighbours.close()

    def source(self, port: int, version: int) -> str:
        """The address of a version (4, 6) that a port sends from and is sent to.

        Raises PlanError if it has none and a router is to deliver to it.
        """
        if port < len(self._ranges) and ip_address(self._ranges[port][0]).version == version:
            return self._ranges[port][0]
        own = _own(self._ports[port], version)
        if own is None and self._gateways:
            name = self._ports[port].interface
            raise PlanError(
                "gateway",
                f"{name} has no IPv{version} address, so no router can deliver to it",
                f"give one for each port with --address, or with `ip address add ADDRESS dev {name}`",
            )
        return own or _UNADDRESSED[version][min(port, 1)]

    def next_hop(self, transmit: int, receive: int) -> str:
        """The MAC address that leads from a port to another: the gateway's, or the other port's.

        Raises EngineError if the gateway does not answer.
        """
        if transmit >= len(self._gateways):
            return self._ports[receive].mac
        port, gateway = self._ports[transmit], self._gateways[transmit]
        if transmit < len(self._neighbours):
            return self._neighbours[transmit].resolve(gateway, port.mac, self._ranges[transmit][0], _RESOLVE_S)
        return resolve_mac(port.interface, port.namespace, gateway)


def _own(port: Port, version: int) -> str | None:
    """The first address that the interface itself has, of those that a router could deliver to."""

    def read() -> str | None:
        with IPRoute() as ip:
            index = ip.link_lookup(ifname=port.interface)[0]
            found = [str(entry.get("address")) for entry in ip.get_addr(index=index)]
        fitting = [text for text in found if ip_address(text).version == version]
        return next((text for text in fitting if not ip_address(text).is_link_local), None)

    return within(port.namespace, read)


def _range(text: str) -> tuple[str, str]:
    first, _, last = text.partition("-")
    first = _address("address", first)
    last = _address("address", last) if last else first
    if ip_address(first).version != ip_address(last).version or int(ip_address(last)) < int(ip_address(first)):
        raise PlanError("address", f"'{text}' is no range", "write FIRST-LAST, such as 198.18.1.2-198.18.1.99")
    return first, last


def _address(field: str, text: str) -> str:
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        raise PlanError(field, f"'{text}' is no IP address", "write it as 198.18.1.1 or 2001:2::1") from None
