"""Common parts of testbeds on interfaces of this host, its own or those of a lab."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

from keisoku._core import Neighbours
from keisoku.ground.frame.host_range import HostRange
from keisoku.ground.frame.rates import maximum_frames_per_second
from keisoku.subjects.device.engine.device_events import DeviceEvents
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.engine.traffic import Route, Traffic
from keisoku.subjects.device.engine.wired import OpensWire, Rewrites, WiredEngine, opened_here
from keisoku.subjects.device.testbed.engine_choice import Alternatives, EngineChoice, by_features, by_self_test
from keisoku.subjects.device.testbed.host_port import has_carrier, resolve_mac
from keisoku.subjects.device.testbed.requirements import WantedTraffic
from keisoku.subjects.device.testbed.stamp_check import StampFallback, lenient, settled
from keisoku.subjects.device.testbed.testbed import Testbed

_RESOLVE_S = 3.0
_LOT_BYTES = 1 << 24
"""Of different frames that a sender can hold, once or several times (`WiredPort.lots`)."""


class WiredTestbed(Testbed):
    """A variant defines the routes from port to port, and what resets the device, if anything does."""

    captures = True
    has_hosts = True
    returns = True
    resets: Literal["by hand"] | Callable[[], None] | None = None
    events: DeviceEvents | None = None
    """What can be done to the device in a trial, besides commands."""
    rewrites: Rewrites | None = None
    """Tells the device which frames to rewrite."""
    opens: OpensWire = staticmethod(opened_here)
    """Opens the ports for many trials."""

    def __init__(self, ports: Sequence[Alternatives]) -> None:
        """Each port in the form of every engine that may be chosen for it, the likely one first."""
        self.alternatives = list(ports)
        self.ports = [next(iter(port.values())) for port in ports]
        self._choices: dict[int, EngineChoice] | None = None
        self._fallbacks: list[StampFallback] | None = None
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

    def interface(self, port: int) -> tuple[str, Path | None]:
        """Every port is one."""
        return self.ports[port].interface, self.ports[port].namespace

    def link_is_up(self, port: int) -> bool:
        """The state of the interface in the kernel."""
        return has_carrier(self.ports[port].interface, self.ports[port].namespace)

    def engine(self, wanted: WantedTraffic, capture: PortCapture | None = None) -> WiredEngine:
        """An engine without a warm-up where flows define all frames: then only what a script asks for is sent."""
        rates = [self.line_rate(port) for port in range(len(self.ports))]
        speed = None if None in rates else min(rate for rate in rates if rate is not None)
        traffic, warm_up = wanted.on(self.routes(wanted)), bool(wanted.contents)
        tried = sorted({max(size, traffic.least_frame_bytes) for size in wanted.frame_bytes or (0,)})
        loads = {size: speed and maximum_frames_per_second(speed, size) for size in (tried[0], tried[-1])}
        self._choose(traffic, speed, loads if warm_up else {})
        self._settle_stamps(traffic, speed, loads if warm_up else {})
        # A sender may serve all ports.
        lots = 1 + max(2 * wanted.connection_bytes, wanted.flow_bytes) // _LOT_BYTES
        views = wanted.changes or wanted.connection_bytes > 0
        self.ports = [replace(port, views=port.views or views, lots=lots) for port in self.ports]
        own = capture, self.resets, warm_up, self.events, self.rewrites
        return WiredEngine(
            self.ports,
            traffic,
            speed,
            self._context(),
            *own,
            opens=self.opens,
            why_lost=wanted.why_lost,
            why_late=wanted.why_late,
        )

    @property
    def remarks(self) -> Sequence[str]:
        """Which engines were chosen, and where the kernel's timestamps replace the hardware's, and why."""
        return [said.sentence for said in (*(self._choices or {}).values(), *(self._fallbacks or ()))]

    def _choose(self, traffic: Traffic, speed: float | None, loads: Mapping[int, float | None]) -> None:
        """Chooses the engines of ports that have none, once; by sending frames of these sizes, or by features alone."""
        if self._choices is not None:
            return
        self._choices = by_features(self.alternatives)
        if self._choices and loads:
            found = by_self_test(
                self.alternatives,
                loads,
                lambda ports: WiredEngine([lenient(port) for port in ports], traffic, speed, self.context()),
            )
            self._choices = {number: found[number] for number in self._choices}
        for number, choice in self._choices.items():
            self.ports[number] = self.alternatives[number][choice.engine]

    def _settle_stamps(self, traffic: Traffic, speed: float | None, loads: Mapping[int, float | None]) -> None:
        """Replaces timestamps that hardware does not take, once; each trial does where nothing may be sent for that."""
        if self._fallbacks is not None:
            return
        self._fallbacks = []
        if not loads:
            self.ports = [lenient(port) for port in self.ports]
            return
        self.ports, self._fallbacks = settled(
            self.ports,
            *next(iter(loads.items())),
            lambda ports: WiredEngine(ports, traffic, speed, self.context(), warm_up=False),
        )

    def _context(self) -> dict[str, object]:
        chosen = [asdict(choice) for choice in (self._choices or {}).values()]
        replaced = [fallback.sentence for fallback in self._fallbacks or ()]
        found: dict[str, object] = {"engines_chosen": chosen, "stamps_replaced": replaced}
        return self.context() | {name: value for name, value in found.items() if value}

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
        return neighbours.resolve(gateway, host.mac, str(host.first), _RESOLVE_S, host.vlan)

    def close(self) -> None:
        """Ends all answers of hosts."""
        self.answer({})
