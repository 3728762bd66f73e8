"""`OwnNetwork`: routers, links and daemons that a file of the user describes, for `lab:FILE.toml` and `vlab:FILE.toml`.

Acts on the namespaces of the device, never on the host's own. FRR speaks the protocols; nothing here does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

from pydantic import Field, ValidationError, field_validator, model_validator
from pyroute2 import IPRoute

from keisoku.errors import PlanError
from keisoku.frozen import Frozen
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.program import Program
from keisoku.ground.host.text_file import read_toml
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.ability import EventfulDevice
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.interface import whole_frames
from keisoku.ground.lab.device.kernel_part import NETEM, KernelPart
from keisoku.ground.lab.device.netem import discipline
from keisoku.ground.lab.device.parameter import RateText, ShareText, TimeText
from keisoku.ground.lab.device.passage import Passage, routed
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import await_routes, forward, know_tester, network
from keisoku.ground.lab.frr import PROGRAMS, VTYSH, ZEBRA, FrrRouter

_SHELL = Program("sh", "dash", version_option="")
_SPEAKERS = {program.name: program for program in PROGRAMS if program not in (ZEBRA, VTYSH)}
_END = r"^[a-z][a-z0-9-]{0,11}:[a-zA-Z][a-zA-Z0-9._-]{0,14}$"
_PATIENCE_S = 300.0


class Link(Frozen):
    """A link between two routers; what it does to packets it does in both directions."""

    ends: tuple[str, str]
    """'ROUTER:INTERFACE' of both ends; the interfaces are made."""
    addresses: tuple[str, str] | None = None
    """With prefix length, such as 10.0.1.1/30."""
    delay: TimeText = "0s"
    jitter: TimeText = "0s"
    loss: ShareText = "0"
    rate: RateText | None = None

    @field_validator("ends")
    @classmethod
    def _named(cls, ends: tuple[str, str]) -> tuple[str, str]:
        if not all(re.match(_END, end) for end in ends):
            raise ValueError("an end is ROUTER:INTERFACE")
        return ends

    @property
    def discipline(self) -> str:
        """Of tc, at each end; empty for a plain link."""
        words = discipline(self.delay, self.jitter, self.rate, loss=self.loss)
        return f"root netem limit 100000{words}" if words else ""


class Router(Frozen):
    """One router. Each field named after a daemon of FRR is its configuration."""

    commands: tuple[str, ...] = ()
    """Carried out in it by the shell, after its links are up and before its daemons start."""
    zebra: str = ""
    staticd: str = ""
    ospfd: str = ""
    isisd: str = ""
    bgpd: str = ""
    bfdd: str = ""

    @property
    def speakers(self) -> dict[Program, str]:
        """The daemons that run, with their configurations."""
        spoken = {program: text for name, program in _SPEAKERS.items() if (text := getattr(self, name))}
        return {ZEBRA: self.zebra, **spoken} if spoken or self.zebra else {}


class Event(Frozen):
    """What can happen in the network: commands of the shell, each of one router, 'ROUTER: COMMAND'."""

    do: tuple[str, ...] = Field(min_length=1)
    undo: tuple[str, ...] = ()


class Description(Frozen):
    """The file."""

    title: str = "own network"
    router: dict[str, Router] = Field(min_length=2, max_length=64)
    """By name, in their order: the first one is at the tester's first port, the second one at its second."""
    link: tuple[Link, ...] = ()
    event: dict[str, Event] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _of_its_routers(self) -> Description:
        ends = [end.partition(":")[0] for link in self.link for end in link.ends]
        commands = [line for event in self.event.values() for line in (*event.do, *event.undo)]
        for name in (*ends, *(line.partition(":")[0].strip() for line in commands)):
            if name not in self.router:
                raise ValueError(f"there is no router '{name}'")
        return self

    def hops(self) -> int:
        """Routers on the shortest way from the first port to the second. Raises ValueError if there is none."""
        first, last, *_ = self.router
        reached = {first: 1}
        order, neighbours = [first], self.neighbours()
        for name in order:
            for other in neighbours[name]:
                if other not in reached:
                    reached[other] = reached[name] + 1
                    order.append(other)
        if last not in reached:
            raise ValueError(f"no links lead from {first} to {last}")
        return reached[last]

    def neighbours(self) -> Mapping[str, list[str]]:
        """Of each router, by its links."""
        found: dict[str, list[str]] = {name: [] for name in self.router}
        for link in self.link:
            one, other = (end.partition(":")[0] for end in link.ends)
            found[one].append(other)
            found[other].append(one)
        return found


