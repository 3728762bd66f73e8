"""Common parts of testbeds on interfaces of this host, its own or those of a lab."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from keisoku._core import Neighbours
from keisoku.device.engine.port_capture import PortCapture
from keisoku.device.engine.traffic import Route
from keisoku.device.engine.wired import WiredEngine
from keisoku.device.engine.wired_port import WiredPort
from keisoku.device.testbed.host_port import has_carrier, resolve_mac
from keisoku.device.testbed.testbed import Testbed
from keisoku.device.testbed.wanted import WantedTraffic
from keisoku.frame.host_range import HostRange

_RESOLVE_S = 3.0


class WiredTestbed(Testbed):
    """A variant defines the routes from port to port, and what resets the device, if anything does."""

    captures = True
    has_hosts = True
    resets: Literal["by hand"] | Callable[[], None] | None = None

    def __init__(self, ports: Sequence[WiredPort]) -> None:
        self.ports = list(ports)
        self._neighbours: dict[int, Neighbours] = {}

    @abstractmethod
    def routes(self, wanted: WantedTraffic) -> list[Route]:
        """Routes between the ports that send and receive."""

    @abstractmethod
    def context(self) -> dict[str, object]:
        """The device between the ports, for the record."""

    def mtu_bytes(self, port: int) -> int:
        """The MTU when the testbed was opened."""
        return self.ports[port].mtu_bytes

    def link_is_up(self, port: int) -> bool:
        """The state of the interface in the kernel."""
        return has_carrier(self.ports[port].interface, self.ports[port].namespace)

    def engine(self, wanted: WantedTraffic, capture: PortCapture | None = None) -> WiredEngine:
        """An engine without a warm-up where flows define all frames: then only what a script asks for is sent."""
        rates = [self.line_rate(port) for port in range(len(self.ports))]
        speed = None if None in rates else min(rate for rate in rates if rate is not None)
        traffic, warm_up = wanted.on(self.routes(wanted)), bool(wanted.contents)
        return WiredEngine(self.ports, traffic, speed, self.context(), capture, self.resets, warm_up)

    def answer(self, hosts: Mapping[int, Sequence[HostRange]]) -> None:
        """Answers by a socket of its own at each port that has a host."""
        for neighbours in self._neighbours.values():
            neighbours.close()
        self._neighbours.clear()
        for port, ranges in hosts.items():
            plain = json.dumps([one.plain() for one in ranges])
            self._neighbours[port] = Neighbours(json.dumps(self.ports[port].place()), plain)

    def resolve(self, port: int, host: HostRange | None, gateway: str) -> str:
        """Resolves it by ARP or neighbour discovery from the host's address; where there is none, the kernel resolves
        it."""
        neighbours, own = self._neighbours.get(port), self.ports[port]
        if neighbours is None or host is None:
            return resolve_mac(own.interface, own.namespace, gateway)
        return neighbours.resolve(gateway, host.mac, str(host.first), _RESOLVE_S)

    def close(self) -> None:
        """Ends all answers of hosts."""
        self.answer({})
