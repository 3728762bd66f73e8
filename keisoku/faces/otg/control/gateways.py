"""Questions for the gateways of the tester's hosts. They may be asked without the controller's lock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from keisoku.faces.otg.control.ports import Ports
from keisoku.faces.otg.device.device import Address, Interface
from keisoku.faces.otg.device.gateways import GatewayQuestion
from keisoku.faces.otg.flow.flow import End, Flow
from keisoku.faces.otg.traffic.testbed import next_hop


class Gateways:
    """The gateways of the hosts on these ports."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def questions(self, version: int, names: Collection[str] = ()) -> list[GatewayQuestion]:
        """Questions for the gateways of hosts, all without names; they are to be asked without the lock."""
        if self._ports.testbed is None or not self._ports.session.answers:
            return []
        hosts = [host for host in self._ports.session.configuration.interfaces if not names or host.name in names]
        return [
            self._gateway(host, address)
            for host in hosts
            for address in host.addresses
            if address.version == version and not address.loopback
        ]

    def receivers(self, flows: Sequence[Flow]) -> list[GatewayQuestion]:
        """Questions for the gateways of hosts that receive. A device that is asked knows the host's MAC address before
        the first frame; else it drops frames until the host has answered."""
        if not self._ports.session.answers:
            return []
        ends = [receive for flow in flows for _, receive in flow.ways]
        hosts = {
            (end.interface.name, end.address.ip): (end.interface, end.address)
            for end in ends
            if end.interface is not None and end.address is not None and not end.address.loopback
        }
        return [self._gateway(host, address) for host, address in hosts.values()]

    def _gateway(self, host: Interface, address: Address) -> GatewayQuestion:
        ask = self._question(host, address) if self._ports.speakers.is_there(host) else None
        return GatewayQuestion(host.name, address, ask)

    def next_hop(self, end: End) -> str | None:
        """The MAC address of the gateway of an end, or None if it does not answer."""
        assert end.interface is not None and end.address is not None
        return self._question(end.interface, end.address)()

    def _question(self, host: Interface, address: Address) -> Callable[[], str | None]:
        """Asks for the gateway of an address."""
        assert self._ports.testbed is not None
        return self._ports.speakers.question(host, address) or partial(next_hop, self._ports.testbed, host, address)
