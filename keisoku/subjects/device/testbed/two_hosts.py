"""A port of this host that sends, and one of another host that receives, where `keisoku port serve` lends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, cast

from keisoku._core import Wire
from keisoku.errors import PlanError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control
from keisoku.language import phrase, recorded
from keisoku.subjects.clock.host_relation import plain
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.engine.port_counters import Counters
from keisoku.subjects.device.engine.traffic import Route, Traffic
from keisoku.subjects.device.engine.two_host_wire import GREETING, RECEIVES, SENDS, Clock, ReceivingHost, TwoHostWire
from keisoku.subjects.device.engine.wired import WiredEngine
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.record.interference import PortCounters
from keisoku.subjects.device.testbed.host_port import PortAddress, interface_ip
from keisoku.subjects.device.testbed.host_ports import HostPortsTestbed
from keisoku.subjects.device.testbed.requirements import WantedTestbed, WantedTraffic
from keisoku.subjects.device.testbed.tester_hosts import TesterHosts
from keisoku.subjects.device.testbed.wired import WiredTestbed

PORT = 8625
"""TCP port of `keisoku port serve`."""
_CONNECT_S, _GREETING_S = 10.0, 5.0


@dataclass(frozen=True)
class LentPort(WiredPort):
    """A port of the host that receives. It is opened there."""

    host: ReceivingHost | None = field(default=None, compare=False, repr=False)
    stamp: str = ""

    @property
    def receive_stamp(self) -> str:
        """Of that host: a calibration of one host is none of two."""
        assert self.host is not None
        return phrase("{stamp} at {host}", stamp=recorded(self.stamp), host=self.host.name)

    def open_counters(self) -> Counters:
        """The kernel's counters there."""
        assert self.host is not None
        return _CountersThere(self.host)

    def check_speed(self) -> None:
        """Of the link there."""
        assert self.host is not None
        self.host.ask("speed")


class _CountersThere:
    """The other host has them open."""

    def __init__(self, host: ReceivingHost) -> None:
        self._host = host

    def read(self, taken_frames: int | None = None) -> PortCounters:
        """Raises EngineError if the port there is gone."""
        return PortCounters.model_validate(self._host.ask("counters", taken=taken_frames)[0]["counters"])

    def close(self) -> None:
        """The other host closes them with its port."""


class TwoHostsTestbed(WiredTestbed):
    """Raises PlanError for a port here that cannot be used; EngineError if the host there cannot be reached, or serves
    somebody else."""

    captures = False
    has_hosts = False
    returns = False
    resets = "by hand"

    def __init__(self, wanted: WantedTestbed) -> None:
        assert wanted.receiver is not None
        if wanted.addresses:
            problem = "over two hosts the ports have the addresses of their interfaces"
            raise PlanError("address", problem, "leave it out, and use `ip address add` at each host")
        self._wanted = wanted
        with ExitStack() as stack:
            own = replace(wanted, ports=wanted.ports[:1], receiver=None, addresses=(), gateways=())
            self._near = HostPortsTestbed(own)
            stack.callback(self._near.close)
            self._host = _reached(wanted.receiver)
            stack.callback(self._host.close)
            facts, _ = self._host.ask("hello")
            super().__init__([self._near.alternatives[0], {facts["engine"]: _lent(facts, self._host, wanted)}])
            self._clock = None if wanted.clock is None else Clock(wanted.clock, self._host)
            self._ips: Mapping[str, str | None] = facts["ips"]
            self._hosts = _Hosts(self, wanted.gateways)
            self._stack = stack.pop_all()

    def line_rate(self, port: int) -> float | None:
        """Of the link here or there, in bit/s."""
        speed = self.ports[RECEIVES].speed_mbps
        return self._near.line_rate(SENDS) if port == SENDS else (speed * 1e6 if speed else None)

    def interface(self, port: int) -> Any:
        """That of the port here alone."""
        return super().interface(port) if port == SENDS else None

    def link_is_up(self, port: int) -> bool:
        """The state in the kernel here or there."""
        return super().link_is_up(port) if port == SENDS else bool(self._host.ask("carrier")[0]["carrier"])

    def routes(self, wanted: WantedTraffic) -> list[Route]:
        """From the port here to the other, through the gateway here if there is one."""
        return self._hosts.routes(wanted)

    def engine(self, wanted: WantedTraffic, capture: PortCapture | None = None) -> WiredEngine:
        """Its frames arrive at the other host."""
        self.opens = lambda places, *_: cast(Wire, TwoHostWire(places, self._host, self._clock))
        return super().engine(wanted, capture)

    def _choose(self, traffic: Traffic, speed: float | None, loads: Mapping[int, float | None]) -> None:
        """By the driver's features: a self-test would be one of this host alone."""
        super()._choose(traffic, speed, {})

    def _settle_stamps(self, traffic: Traffic, speed: float | None, loads: Mapping[int, float | None]) -> None:
        """Each trial does."""
        super()._settle_stamps(traffic, speed, {})

    def own_ip(self, port: int, version: int) -> str | None:
        """The kernel's address of a port, here or there."""
        own = self.ports[port]
        return interface_ip(own.interface, own.namespace, version) if port == SENDS else self._ips[str(version)]

    def context(self) -> dict[str, object]:
        """The ports, and the host of the other."""
        return {
            "device": f"{self._wanted.ports[SENDS].name} to {self._wanted.ports[RECEIVES].name} at {self._host.name}",
            "receiver": self._wanted.receiver,
            "hosts_related": None if self._clock is None else plain(self._clock.relation),
            "gateway": self._wanted.gateways,
        }

    def close(self) -> None:
        """Lets others use both ports."""
        super().close()
        self._stack.close()


