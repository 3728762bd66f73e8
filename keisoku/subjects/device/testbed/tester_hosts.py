"""The tester's hosts in a plan: its own IP addresses at each port, and the DUT's.

For an address of an interface the kernel answers; for an address in a plan the tester itself answers ARP and
neighbour discovery. Interfaces are not changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache

from keisoku.errors import PlanError
from keisoku.ground.frame.headers import DESTINATION_IPV4, DESTINATION_IPV6, SOURCE_IPV4, SOURCE_IPV6
from keisoku.ground.frame.host_range import HostRange, address
from keisoku.subjects.device.engine.traffic import Addressing, Route
from keisoku.subjects.device.testbed.requirements import WantedTraffic

_UNADDRESSED = {4: (SOURCE_IPV4, DESTINATION_IPV4), 6: (SOURCE_IPV6, DESTINATION_IPV6)}
"""Addresses of RFC 2544 and RFC 5180 for a first and for every other port; no host answers for them."""


class TesterHosts(ABC):
    """The hosts at ports with these MAC addresses.

    `addresses`: one for each port, or none; 'FIRST-LAST' answers for a whole range and sends from its first.
    `gateways`: the DUT's addresses at the ports, in order. Raises PlanError for invalid addresses.
    """

    def __init__(self, macs: Sequence[str], addresses: Sequence[str], gateways: Sequence[str]) -> None:
        if addresses and len(addresses) != len(macs):
            problem = f"{len(addresses)} addresses are given for {len(macs)} ports"
            raise PlanError("address", problem, "give one for each port, or none")
        if len(gateways) > len(macs):
            raise PlanError(
                "gateway", f"{len(gateways)} gateways are given for {len(macs)} ports", "give one for each port"
            )
        self._macs = list(macs)
        self.ranges = [HostRange.parse(mac, text, "address") for mac, text in zip(macs, addresses, strict=False)]
        self.gateways = [address(text, "gateway") for text in gateways]

    def routes(self, wanted: WantedTraffic) -> list[Route]:
        """Routes between the ports. Raises EngineError if a gateway does not answer, PlanError if a router must
        deliver to a port without an address."""
        versions = {content.ip_version for content in wanted.contents} - {None}
        gateway_mac = cache(self.gateway_mac)

        def addressing(one: int, other: int, back: bool = False) -> Addressing:
            ips = {str(name): (self._ip(one, str(name)), self._ip(other, str(name))) for name in versions}
            behind = one < len(self.gateways)
            next_hop = gateway_mac(one) if behind and not back else self._macs[other]
            device_ip = str(self.gateways[one]) if behind else None
            return Addressing(self._macs[one], next_hop, self._macs[other], ips, device_ip=device_ip)

        def last_hop(other: int) -> str | None:
            """Nobody is asked in vain: only what compares headers needs to know from where frames arrive."""
            return gateway_mac(other) if wanted.changes and other < len(self.gateways) else None

        return [
            Route(one, other, addressing(one, other), addressing(other, one, True), last_hop_mac=last_hop(other))
            for one, other in wanted.pairs
        ]

    @abstractmethod
    def gateway_mac(self, port: int) -> str:
        """MAC address of the port's gateway. Raises EngineError if it does not answer."""

    @abstractmethod
    def own_ip(self, port: int, version: int) -> str | None:
        """The port's own address; None if a plan must give one."""

    def _ip(self, port: int, name: str) -> str:
        """The address of a version ('ipv4', 'ipv6') from which a port sends and at which it receives."""
        version = int(name[-1])
        if port < len(self.ranges) and self.ranges[port].first.version == version:
            return str(self.ranges[port].first)
        return self.own_ip(port, version) or _UNADDRESSED[version][min(port, 1)]
