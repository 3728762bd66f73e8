"""`Diamond`: four FRR routers, of which the middle two are two ways from the first to the last.

Acts on the namespaces of the device, never on the host's own.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from pydantic import field_validator
from pyroute2 import IPRoute

from keisoku.ground.frame.networks import ipv4_network
from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import frr, iproute
from keisoku.ground.lab.device.ability import EventfulDevice, LeadingDevice
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.frr import RouterInterface, Routing, Speaker
from keisoku.ground.lab.device.interface import whole_frames
from keisoku.ground.lab.device.nftables import NFT, cut, rejoin
from keisoku.ground.lab.device.parameter import time_ns
from keisoku.ground.lab.device.passage import Passage, routed
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import await_routes, forward, know_tester, network
from keisoku.ground.lab.frr import PROGRAMS, FrrRouter

_CHEAP, _DEAR = 10, 20
_LINES = {"upper": ("198.18.128.1", "198.18.128.2"), "lower": ("198.18.128.5", "198.18.128.6")}
"""Addresses of the first router and of the middle one."""
_FAR_LINES = {"upper": ("198.18.128.10", "198.18.128.9"), "lower": ("198.18.128.14", "198.18.128.13")}
"""Of the last router and of the middle one."""
_PATIENCE_S = 40.0


class Diamond(LeadingDevice, EventfulDevice):
    """Routers between which there are two ways, by FRR's OSPF, IS-IS or BGP, watched by BFD; IPv4 only.

    The upper way is in use. Each event takes it away, and the lower way remains.
    """

    family: ClassVar[str] = "diamond"
    title: ClassVar[str] = "FRR routers with two ways"
    parameters: ClassVar[str] = "routing=ospf, isis or bgp&bfd=300ms or off"
    l3: ClassVar[bool] = True
    most_ports: ClassVar[int] = 2
    places: ClassVar[tuple[str, ...]] = ("dut", "far", "router1", "router2")
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP, NFT, *PROGRAMS)
    events: ClassVar[tuple[str, ...]] = ("link-down", "neighbour-lost", "next-hop-killed", "route-withdrawn")

    routing: Routing = "ospf"
    bfd: str = "300ms"
    """Time between two packets of BFD, of which three may be missing."""

    @field_validator("bfd")
    @classmethod
    def _bfd(cls, text: str) -> str:
        if text != "off" and not 10_000_000 <= time_ns(text) <= 10**9:
            raise ValueError
        return text

    @property
    def offered(self) -> tuple[str, ...]:
        """Only BGP has an origin that can withdraw a route towards one neighbour."""
        return tuple(event for event in self.events if event != "route-withdrawn" or self.routing == "bgp")

    @property
    def bfd_ms(self) -> int | None:
        """The same in ms; None without BFD."""
        return None if self.bfd == "off" else round(time_ns(self.bfd) / 1e6)

    def addressed(self, port: int) -> tuple[str, ...]:
        """IPv4."""
        return ("ipv4",)

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """Three routers decrement the time to live."""
        found = routed(tx, rx, routers=3)
        only = {"ipv4"}
        return Passage(
            found.next_hop_macs,
            0,
            {kind: stack for kind, stack in found.sent.items() if kind in only},
            {kind: stack for kind, stack in found.arrives.items() if kind in only},
        )

    def build(self, site: Site) -> None:
        """Make the lines, then in each place its router."""
        dut, far, *middle = site.places
        for ends, place in (("dut", dut), ("far", far)):
            near = "near" if ends == "dut" else "far"
            lines = [
                f"link add name {name} mtu {site.ports[0].mtu_bytes} type veth peer name {near} "
                f"mtu {site.ports[0].mtu_bytes} netns {between.name}"
                for name, between in zip(("upper", "lower"), middle, strict=True)
            ]
            place.run(partial(iproute.ip, *lines))
        site.daemons.make_directory(passable=True)
        for speaker in self._speakers(site):
            speaker.place.run(partial(self._raise, site, speaker))

    def begin(self, site: Site) -> None:
        """Wait until the routers know each other."""
        dut, far, *_ = self._speakers(site)
        one, other = site.ports
        for speaker, port in ((dut, other), (far, one)):
            speaker.place.run(partial(await_routes, [network(port)], _PATIENCE_S, "upper"))
        if self.bfd_ms is not None:
            for speaker in self._speakers(site):
                speaker.place.run(partial(frr.await_bfd, _router(site, speaker), speaker))

    def lead_networks(self, port: LabPort, count: int) -> None:
        """One kernel route a network, which the router tells the others."""
        with IPRoute() as ip:
            index = ip.link_lookup(ifname=port.dut_interface)[0]
            for number in range(count):
                ip.route("replace", dst=str(ipv4_network(number, count)), gateway=port.ipv4, oif=index)

    def await_networks(self, port: LabPort, count: int) -> None:
        """Until the first router has a route to each by the upper way."""
        if port.dut_interface != "d2":
            return
        await_routes([str(ipv4_network(number, count)) for number in range(count)], _PATIENCE_S, "upper")

    def happen(self, event: str, site: Site) -> None:
        """The upper way is lost."""
        _, far, upper, _ = self._speakers(site)
        match event:
            case "link-down":
                upper.place.run(partial(iproute.ip, "link set dev near down"))
            case "neighbour-lost":
                upper.place.run(partial(cut, "near"))
            case "next-hop-killed":
                upper.place.run(partial(forward, "0"))
                frr.kill(_router(site, upper), self.routing, self.bfd_ms)
            case "route-withdrawn":
                self._tell_upper(site, far, "neighbor {} prefix-list none out")

    def mend(self, event: str, site: Site) -> None:
        """It is there again."""
        _, far, upper, _ = self._speakers(site)
        match event:
            case "link-down":
                upper.place.run(partial(iproute.ip, "link set dev near up"))
            case "neighbour-lost":
                upper.place.run(rejoin)
            case "next-hop-killed":
                upper.place.run(partial(forward, "1"))
                upper.place.run(
                    partial(frr.start, _router(site, upper), upper, self.routing, self.bfd_ms, site.core),
                )
            case "route-withdrawn":
                self._tell_upper(site, far, "no neighbor {} prefix-list none out")

    def _tell_upper(self, site: Site, far: Speaker, words: str) -> None:
        address = far.lines[0].far
        commands = "configure terminal", f"router bgp {65000 + far.number}", "address-family ipv4 unicast"
        router = _router(site, far)
        far.place.run(partial(router.ask, *commands, words.format(address)))
        far.place.run(partial(router.ask, f"clear bgp ipv4 unicast {address} soft out"))

    def _speakers(self, site: Site) -> tuple[Speaker, Speaker, Speaker, Speaker]:
        dut, far, upper, lower = site.places
        one, other = site.ports
        costs = {"upper": _CHEAP, "lower": _DEAR}
        numbers = {"upper": 3, "lower": 4}

        def ends(lines: dict[str, tuple[str, str]]) -> tuple[RouterInterface, ...]:
            return tuple(RouterInterface(name, *lines[name], numbers[name], costs[name]) for name in lines)

        def between(name: str) -> tuple[RouterInterface, ...]:
            return tuple(
                RouterInterface(line, lines[name][1], lines[name][0], number, costs[name])
                for line, lines, number in (("near", _LINES, 1), ("far", _FAR_LINES, 2))
            )

        return (
            Speaker(1, dut, ends(_LINES), one.dut_interface),
            Speaker(2, far, ends(_FAR_LINES), other.dut_interface),
            Speaker(3, upper, between("upper")),
            Speaker(4, lower, between("lower")),
        )

    def _raise(self, site: Site, speaker: Speaker) -> None:
        forward("1")
        for line in speaker.lines:
            whole_frames(line.name)
        iproute.ip(
            "link set dev lo up",
            *(f"addr add {line.own}/30 dev {line.name}" for line in speaker.lines),
            *(f"link set dev {line.name} up" for line in speaker.lines),
        )
        port = next((port for port in site.ports if port.dut_interface == speaker.port), None)
        if port is not None:
            with IPRoute() as ip:
                index = ip.link_lookup(ifname=port.dut_interface)[0]
                ip.addr("add", index=index, address=port.dut_ipv4, prefixlen=24)
                know_tester(ip, index, port, port.ipv4)
        frr.start(_router(site, speaker), speaker, self.routing, self.bfd_ms, site.core)


def _router(site: Site, speaker: Speaker) -> FrrRouter:
    return FrrRouter(site.daemons, f"router{speaker.number}")
