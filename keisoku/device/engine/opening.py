"""Opens the engine that a plan names, and closes it on every exit. Measures nothing.

Everything about ports and devices that can be refused before the first frame is refused here.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from keisoku.device.engine.engine import Engine
from keisoku.device.engine.fpga.port import is_fpga
from keisoku.device.engine.hosts import Hosts
from keisoku.device.engine.port import HEADER_AND_FCS_BYTES, PortAddress, check
from keisoku.device.engine.port import Port as HostPort
from keisoku.device.engine.port_capture import PortCapture, Tell
from keisoku.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.device.engine.stamps import StampOffer, Wanted, choose
from keisoku.device.engine.traffic import Route, Traffic, Way
from keisoku.device.engine.wired import Port, WiredEngine
from keisoku.device.plan.plan import Plan
from keisoku.errors import PlanError
from keisoku.frame.headers import DESTINATION_IPV4, DESTINATION_IPV6, SOURCE_IPV4, SOURCE_IPV6
from keisoku.lab.device.catalogue import find_device as find_lab_device
from keisoku.lab.device.lab import Lab
from keisoku.lab.device.port import LabPort
from keisoku.simulated_device.device import SimulatedDevice, find_device

_FAMILIES = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
_UNADDRESSED = {"ipv4": (SOURCE_IPV4, DESTINATION_IPV4), "ipv6": (SOURCE_IPV6, DESTINATION_IPV6)}


@contextmanager
def open_engine(plan: Plan, tell: Tell = lambda line: None) -> Iterator[Engine]:
    """The engine for `plan.dut`, or for the plan's ports; `tell` is given what the user must know at its end.

    Raises PlanError for a DUT or port that does not exist or cannot be used, EngineError if opening fails.
    """
    kind, _, name = (plan.dut or "").partition(":")
    with ExitStack() as stack:
        if any(is_fpga(port) for _, port in plan.port_fields()):
            from keisoku.device.engine.fpga.opening import on_fpga  # the model takes a while to load

            engine: Engine = on_fpga(plan)
        elif kind == "sim":
            engine = _simulated(plan, find_device(name))
        elif kind == "lab":
            engine = on_lab(plan, stack.enter_context(_lab(plan, name)), _capture(plan, tell, stack))
        elif plan.dut is None:
            engine = _on_ports(plan, stack, _capture(plan, tell, stack))
        else:
            remedy = "use lab:bridge, lab:router, sim:NAME or sim:FILE.toml"
            raise PlanError("dut", f"'{plan.dut}' names no device", remedy)
        stack.callback(engine.close)
        plan.check(engine.capabilities)
        yield engine


@contextmanager
def open_ports(
    dut: str | None,
    tx: str | None,
    rx: str | None,
    engine: Literal["xdp", "packet"] | None,
    frame_bytes: list[int],
    force: bool = False,
) -> Iterator[tuple[Port, Port | None]]:
    """A port to send by, and one to receive by if there is to be one; of a lab its first two if none are named.

    Raises PlanError for ports that do not exist or cannot send frames of these sizes (bytes with FCS).
    """
    if dut is None:
        if engine is not None:
            raise PlanError("engine", "ports name their own engine", "leave it out: write --tx xdp:eth1")
        if tx is None:
            raise PlanError("tx", "no port to send by is given", "give --tx xdp:eth1, or --dut lab:bridge")
        if rx == tx:
            raise PlanError("rx", "is the sending port", "use another one, or leave it out")
        named = [("tx", tx)] if rx is None else [("tx", tx), ("rx", rx)]
        addresses = [(field, PortAddress.parse(text, field)) for field, text in named]
        found = [(address, check(address, frame_bytes, force, field)) for field, address in addresses]
        ports = [
            host_port(address, port, receives=field == named[-1][0])
            for (field, _), (address, port) in zip(named, found, strict=True)
        ]
        yield ports[0], ports[1] if rx is not None else None
        return
    kind, _, name = dut.partition(":")
    if kind != "lab":
        raise PlanError("dut", f"'{dut}' is no lab", "use lab:bridge, or ports of this host with --tx")
    numbers = [_number("tx", tx or "1"), _number("rx", rx or "2")]
    if numbers[0] == numbers[1]:
        raise PlanError("rx", f"is port {numbers[1]}, as the sending one is", "use another port")
    with Lab(find_lab_device(name, "dut"), ports=max(2, *numbers)) as lab:
        one, other = (lab_port(lab.ports[number - 1], engine or "xdp") for number in numbers)
        largest = one.mtu_bytes + HEADER_AND_FCS_BYTES
        if max(frame_bytes) > largest:
            problem = f"a frame has {max(frame_bytes)} bytes, and the lab's MTU of {one.mtu_bytes} allows {largest}"
            raise PlanError("frame size", problem, "replay on ports of this host with a larger MTU")
        yield one, other


def _capture(plan: Plan, tell: Tell, stack: ExitStack) -> PortCapture | None:
    """The capture that the plan wants; an engine that cannot be opened leaves no file."""
    if plan.capture is None:
        return None
    capture = PortCapture(plan.capture, plan.snap_bytes, tell)
    stack.callback(capture.close)  # the engine closes it before its ports; this is for want of an engine
    return capture


def on_lab(plan: Plan, lab: Lab, capture: PortCapture | None = None) -> WiredEngine:
    """The engine on a lab that is already there, on the plan's ports of it."""
    numbers = _port_numbers(plan)
    _check_filters(plan, lab)
    if plan.networks > 1 and lab.l3:
        lab.lead_networks(numbers[plan.pairs()[0][1]], plan.networks)
    ends = [lab.ports[number - 1] for number in numbers]
    ports = [lab_port(end, plan.engine or "xdp", plan.stamps) for end in ends]

    def way(transmit: int, receive: int) -> Way:
        passage = lab.passage(numbers[transmit], numbers[receive])
        one, other = ends[transmit], ends[receive]
        ips = {"ipv4": (one.ipv4, other.ipv4), "ipv6": (one.ipv6, other.ipv6)}
        return Way(one.mac, passage.next_hop_mac, other.mac, ips, passage.sent, one.dut_ipv4 if lab.l3 else None)

    routes = [
        Route(
            transmit,
            receive,
            way(transmit, receive),
            way(receive, transmit),
            lab.passage(numbers[transmit], numbers[receive]).growth_bytes,
        )
        for transmit, receive in plan.pairs()
    ]
    traffic = Traffic(routes, plan.contents(), plan.seed, plan.modifiers)
    context: dict[str, object] = {"device": lab.device.title, "dut": plan.dut, "lab": lab.context()}
    return WiredEngine(ports, traffic, None, context, capture, lab.reset if lab.device.resets else None)


