"""The ports of a configuration, opened: a simulated device, a lab, or ports of this host. Decides nothing.

What it opens it closes again: labs, sockets, programs.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack

from pyroute2 import IPRoute

from keisoku._core import Neighbours
from keisoku.device.engine.engine import Engine
from keisoku.device.engine.fpga.port import FpgaAddress
from keisoku.device.engine.opening import host_port, lab_port
from keisoku.device.engine.port import HEADER_AND_FCS_BYTES, PortAddress, check, resolve_mac
from keisoku.device.engine.port import Port as HostPort
from keisoku.device.engine.port_capture import PortCapture
from keisoku.device.engine.simulated import MAX_FRAME_BYTES, SimulatedEngine, routes_between
from keisoku.device.engine.traffic import Route, Traffic, Way
from keisoku.device.engine.wired import Port, WiredEngine
from keisoku.device.plan.content import Content
from keisoku.errors import EngineError, PlanError
from keisoku.host.namespace import within
from keisoku.lab.device.catalogue import find_device as find_lab_device
from keisoku.lab.device.lab import Lab
from keisoku.otg import configuration
from keisoku.otg.device import Address, Interface
from keisoku.otg.load import DRAIN_NS
from keisoku.otg.location import DevicePort, parse, together
from keisoku.simulated_device.device import find_device

Pairs = Sequence[tuple[int, int]]
_ANY = Content(headers="ethernet")
"""Flows name all of their frames themselves; this is never sent."""
_RESOLVE_S = 3.0
_LINK_S = 3.0
_LINK_LOOK_S = 0.02


class Bench(ABC):
    """Ports by index, in the order of a configuration."""

    @abstractmethod
    def line_rate(self, port: int) -> float | None:
        """In bit/s; None where the line has no rate of its own."""

    @abstractmethod
    def mtu_bytes(self, port: int) -> int:
        """Of its link layer's payload."""

    @abstractmethod
    def link_is_up(self, port: int) -> bool:
        """Whether a port has a carrier now."""

    @abstractmethod
    def set_link(self, port: int, up: bool) -> None:
        """Takes a port's link down, or up again. PlanError if it has none, EngineError if it does not come up."""

    @property
    @abstractmethod
    def captures(self) -> bool:
        """Whether there is a wire to capture."""

    @property
    def drain_ns(self) -> int:
        """How long frames may be under way after the last was sent, before a flow counts as stopped."""
        return DRAIN_NS

    @property
    def watches(self) -> bool:
        """Whether single flows are looked at while they run."""
        return True

    @property
    def hosts(self) -> bool:
        """Whether the tester can have hosts there, with addresses of their own."""
        return True

    @abstractmethod
    def engine(self, pairs: Pairs, capture: PortCapture | None = None) -> Engine:
        """An engine for flows between these ports. The caller closes it before it asks for another."""

    @abstractmethod
    def answer(self, hosts: Sequence[Interface]) -> None:
        """Answers ARP and neighbour discovery for these hosts from now on, and for no others."""

    @abstractmethod
    def resolve(self, host: Interface, address: Address) -> str | None:
        """MAC address of an address's gateway; None where nobody need be asked. EngineError if it does not answer."""

    @abstractmethod
    def close(self) -> None:
        """Leaves the host as it was found; may be called twice."""


class SimulatedBench(Bench):
    """Ports of a simulated device, in virtual time."""

    def __init__(self, name: str, numbers: Sequence[int]) -> None:
        self._device = find_device(name)
        self._numbers = list(numbers)
        SimulatedEngine(self._device, self._numbers).close()  # refuses ports that it does not have

    def line_rate(self, port: int) -> float | None:
        """Its own."""
        return self._device.link_bits_per_second

    def mtu_bytes(self, port: int) -> int:
        """A simulated tester sends larger frames than most devices take."""
        return MAX_FRAME_BYTES - HEADER_AND_FCS_BYTES

    def link_is_up(self, port: int) -> bool:
        """Always."""
        return True

    def set_link(self, port: int, up: bool) -> None:
        """Only up, where it is."""
        if not up:
            raise PlanError("port.link.state", "a simulated device's links are always up", "use a lab or real ports")

    @property
    def captures(self) -> bool:
        """There is none."""
        return False

    def engine(self, pairs: Pairs, capture: PortCapture | None = None) -> Engine:
        """Time passes as fast as it is computed."""
        return SimulatedEngine(self._device, self._numbers, Traffic(routes_between(pairs), [_ANY]))

    def answer(self, hosts: Sequence[Interface]) -> None:
        """Nobody asks: the device knows every address."""

    def resolve(self, host: Interface, address: Address) -> str | None:
        """None: it forwards by the ports of a flow."""
        return address.gateway_mac

    def close(self) -> None:
        """Nothing was opened."""