class _Hosts(TesterHosts):
    """Hosts with the kernels' addresses."""

    def __init__(self, testbed: TwoHostsTestbed, gateways: Sequence[str]) -> None:
        super().__init__([port.mac for port in testbed.ports], (), gateways)
        # The other host's gateway, which nothing is sent to, cannot be asked from here.
        del self.gateways[RECEIVES:]
        self._testbed = testbed

    def gateway_mac(self, port: int) -> str:
        return self._testbed.resolve(port, None, str(self.gateways[port]))

    def own_ip(self, port: int, version: int) -> str | None:
        found = self._testbed.own_ip(port, version)
        if found is None and self.gateways:
            problem = f"{self._testbed.ports[port].interface} has no IPv{version} address, so no router delivers to it"
            raise PlanError("gateway", problem, "give it one with `ip address add`")
        return found


def _reached(receiver: str) -> ReceivingHost:
    host, port = receiver, str(PORT)
    if receiver.count(":") == 1:  # an IPv6 address has more
        host, _, port = receiver.partition(":")
    if not port.isdecimal():
        raise PlanError("receiver", f"{port!r} is no TCP port", "write HOST or HOST:PORT")
    connection = Place.parse(host).connect(int(port), _CONNECT_S, "keisoku port serve")
    control = Control(connection, host, GREETING)
    try:
        control.greet(_GREETING_S)
    except Exception:
        control.close()
        raise
    return ReceivingHost(control)


def _lent(facts: Mapping[str, Any], host: ReceivingHost, wanted: WantedTestbed) -> LentPort:
    """Raises PlanError if it is not the port that the plan names, or its MTU is too small."""
    asked = wanted.ports[RECEIVES]
    address = PortAddress.parse(asked.name, asked.field)
    if address.interface != facts["interface"] or address.engine not in (None, facts["engine"]):
        problem = f"{host.name} lends {facts['engine']}:{facts['interface']}, not {address}"
        raise PlanError(asked.field, problem, f"name that one, or start 'keisoku port serve {address}' there")
    return LentPort(
        facts["engine"],
        facts["interface"],
        None,
        facts["mac"],
        int(facts["mtu_bytes"]),
        speed_mbps=facts["speed_mbps"],
        removes_tags=bool(facts["removes_tags"]),
        host=host,
        stamp=facts["stamp"],
    )
