"""`TesterRouters`: routers of the tester at its ports: interfaces of the kernel, and FRR's daemons that speak for them.

All are in one namespace. Each interface is a macvlan on a port, so that the kernel receives what is sent to its MAC
address beside the test frames, on a lab's port and on a NIC alike. No test frame is sent or forwarded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address, ip_interface
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.host.namespace import Namespace, within
from keisoku.host.program import Program
from keisoku.lab.daemons import Daemons
from keisoku.lab.device import iproute
from keisoku.lab.device.interface import withhold_errors
from keisoku.lab.frr import PROGRAMS, FrrRouter
from keisoku.lab.lifetime import Lifetime


@dataclass(frozen=True)
class RouterInterface:
    """An interface with the addresses of one of the tester's routers."""

    name: str
    """At most 15 characters."""
    port: str
    """The interface of the port on which it is."""
    port_namespace: Path | None
    mac: str
    addresses: tuple[str, ...]
    """With the length of their prefix: 198.18.1.5/24."""
    gateways: tuple[str, ...]


class TesterRouters(Lifetime):
    """A context manager. `texts` are the configurations of FRR's daemons, `options` what else they are started with.

    Raises PlanError where there is no FRR or labs are not possible; EngineError if it cannot be made, after removing
    all that was made.
    """

    kind = "of the tester's routers"

    def __init__(
        self,
        interfaces: Sequence[RouterInterface],
        texts: Mapping[Program, str],
        options: Mapping[Program, Sequence[str]],
    ) -> None:
        super().__init__()
        self._interfaces, self._texts, self._options = interfaces, texts, options
        self._place: Namespace | None = None
        self._router: FrrRouter | None = None

    @property
    def path(self) -> Path:
        """The namespace of all routers."""
        assert self._place is not None, "only while it exists"
        return self._place.path

    def ask(self, *commands: str) -> str:
        """What the daemons answer to commands of `vtysh`."""
        assert self._place is not None and self._router is not None, "only while it exists"
        return self._place.run(partial(self._router.ask, *commands))

    def _prepare(self) -> None:
        missing = next((program for program in PROGRAMS if program.path is None), None)
        if missing is not None:
            problem = f"protocols are spoken by FRR, of which {missing.name} is not installed"
            raise PlanError("devices", problem, f"install the Debian package {missing.package}")

    def _create(self, prefix: str) -> None:
        place = self._place = self._add_namespace(f"{prefix}-router1")
        place.run(withhold_errors)
        ports = dict.fromkeys(interface.port_namespace for interface in self._interfaces)
        for namespace in ports:
            within(namespace, partial(iproute.ip, *self._links(namespace, place)))
        place.run(partial(iproute.ip, "link set lo up", *self._addresses()))
        daemons = Daemons(place)
        self._router = FrrRouter(daemons, "tester")
        daemons.make_directory(passable=True)
        place.run(partial(self._router.start, self._texts, None, self._options))

    def _links(self, namespace: Path | None, place: Namespace) -> Iterable[str]:
        for one in self._interfaces:
            if one.port_namespace == namespace:
                # Private: two routers of the tester meet through the device, never by a short cut in the kernel.
                yield (
                    f"link add link {one.port} name {one.name} address {one.mac} netns {place.name} "
                    "type macvlan mode private"
                )

    def _addresses(self) -> Iterable[str]:
        for metric, one in enumerate(self._interfaces, 1):
            yield f"link set {one.name} up"
            versions = [ip_interface(address).version for address in one.addresses]
            own = [*one.addresses, *([_link_local(one.mac)] if 6 in versions else [])]
            for address in own:
                # At once, as a test begins with the start: nobody else has the script's addresses.
                yield f"addr add {address} dev {one.name}{' nodad' if ':' in address else ''}"
            # Sockets are bound to their interface, so that each finds the route of its own router.
            for gateway in one.gateways:
                yield f"route add default via {gateway} dev {one.name} metric {metric} onlink"

    def _end(self) -> None:
        if self._router is not None:
            self._router.daemons.end()
            self._router = None


def _link_local(mac: str) -> str:
    """That of RFC 4291, appendix A. FRR begins no IPv6 session at an interface that has none."""
    octets = bytes.fromhex(mac.replace(":", ""))
    low = bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return f"{IPv6Address(bytes.fromhex('fe80') + bytes(6) + low)}/64"