class WiredBench(Bench):
    """Ports of this host's namespaces, of which some may be a lab's."""

    def __init__(
        self, ports: Sequence[Port], rates: Sequence[float | None], context: dict[str, object], lab: _LabPorts | None
    ) -> None:
        self._ports, self._rates, self._context, self._lab = list(ports), list(rates), context, lab
        self._neighbours: dict[int, Neighbours] = {}

    def line_rate(self, port: int) -> float | None:
        """As the driver says it; a veth has none."""
        return self._rates[port]

    def mtu_bytes(self, port: int) -> int:
        """As it was when the port was found."""
        return self._ports[port].mtu_bytes

    def link_is_up(self, port: int) -> bool:
        """As the kernel sees it."""
        own = self._ports[port]

        def read() -> bool:
            with IPRoute() as ip:
                indices = ip.link_lookup(ifname=own.interface)
                return bool(indices) and bool(ip.get_links(indices[0])[0].get("carrier"))

        return within(own.namespace, read)

    def set_link(self, port: int, up: bool) -> None:
        """By the state of its interface. Only a lab's: this host's would lose addresses and routes for good."""
        if self._lab is None:
            problem = "keisoku does not change the interfaces of this host"
            raise PlanError("port.link.state", problem, "use a lab, or have the device's own port go down")
        own = self._ports[port]

        def change() -> None:
            with IPRoute() as ip:
                indices = ip.link_lookup(ifname=own.interface)
                if not indices:
                    raise EngineError(f"{own.interface} is gone")
                ip.link("set", index=indices[0], state="up" if up else "down")

        within(own.namespace, change)
        deadline = time.monotonic() + _LINK_S
        while up and not self.link_is_up(port):
            if time.monotonic() > deadline:
                raise EngineError(f"{own.interface} has no carrier {_LINK_S:g} s after it was put up")
            time.sleep(_LINK_LOOK_S)

    @property
    def captures(self) -> bool:
        """Of all ports, as the programs there see it."""
        return True

    def engine(self, pairs: Pairs, capture: PortCapture | None = None) -> Engine:
        """Without a warm-up: on a script's ports nothing is sent but what it asks for."""
        routes = [Route(one, other, self._way(one, other), self._way(other, one)) for one, other in pairs]
        known = [rate for rate in self._rates if rate is not None]
        speed = min(known) if len(known) == len(self._rates) else None
        return WiredEngine(self._ports, Traffic(routes, [_ANY]), speed, self._context, capture, warm_up=False)

    def answer(self, hosts: Sequence[Interface]) -> None:
        """By a socket of its own at each port that has a host."""
        self._silence()
        for number, port in enumerate(self._ports):
            own = [
                {"mac": host.mac, "first": address.ip, "last": address.ip}
                for host in hosts
                if host.port == number
                for address in host.addresses
            ]
            if own:
                self._neighbours[number] = Neighbours(json.dumps(port.place()), json.dumps(own))

    def resolve(self, host: Interface, address: Address) -> str | None:
        """By ARP or neighbour discovery, from the host's own address."""
        if address.gateway_mac is not None:
            return address.gateway_mac
        neighbours = self._neighbours.get(host.port)
        if neighbours is None:
            port = self._ports[host.port]
            return resolve_mac(port.interface, port.namespace, address.gateway)
        return neighbours.resolve(address.gateway, host.mac, address.ip, _RESOLVE_S)

    def close(self) -> None:
        """The lab goes last."""
        self._silence()
        if self._lab is not None:
            self._lab.lab.close()
            self._lab = None

    def _silence(self) -> None:
        for neighbours in self._neighbours.values():
            neighbours.close()
        self._neighbours.clear()

    def _way(self, transmit: int, receive: int) -> Way:
        one, other = self._ports[transmit].mac, self._ports[receive].mac
        hop = other if self._lab is None else self._lab.next_hop(transmit, receive)
        return Way(one, hop, other)


class _LabPorts:
    """Which ports of a lab the tester uses."""

    def __init__(self, lab: Lab, numbers: Sequence[int]) -> None:
        self.lab, self._numbers = lab, list(numbers)

    def next_hop(self, transmit: int, receive: int) -> str:
        return self.lab.passage(self._numbers[transmit], self._numbers[receive]).next_hop_mac


def open_bench(ports: Sequence[configuration.Port]) -> Bench:
    """The ports of a configuration. Raises PlanError, with the path, for those that cannot be had; EngineError if
    making a lab fails."""
    places = [(f"{port.path}.location", parse(port.location, f"{port.path}.location")) for port in ports]
    together(places)
    of_device = [place for _, place in places if isinstance(place, DevicePort)]
    if of_device:
        path, numbers = places[0][0], [place.number for place in of_device]
        try:
            if of_device[0].kind == "sim":
                return SimulatedBench(of_device[0].device, numbers)
            return _lab(of_device[0].device, numbers)
        except PlanError as error:
            raise PlanError(path, error.problem, error.remedy) from error
    of_instrument = [place for _, place in places if isinstance(place, FpgaAddress)]
    if of_instrument:
        from keisoku.otg.fpga_bench import FpgaBench  # the model takes a while to load

        return FpgaBench(of_instrument)
    return _host([(path, place) for path, place in places if isinstance(place, PortAddress)])


def _lab(name: str, numbers: Sequence[int]) -> Bench:
    with ExitStack() as stack:
        lab = stack.enter_context(Lab(find_lab_device(name, "location"), ports=max(2, *numbers)))
        ports = [lab_port(lab.ports[number - 1], "xdp") for number in numbers]
        context: dict[str, object] = {"device": lab.device.title, "lab": lab.context()}
        bench = WiredBench(ports, [None] * len(ports), context, _LabPorts(lab, numbers))
        stack.pop_all()
        return bench


def _host(places: Sequence[tuple[str, PortAddress]]) -> Bench:
    found = [check(place, [], field=path) for path, place in places]
    ports = [host_port(place, port, receives=True) for (_, place), port in zip(places, found, strict=True)]
    context: dict[str, object] = {
        "device": " to ".join(str(place) for _, place in places),
        "drivers": [port.driver for port in found],
    }
    return WiredBench(ports, [_rate(port) for port in found], context, None)


def _rate(port: HostPort) -> float | None:
    # A veth says 10 Gb/s, but that is no rate of anything.
    return port.speed_mbps * 1e6 if port.speed_mbps and port.driver != "veth" else None
