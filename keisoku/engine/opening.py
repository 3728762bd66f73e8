"""Opens the engine that a plan names, and closes it on every exit. Measures nothing.

Everything about ports and devices that can be refused before the first frame is refused here.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address

from pyroute2 import IPRoute

from keisoku.engine import Engine
from keisoku.engine.port import Port as HostPort
from keisoku.engine.port import PortAddress, check, resolve_mac
from keisoku.engine.simulated import SimulatedEngine
from keisoku.engine.wired import Port, Route, WiredEngine
from keisoku.errors import PlanError
from keisoku.frame.template import (
    DESTINATION_IPV4,
    DESTINATION_IPV6,
    SOURCE_IPV4,
    SOURCE_IPV6,
    least_frame_bytes,
)
from keisoku.lab import Lab, LabPort
from keisoku.lab.namespace import within
from keisoku.plan.device import find_device
from keisoku.plan.plan import Plan

_FAMILIES = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
_UNADDRESSED = {"ipv4": (SOURCE_IPV4, DESTINATION_IPV4), "ipv6": (SOURCE_IPV6, DESTINATION_IPV6)}
_LAB_TITLES = {
    "cable": "bare cable",
    "bridge": "Linux bridge",
    "router": "Linux router",
    "faulty": "faulty device",
}


@contextmanager
def open_engine(plan: Plan) -> Iterator[Engine]:
    """The engine for `plan.dut`, or for `plan.tx` and `plan.rx`.

    Raises PlanError for a DUT or port that does not exist or cannot be used, EngineError if opening fails.
    """
    least = least_frame_bytes(plan.headers)
    if min(plan.frame_bytes) < least:
        problem = f"{min(plan.frame_bytes)} byte cannot hold {plan.headers} headers and the signature"
        raise PlanError("frame size", problem, f"use at least {least} byte")
    kind, _, name = (plan.dut or "").partition(":")
    with ExitStack() as stack:
        if kind == "sim":
            engine: Engine = SimulatedEngine(find_device(name), _number("tx", plan.tx, 1), _number("rx", plan.rx, 2))
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
    """The engine on a lab that is already there: from the plan's tx to its rx port."""
    numbers = _number("tx", plan.tx, 1), _number("rx", plan.rx, 2)
    if numbers[0] == numbers[1]:
        raise PlanError("rx", f"is port {numbers[0]}, as tx is", "use another port")
    if lab.l3 and plan.headers == "ethernet":
        raise PlanError("headers", "a router does not forward plain Ethernet frames", "use ipv4 or ipv6")
    context = lab.context()
    ends = [lab.ports[number - 1] for number in numbers]
    tx, rx = (_lab_port(plan, end, int(str(context["mtu_bytes"]))) for end in ends)
    route = Route(
        tx=tx,
        rx=rx,
        kind=plan.headers,
        next_hop_mac=str(ends[0].dut_mac) if lab.l3 else rx.mac,
        return_hop_mac=str(ends[1].dut_mac) if lab.l3 else tx.mac,
        link_bits_per_second=None,
    )
    title = _LAB_TITLES[lab.kind]
    return WiredEngine(route, {"device": title, "dut": plan.dut, "lab": context})


def _lab(plan: Plan, name: str) -> Lab:
    if name not in _LAB_TITLES:
        raise PlanError("dut", f"there is no lab device '{name}'", f"use one of {', '.join(_LAB_TITLES)}")
    ports = max(_number("tx", plan.tx, 1), _number("rx", plan.rx, 2))
    return Lab(name, ports=max(2, ports))


def _lab_port(plan: Plan, port: LabPort, mtu_bytes: int) -> Port:
    ip = {"ipv4": port.ipv4, "ipv6": port.ipv6}.get(plan.headers)
    return Port(plan.engine or "xdp", port.interface, port.namespace_path, port.mac, ip, mtu_bytes)


def _on_ports(plan: Plan) -> WiredEngine:
    addresses = [PortAddress.parse(str(text), field) for field, text in (("tx", plan.tx), ("rx", plan.rx))]
    tx_place, rx_place = ((address.namespace_path, address.interface) for address in addresses)
    if tx_place == rx_place:
        raise PlanError("rx", f"is {addresses[1].interface}, as tx is", "use another port")
    found = [
        check(address, plan.frame_bytes, plan.force, field)
        for field, address in zip(("tx", "rx"), addresses, strict=True)
    ]
    ips = _port_ips(plan, addresses)
    tx, rx = (
        Port(address.engine, port.name, address.namespace_path, port.mac, ip, port.mtu)
        for address, port, ip in zip(addresses, found, ips, strict=True)
    )
    next_hop = rx.mac if plan.gateway is None else resolve_mac(tx.interface, tx.namespace, _gateway(plan))
    route = Route(tx, rx, plan.headers, next_hop, tx.mac, _link_speed(found))
    context: dict[str, object] = {
        "device": f"{plan.tx} to {plan.rx}",
        "drivers": [port.driver for port in found],
        "offloads": [port.offloads for port in found],
        "gateway": plan.gateway,
    }
    return WiredEngine(route, context)


def _port_ips(plan: Plan, addresses: list[PortAddress]) -> list[str | None]:
    """The ports' own addresses of the version that the headers need; RFC 2544's on ports that have none."""
    if plan.headers == "ethernet":
        return [None, None]
    own = [_own_ip(address, _FAMILIES[plan.headers]) for address in addresses]
    if plan.gateway is not None and None in own:
        bare = addresses[own.index(None)]
        raise PlanError(
            "gateway",
            f"{bare} has no {plan.headers} address, so no router can deliver to it",
            f"give it one with `ip address add ADDRESS dev {bare.interface}`",
        )
    return [ip or default for ip, default in zip(own, _UNADDRESSED[plan.headers], strict=True)]


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
    wanted = {"ipv4": 4, "ipv6": 6}.get(plan.headers)
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


def _number(field: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise PlanError(
            field, f"'{text}' is not a port number", "with --dut give the number of the device's port, from 1"
        )
    return int(text)