def lab_port(end: LabPort, engine: Literal["xdp", "packet"], stamps: Wanted = "best") -> Port:
    """A lab's port as an engine opens it. A veth has no hardware: raises PlanError where its stamps are wanted."""
    choice = choose(StampOffer(), engine, stamps)
    return Port(engine, end.interface, end.namespace_path, end.mac, end.mtu_bytes, _peer(end), choice)


def host_port(address: PortAddress, found: HostPort, receives: bool, stamps: Wanted = "best") -> Port:
    """A port of this host, as `check` found it, as an engine opens it; `stamps` are those of what it receives.

    Raises PlanError for stamps that it cannot take.
    """
    choice = choose(found.stamps, address.engine, stamps if receives else "best")
    phc = found.stamps.phc_index if receives and choice.receive == "hardware" else None
    path = address.namespace_path
    return Port(address.engine, found.name, path, found.mac, found.mtu, stamps=choice, phc=phc)


def _peer(port: LabPort) -> tuple[str, Path] | None:
    if port.dut_interface is None or port.dut_namespace_path is None:
        return None
    return port.dut_interface, port.dut_namespace_path


def _check_filters(plan: Plan, lab: Lab) -> None:
    """Raises PlanError where the plan tells of filters that the lab's device does not have."""
    rules = getattr(lab.device, "rules", 0)
    if plan.filters is not None and plan.filters != rules:
        remedy = f"use lab:firewall?rules={plan.filters}" if plan.filters else "leave it out"
        raise PlanError("filters", f"{lab.device.name} has {rules}, not {plan.filters}", remedy)


