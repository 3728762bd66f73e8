"""`TesterRouters`: routers of the tester at its ports: interfaces of the kernel, and FRR's daemons that speak for them.

Routers that share a table of routes of the kernel share a namespace. Each interface is a macvlan on a port, so that the
kernel receives what is sent to its MAC address beside the test frames, on a lab's port and on a NIC alike. No test
frame is sent or forwarded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.daemons import Daemons
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.interface import withhold_errors
from keisoku.ground.lab.frr import PROGRAMS, FrrRouter
from keisoku.ground.lab.introduction import introduce
from keisoku.ground.lab.lifetime import Lifetime
from keisoku.ground.lab.lsa_count import Kind, LsaCount
from keisoku.ground.lab.vlan import TAGGED, Tag, every_frame, in_vlan


@dataclass(frozen=True)
class RouterInterface:
    """An interface with the addresses of one of the tester's routers."""

    name: str
    """At most 15 characters; 8 in a VLAN."""
    port: str
    """The interface of the port on which it is."""
    port_namespace: Path | None
    mac: str
    addresses: tuple[str, ...]
    """With the length of their prefix: 198.18.1.5/24."""
    gateways: tuple[str, ...]
    tags: tuple[Tag, ...] = ()
    """Those of its frames, the outermost first."""
    link_local: bool = False
    """It has IPv6 also without an address of that version."""


@dataclass(frozen=True)
class RouterPlace:
    """What is in one namespace: interfaces, configurations of FRR's daemons, and what else they are started with."""

    interfaces: Sequence[RouterInterface]
    texts: Mapping[Program, str]
    """Of the daemons; without any the kernel alone answers at the interfaces."""
    options: Mapping[Program, Sequence[str]]
    networks: Mapping[str, Sequence[str]]
    """Addresses, with the length of their prefix, at interfaces of these names that end nowhere."""
    lsas_at: Sequence[str] = ()
    """Interfaces at which OSPF's LSAs are counted."""


class TesterRouters(Lifetime):
    """A context manager. Raises PlanError where there is no FRR or labs are not possible; EngineError if it cannot be
    made, after removing all that was made."""

    kind = "of the tester's routers"

    def __init__(self, places: Sequence[RouterPlace]) -> None:
        super().__init__()
        self._places = places
        self._made: list[tuple[Namespace, FrrRouter]] = []
        self._lsas: dict[int, LsaCount] = {}
        self._tagging = ExitStack()

    def path(self, place: int) -> Path:
        """The namespace of a place, by its number."""
        return self._made[place][0].path

    def ask(self, place: int, *commands: str) -> str:
        """What the daemons of a place answer to commands of `vtysh`."""
        namespace, router = self._made[place]
        return namespace.run(partial(router.ask, *commands))

    def log(self, place: int, program: Program) -> str:
        """What a daemon of a place printed."""
        return self._made[place][1].log(program)

    def lsas(self, place: int) -> Mapping[Kind, int] | None:
        """How many LSAs passed the interfaces of a place; None if that is not known."""
        return self._lsas[place].counts()

    def _prepare(self) -> None:
        missing = next((program for program in PROGRAMS if program.path is None), None)
        if missing is not None and any(place.texts for place in self._places):
            problem = f"protocols are spoken by FRR, of which {missing.name} is not installed"
            raise PlanError("devices", problem, f"install the Debian package {missing.package}")

    def _create(self, prefix: str) -> None:
        for number, place in enumerate(self._places, 1):
            namespace = self._add_namespace(f"{prefix}-router{number}")
            namespace.run(withhold_errors)
            ports = dict.fromkeys(interface.port_namespace for interface in place.interfaces)
            for port in ports:
                run_in_namespace(port, partial(iproute.ip, *_links(place, port, namespace)))
            self._tag(place, namespace)
            namespace.run(partial(iproute.ip, "link set lo up", *_addresses(place), *_behind(place)))
            namespace.run(partial(_introduce, place))
            daemons = Daemons(namespace.name)
            router = FrrRouter(daemons, "tester")
            self._made.append((namespace, router))
            self._lsas[number - 1] = namespace.run(partial(LsaCount, place.lsas_at))
            if place.texts:
                daemons.make_directory(passable=True)
                namespace.run(partial(router.start, place.texts, None, place.options))

    def _tag(self, place: RouterPlace, namespace: Namespace) -> None:
        """Makes the interfaces in VLANs."""
        tagged = [one for one in place.interfaces if one.tags]
        for one in tagged:
            self._tagging.callback(in_vlan(namespace, one.name, one.mac, one.tags).close)
        for port_namespace, port in dict.fromkeys((one.port_namespace, one.port) for one in tagged):
            self._tagging.enter_context(run_in_namespace(port_namespace, partial(every_frame, port)))

    def _end(self) -> None:
        while self._made:
            namespace, router = self._made.pop()
            router.daemons.end()
            namespace.run(iproute.remove_links_upon_ports)
        while self._lsas:
            self._lsas.popitem()[1].close()
        self._tagging.close()


def _links(place: RouterPlace, port: Path | None, namespace: Namespace) -> Iterable[str]:
    for one in place.interfaces:
        if one.port_namespace == port:
            name = f"{one.name}{TAGGED}" if one.tags else one.name
            # Private: two routers of the tester meet through the device, never by a short cut in the kernel.
            yield (
                f"link add link {one.port} name {name} address {one.mac} group {iproute.UPON_PORT} "
                f"netns {namespace.name} type macvlan mode private"
            )


def _addresses(place: RouterPlace) -> Iterable[str]:
    for metric, one in enumerate(place.interfaces, 1):
        yield f"link set {one.name} up"
        for address in (*one.addresses, *_link_local(one)):
            # At once, as a test begins with the start: nobody else has the script's addresses.
            yield f"addr add {address} dev {one.name}{' nodad' if ':' in address else ''}"
        # Sockets are bound to their interface, so that each finds the route of its own router.
        for gateway in one.gateways:
            yield f"route add default via {gateway} dev {one.name} metric {metric} onlink"


def _behind(place: RouterPlace) -> Iterable[str]:
    for name, addresses in place.networks.items():
        # Both ends are here, so that the interface has a carrier.
        yield f"link add {name} type veth peer name {name}-end"
        yield f"link set {name}-end up"
        yield f"link set {name} up"
        yield from (f"addr add {address} dev {name}" for address in addresses)


def _introduce(place: RouterPlace) -> None:
    """FRR tells the link-local address as a next hop, too, from which nothing else is sent."""
    for one in place.interfaces:
        own = [address.split("/")[0] for address in (*one.addresses, *_link_local(one)) if ":" in address]
        introduce(one.name, one.mac, own, [gateway for gateway in one.gateways if ":" in gateway])


def _link_local(one: RouterInterface) -> Sequence[str]:
    """That of RFC 4291, appendix A, where there is IPv6. FRR begins no IPv6 session at an interface that has none."""
    if not one.link_local and not any(":" in address for address in one.addresses):
        return ()
    octets = bytes.fromhex(one.mac.replace(":", ""))
    low = bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return (f"{IPv6Address(bytes.fromhex('fe80') + bytes(6) + low)}/64",)
