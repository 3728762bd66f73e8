"""Two routers, in a namespace each, with a tunnel or a ring between them: a frame goes in plain and comes out plain.

Acts on the namespaces of the device, never on the host's own.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.device import LabDevice, Site
from keisoku.ground.lab.device.interface import whole_frames
from keisoku.ground.lab.device.passage import Passage, routed
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import address, forward, network

HEADROOM_BYTES = 128
"""What the lines between carry more than the ports."""


@dataclass(frozen=True)
class End:
    """One of the two routers, 1 or 2: its place, its port, and the port of the other."""

    number: int
    place: Namespace
    own: LabPort
    other: LabPort

    @property
    def networks(self) -> tuple[str, str]:
        """The networks behind its port."""
        return _networks(self.own)

    @property
    def far_networks(self) -> tuple[str, str]:
        """The networks behind the other router."""
        return _networks(self.other)

    @property
    def ipv4(self) -> str:
        """Its address between the routers (RFC 2544 C.2.2)."""
        return _ipv4(self.number)

    @property
    def far_ipv4(self) -> str:
        """The other's address between the routers."""
        return _ipv4(3 - self.number)

    @property
    def far_ipv6(self) -> str:
        """The other's address between the routers (RFC 5180 §8)."""
        return _ipv6(3 - self.number)

    def addresses(self, name: str) -> list[str]:
        """Commands: its addresses at an interface between the routers, and the other as a permanent neighbour there."""
        mac = line_mac(3 - self.number, 1)
        return [
            f"addr add {_ipv4(self.number)}/24 dev {name}",
            f"addr add {_ipv6(self.number)}/64 dev {name} nodad",
            f"neigh replace {self.far_ipv4} lladdr {mac} dev {name} nud permanent",
            f"neigh replace {self.far_ipv6} lladdr {mac} dev {name} nud permanent",
        ]

    def routes(self, *ways: str) -> list[str]:
        """Commands: the other's IPv4 and IPv6 network by a way, or by one each."""
        return [f"route add {network} {way}" for network, way in zip(self.far_networks, ways * 2, strict=False)]


class TwoRouters(LabDevice):
    """IPv4 and IPv6 forwarding from port 1 by one router, over what is between, by the other router to port 2."""

    l3: ClassVar[bool] = True
    most_ports: ClassVar[int] = 2
    places: ClassVar[tuple[str, ...]] = ("dut", "far")
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP,)
    lines: ClassVar[int] = 1

    @abstractmethod
    def commands(self, end: End, mtu: int) -> list[str]:
        """Of `ip`, in an end's place: what is made upon `line1` …, which are up."""

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """Each router decrements the time to live."""
        return routed(tx, rx, routers=2)

    def build(self, site: Site) -> None:
        """Make the lines, then in each place the router and what is between."""
        one, other = site.ports
        near, far = site.places
        wide = one.mtu_bytes + HEADROOM_BYTES
        iproute.ip(
            *(
                f"link add name line{line} mtu {wide} address {line_mac(1, line)} type veth "
                f"peer name line{line} mtu {wide} address {line_mac(2, line)} netns {far.name}"
                for line in range(1, self.lines + 1)
            )
        )
        ends = End(1, near, one, other), End(2, far, other, one)
        for end in ends:
            end.place.run(partial(self._raise, end, one.mtu_bytes))
        self.join(*ends)

    def join(self, near: End, far: End) -> None:
        """In the first place: what needs both ends to be there."""

    def _raise(self, end: End, mtu: int) -> None:
        forward("1")
        with IPRoute() as ip:
            address(ip, end.own)
        names = [f"line{line}" for line in range(1, self.lines + 1)]
        for name in names:
            whole_frames(name)
        iproute.ip(*(f"link set dev {name} up" for name in names), *self.commands(end, mtu))


def line_mac(end: int, line: int) -> str:
    """Of an end of a line, both from 1."""
    return f"02:6b:73:00:0{end + 1}:{line:02x}"


def _ipv4(end: int) -> str:
    return f"198.19.0.{end}"


def _ipv6(end: int) -> str:
    return f"2001:2:0:ff::{end}"


def _networks(port: LabPort) -> tuple[str, str]:
    assert port.dut_ipv6
    return network(port), port.dut_ipv6.partition("::")[0] + "::/64"