def _simulated(plan: Plan, device: SimulatedDevice) -> SimulatedEngine:
    traffic = Traffic(routes_between(plan.pairs()), plan.contents(), plan.seed, plan.modifiers)
    if plan.calibrate.length_m is not None:
        device = device.with_cable(plan.calibrate.length_m)
    return SimulatedEngine(device, _port_numbers(plan), traffic)


def _lab(plan: Plan, name: str) -> Lab:
    return Lab(find_lab_device(name, "dut"), ports=max(2, *_port_numbers(plan)))


def _on_ports(plan: Plan, stack: ExitStack, capture: PortCapture | None) -> WiredEngine:
    fields = plan.port_fields()
    addresses = [PortAddress.parse(text, field) for field, text in fields]
    places = [(address.namespace_path, address.interface) for address in addresses]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise PlanError(fields[number][0], f"is {place[1]}, as another port is", "use another port")
    found = [
        check(address, plan.all_frame_bytes, plan.force, field)
        for (field, _), address in zip(fields, addresses, strict=True)
    ]
    receiving = {receive for _, receive in plan.pairs()}
    ports = [
        host_port(address, port, number in receiving, plan.stamps)
        for number, (address, port) in enumerate(zip(addresses, found, strict=True))
    ]

    hosts = stack.enter_context(Hosts(ports, plan.address, plan.gateway))
    versions = {
        str(content.ip_version): int(content.ip_version[-1]) for content in plan.contents() if content.ip_version
    }

    def way(transmit: int, receive: int, back: bool = False) -> Way:
        known = {
            name: (hosts.source(transmit, version), hosts.source(receive, version))
            for name, version in versions.items()
        }
        next_hop_mac = ports[receive].mac if back else hosts.next_hop(transmit, receive)
        device_ip = plan.gateway[transmit] if transmit < len(plan.gateway) else None
        return Way(ports[transmit].mac, next_hop_mac, ports[receive].mac, known, device_ip=device_ip)

    routes = [Route(tx, rx, way(tx, rx), way(rx, tx, back=True)) for tx, rx in plan.pairs()]
    context: dict[str, object] = {
        "device": " to ".join(text for _, text in fields),
        "drivers": [port.driver for port in found],
        "offloads": [port.offloads for port in found],
        "stamps_offered": [port.stamps.text() for port in found],
        "address": plan.address,
        "gateway": plan.gateway,
    }
    traffic = Traffic(routes, plan.contents(), plan.seed, plan.modifiers)
    return WiredEngine(ports, traffic, _link_speed(found), context, capture, "by hand")


def _port_numbers(plan: Plan) -> list[int]:
    """The numbers of a device's ports that the tester is plugged into."""
    fields = plan.port_fields()
    numbers = [_number(field, text) for field, text in fields]
    for place, number in enumerate(numbers):
        if number in numbers[:place]:
            raise PlanError(fields[place][0], f"is port {number}, as another one is", "use another port")
    return numbers


def _link_speed(ports: list[HostPort]) -> float | None:
    # A veth says 10 Gb/s, but that is no rate of anything.
    speeds = [port.speed_mbps * 1e6 for port in ports if port.speed_mbps and port.driver != "veth"]
    return min(speeds) if len(speeds) == len(ports) else None


def _number(field: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise PlanError(
            field, f"'{text}' is not a port number", "with --dut give the number of the device's port, from 1"
        )
    return int(text)