class OwnNetwork(EventfulDevice):
    """A network that a file describes: its routers, links, FRR's daemons and events; IPv4 only."""

    family: ClassVar[str] = "network"
    title: ClassVar[str] = "network of a file"
    l3: ClassVar[bool] = True
    most_ports: ClassVar[int] = 2
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP, *PROGRAMS)

    file: str

    @cached_property
    def description(self) -> Description:
        """What the file says. Raises PlanError."""
        values = read_toml("dut", Path(self.file))
        try:
            found = Description.model_validate(values)
            found.hops()
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the file"
            raise PlanError("dut", f"{self.file}: {place}: {first['msg']}", "correct it") from error
        except ValueError as error:
            raise PlanError("dut", f"{self.file}: {error}", "add a link") from error
        return found

    @property
    def name(self) -> str:
        """The path of the file."""
        return self.file

    @property
    def wanted_parts(self) -> tuple[KernelPart, ...]:
        """That of netem, where a link delays, loses or has a rate."""
        return (NETEM,) if any(link.discipline for link in self.description.link) else ()

    @property
    def place_names(self) -> tuple[str, ...]:
        """One namespace a router, numbered in the order of the file."""
        return tuple(f"router{number}" for number in range(1, len(self.description.router) + 1))

    @property
    def offered(self) -> tuple[str, ...]:
        """Those of the file."""
        return tuple(self.description.event)

    def addressed(self, port: int) -> tuple[str, ...]:
        """IPv4."""
        return ("ipv4",)

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """Each router on the shortest way decrements the time to live."""
        found = routed(tx, rx, routers=self.description.hops())
        return Passage(found.next_hop_macs, 0, {"ipv4": found.sent["ipv4"]}, {"ipv4": found.arrives["ipv4"]})

    def build(self, site: Site) -> None:
        """Make the links, then in each place its router."""
        places = self._places(site)
        mtu = site.ports[0].mtu_bytes
        for link in self.description.link:
            (one, name), (other, far) = (end.split(":", 1) for end in link.ends)
            made = f"link add name {name} mtu {mtu} type veth peer name {far} mtu {mtu} netns {places[other].name}"
            places[one].run(partial(iproute.ip, made))
        site.daemons.make_directory(passable=True)
        for name, place in places.items():
            place.run(partial(self._raise, site, name))

    def begin(self, site: Site) -> None:
        """Wait until the routers at the ports know the way to each other's port."""
        for place, port in zip(site.places, reversed(site.ports), strict=False):
            place.run(partial(await_routes, [network(port).partition("/")[0]], _PATIENCE_S))

    def happen(self, event: str, site: Site) -> None:
        """The commands of the event, one after the other."""
        self._carry_out(self.description.event[event].do, site)

    def mend(self, event: str, site: Site) -> None:
        """Those that undo it."""
        self._carry_out(self.description.event[event].undo, site)

    def _places(self, site: Site) -> dict[str, Namespace]:
        """The namespace of each router, by its name in the file."""
        return dict(zip(self.description.router, site.places, strict=True))

    def _carry_out(self, lines: tuple[str, ...], site: Site) -> None:
        places = self._places(site)
        for line in lines:
            name, _, command = line.partition(":")
            folder = FrrRouter(site.daemons, name).folder
            places[name.strip()].run(partial(_SHELL.run, "-c", f"VTY='--vty_socket {folder}'; {command}"))

    def _raise(self, site: Site, name: str) -> None:
        router = self.description.router[name]
        forward("1")
        iproute.ip("link set dev lo up")
        for link in self.description.link:
            for number, end in enumerate(link.ends):
                own, _, interface = end.partition(":")
                if own != name:
                    continue
                whole_frames(interface)
                if link.addresses:
                    iproute.ip(f"addr add {link.addresses[number]} dev {interface}")
                iproute.ip(f"link set dev {interface} up")
                if link.discipline:
                    iproute.tc(f"qdisc add dev {interface} {link.discipline}")
        for port in site.ports:
            if port.dut_namespace_path == self._places(site)[name].path:
                with IPRoute() as ip:
                    index = ip.link_lookup(ifname=port.dut_interface)[0]
                    ip.addr("add", index=index, address=port.dut_ipv4, prefixlen=24)
                    know_tester(ip, index, port, port.ipv4)
        for command in router.commands:
            _SHELL.run("-c", command)
        if router.speakers:
            FrrRouter(site.daemons, name).start(router.speakers, site.core)
