"""Opens the engine that a plan names, and closes it on every exit. Measures nothing.

Everything about ports and devices that can be refused before the first frame is refused here.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path

from pyroute2 import IPRoute

from keisoku.engine import Engine
from keisoku.engine.port import Port as HostPort
from keisoku.engine.port import PortAddress, check, resolve_mac
from keisoku.engine.simulated import SimulatedEngine, routes_between
from keisoku.engine.traffic import Route, Traffic, Way
from keisoku.engine.wired import Port, WiredEngine
from keisoku.errors import PlanError
from keisoku.frame.headers import DESTINATION_IPV4, DESTINATION_IPV6, SOURCE_IPV4, SOURCE_IPV6
from keisoku.lab import Lab, LabPort
from keisoku.lab.catalogue import find_device as find_lab_device
from keisoku.lab.namespace import within
from keisoku.plan.device import Device, find_device
from keisoku.plan.plan import Plan

_FAMILIES = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
_UNADDRESSED = {"ipv4": (SOURCE_IPV4, DESTINATION_IPV4), "ipv6": (SOURCE_IPV6, DESTINATION_IPV6)}


@contextmanager
def open_engine(plan: Plan) -> Iterator[Engine]:
    """The engine for `plan.dut`, or for the plan's ports.

    Raises PlanError for a DUT or port that does not exist or cannot be used, EngineError if opening fails.
    """
    kind, _, name = (plan.dut or "").partition(":")
    with ExitStack() as stack:
        if kind == "sim":
            engine: Engine = _simulated(plan, find_device(name))
        elif kind == "lab":
            engine = on_lab(plan, stack.enter_context(_lab(plan, name)))
        elif plan.dut is None:
            engine = _on_ports(plan)
        else:
            remedy = "use lab:bridge, lab:router, sim:NAME or sim:FILE.toml"
            raise PlanError("dut", f"'{plan.dut}' names no device", remedy)
        stack.callback(engine.close)
        plan.check(engine.capabilities)
        yield engine


def on_lab(plan: Plan, lab: Lab) -> WiredEngine:
    """The engine on a lab that is already there, on the plan's ports of it."""
    numbers = _port_numbers(plan)
    ends = [lab.ports[number - 1] for number in numbers]
    ports = [
        Port(plan.engine or "xdp", end.interface, end.namespace_path, end.mac, end.mtu_bytes, _peer(end))
        for end in ends
    ]

    def way(transmit: int, receive: int) -> Way:
        passage = lab.passage(numbers[transmit], numbers[receive])
        one, other = ends[transmit], ends[receive]
        ips = {"ipv4": (one.ipv4, other.ipv4), "ipv6": (one.ipv6, other.ipv6)}
        return Way(one.mac, passage.next_hop_mac, other.mac, ips, passage.sent)

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
    traffic = Traffic(routes, plan.contents(), plan.seed)
    return WiredEngine(ports, traffic, None, {"device": lab.device.title, "dut": plan.dut, "lab": lab.context()})


def _peer(port: LabPort) -> tuple[str, Path] | None:
    if port.dut_interface is None or port.dut_namespace_path is None:
        return None
    return port.dut_interface, port.dut_namespace_path


def _simulated(plan: Plan, device: Device) -> SimulatedEngine:
    traffic = Traffic(routes_between(plan.pairs()), plan.contents(), plan.seed)
    return SimulatedEngine(device, _port_numbers(plan), traffic)


def _lab(plan: Plan, name: str) -> Lab:
    return Lab(find_lab_device(name, "dut"), ports=max(2, *_port_numbers(plan)))


def _on_ports(plan: Plan) -> WiredEngine:
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
    ips = _port_ips(plan, addresses)
    ports = [
        Port(address.engine, port.name, address.namespace_path, port.mac, port.mtu)
        for address, port in zip(addresses, found, strict=True)
    ]

    def way(transmit: int, receive: int) -> Way:
        tx, rx = ports[transmit], ports[receive]
        next_hop = rx.mac
        if plan.gateway is not None and (transmit, receive) in plan.pairs():
            next_hop = resolve_mac(tx.interface, tx.namespace, _gateway(plan))
        return Way(tx.mac, next_hop, rx.mac, {version: (own[transmit], own[receive]) for version, own in ips.items()})

    routes = [Route(tx, rx, way(tx, rx), way(rx, tx)) for tx, rx in plan.pairs()]
    context: dict[str, object] = {
        "device": " to ".join(text for _, text in fields),
        "drivers": [port.driver for port in found],
        "offloads": [port.offloads for port in found],
        "gateway": plan.gateway,
    }
    return WiredEngine(ports, Traffic(routes, plan.contents(), plan.seed), _link_speed(found), context)


def _port_numbers(plan: Plan) -> list[int]:
    """The numbers of a device's ports that the tester is plugged into."""
    fields = plan.port_fields()
    numbers = [_number(field, text) for field, text in fields]
    for place, number in enumerate(numbers):
        if number in numbers[:place]:
            raise PlanError(fields[place][0], f"is port {number}, as another one is", "use another port")
    return numbers


def _port_ips(plan: Plan, addresses: list[PortAddress]) -> dict[str, list[str | None]]:
    """The ports' own addresses of the versions that the headers need; RFC 2544's on ports that have none."""
    found: dict[str, list[str | None]] = {}
    for version in {content.ip_version for content in plan.contents()}:
        if version is None:
            continue
        own = [_own_ip(address, _FAMILIES[version]) for address in addresses]
        if plan.gateway is not None and None in own:
            bare = addresses[own.index(None)]
            raise PlanError(
                "gateway",
                f"{bare} has no {version} address, so no router can deliver to it",
                f"give it one with `ip address add ADDRESS dev {bare.interface}`",
            )
        defaults = _UNADDRESSED[version]
        found[version] = [ip or defaults[min(place, 1)] for place, ip in enumerate(own)]
    return found


def _own_ip(address: PortAddress, family: int) -> str | None:
    def read() -> str | None:
        with IPRoute() as ip:
            index = ip.link_lookup(ifname=address.interface)[0]
            found = [entry.get("address") for entry in ip.get_addr(family=family, index=index)]
        usable = [str(text) for text in found if text and not ip_address(text).is_link_local]
        return usable[0] if usable else None

    path = address.namespace_path
    return read() if path is None else within(path, read)


def _gateway(plan: Plan) -> str:
    wanted = {"ipv4": 4, "ipv6": 6}.get(plan.ip_version or "")
    try:
        version = ip_address(str(plan.gateway)).version
    except ValueError:
        version = None
    if wanted is None or version != wanted:
        raise PlanError(
            "gateway", f"'{plan.gateway}' is no address for {plan.headers} headers", "give the DUT's address"
        )
    return str(plan.gateway)


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
