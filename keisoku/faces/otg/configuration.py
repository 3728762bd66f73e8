"""An OTG configuration, which is accepted or refused as a whole. Opens no port."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keisoku.errors import PlanError
from keisoku.faces.otg.bgp.peers import BgpPeer, BgpRoutes, bgp_peers
from keisoku.faces.otg.capture.capture import CaptureWish, wishes
from keisoku.faces.otg.device.device import Address, Interface, interfaces
from keisoku.faces.otg.device.lag import Lag, lags
from keisoku.faces.otg.device.router import Router, RouterRoutes
from keisoku.faces.otg.dhcp.clients import DhcpClient, dhcp_clients
from keisoku.faces.otg.dhcp.servers import DhcpServer, dhcp_servers
from keisoku.faces.otg.flow.flow import Flow, Names, flow
from keisoku.faces.otg.flow.header import NO_PAUSE
from keisoku.faces.otg.lldp.agent import LldpAgent, lldp_agents
from keisoku.faces.otg.reading.node import Node
from keisoku.faces.otg.routers import ROUTERS

_SPEEDS = {
    "speed_10_fd_mbps": 10e6,
    "speed_100_fd_mbps": 100e6,
    **{f"speed_{gbps}_gbps": gbps * 1e9 for gbps in (1, 10, 25, 40, 50, 100, 200, 400, 800)},
}
_OF_INTERFACES = ("media", "ieee_media_defaults", "auto_negotiate", "auto_negotiation")
_MTU_BYTES = 1500
"""OTG's default, which clients send even if a script does not set it."""
MOST_FLOWS = 1024
"""Largest number of flows of a configuration: each has a table of frames of its own."""


@dataclass(frozen=True)
class ConfiguredPort:
    """A port of the tester: `location` is a port URI of keisoku's."""

    name: str
    location: str
    path: str


@dataclass(frozen=True)
class ConvergenceWish:
    """What a script wants to know of interruptions."""

    loss_duration: bool = False
    causes: bool = False
    """Times at which it sets links and ranges of routes."""
    flows: bool = False
    """Times at which flows are interrupted and back."""


@dataclass(frozen=True)
class Configuration:
    """The configuration of a script."""

    ports: tuple[ConfiguredPort, ...]
    interfaces: tuple[Interface, ...]
    flows: tuple[Flow, ...]
    captures: dict[int, CaptureWish]
    """By port."""
    document: dict[str, Any]
    """The document as it was sent, for `GET /config`."""
    wish: ConvergenceWish = ConvergenceWish()
    warnings: tuple[str, ...] = ()
    """What was accepted without effect, for the answer."""
    bgp: tuple[BgpPeer, ...] = ()
    routers: Mapping[str, tuple[Router, ...]] = field(default_factory=dict)
    """By OTG's names of their protocols."""
    lldp: tuple[LldpAgent, ...] = ()
    dhcp_clients: tuple[DhcpClient, ...] = ()
    dhcp_servers: tuple[DhcpServer, ...] = ()
    lags: tuple[Lag, ...] = ()
    flow_bytes: int = 0
    """Of all different frames of the flows."""


@dataclass(frozen=True)
class Defaults:
    """What a server was started with for all configurations."""

    speed: float | None = None
    """In bit/s; what percentages are of at ports that have no line rate and are given none."""
    payload_start: bytes = b""
    """With which the payload of each frame begins."""


NO_DEFAULTS = Defaults()


def ports(document: Node) -> tuple[ConfiguredPort, ...]:
    """The ports of a configuration. Raises PlanError for one without a location, or for a name given twice."""
    found: list[ConfiguredPort] = []
    for node in document.children("ports"):
        name, location = str(node.scalar("name")), node.scalar("location")
        if not location:
            node.refuse("is missing", "give a port such as xdp:eth1, lab:bridge#1 or sim:gs908e#1", "location")
        if any(name == other.name for other in found):
            node.refuse(f"'{name}' is given twice", "use another name", "name")
        if any(location == other.location for other in found):
            node.refuse(f"'{location}' is given twice", "use another port", "location")
        found.append(ConfiguredPort(name, str(location), node.path))
    return tuple(found)


def configuration(
    document: Node,
    raw: dict[str, Any],
    speed: Callable[[int], float | None],
    mtus: Callable[[int], int | None],
    defaults: Defaults = NO_DEFAULTS,
) -> Configuration:
    """Everything in a document; `speed` gives the rate of a port's line in bit/s, by index, or None where it has none.
    Percentages are then of the script's, else of that of `defaults`.

    Raises PlanError, with the path, for the first field that keisoku cannot carry out exactly.
    """
    found = ports(document)
    index = {port.name: place for place, port in enumerate(found)}
    own = [speed(port) for port in index.values()]
    given = _layer1(document, index, own, mtus)
    speeds = [rate or given.get(port, defaults.speed) for port, rate in enumerate(own)]
    wish = _convergence(document)
    _options(document)
    groups = lags(document, index)
    hosts = interfaces(document, index, groups)
    peers = bgp_peers(document, hosts)
    spoken = {name: protocol.read(document, hosts) for name, protocol in ROUTERS.items()}
    lldp = lldp_agents(document, index, mtus)
    clients, servers = dhcp_clients(document, hosts), dhcp_servers(document, hosts)
    routers = [router for each in spoken.values() for router in each]
    # A protocol that is not spoken is said as that, and not as the missing end of a flow that names its routes.
    for device in document.children("devices"):
        device.check_all_read()
    names = Names(index, groups, hosts, peers, routers, clients)
    nodes = document.children("flows")
    if len(nodes) > MOST_FLOWS:
        raise PlanError("flows", f"{len(nodes)} are too many", f"use at most {MOST_FLOWS}")
    # Where one flow counts headers that arrive, the engine reads those of all flows.
    by_size = any(node.has("egress_packet") for node in nodes)
    flows = [
        flow(node, names, lambda port: speeds[port], speed, by_size, place, defaults.payload_start)
        for place, node in enumerate(nodes)
    ]
    own_lags = tuple(groups.values())
    _unique(flows, hosts, peers, routers, (*own_lags, *lldp, *clients, *servers))
    captures = wishes(document, index)
    document.check_all_read()
    warnings = tuple(document.warnings.values())
    return Configuration(
        ports=found,
        interfaces=tuple(hosts),
        flows=tuple(flows),
        captures=captures,
        document=raw,
        wish=wish,
        warnings=warnings,
        bgp=peers,
        routers=spoken,
        lldp=lldp,
        dhcp_clients=clients,
        dhcp_servers=servers,
        lags=own_lags,
    )


def _layer1(
    document: Node, index: dict[str, int], own: Sequence[float | None], mtus: Callable[[int], int | None]
) -> dict[int, float]:
    """The line rates that a script gives to ports, whose `own` rates cannot be changed."""
    given: dict[int, float] = {}
    for node in document.children("layer1"):
        node.scalar("name")
        wanted = node.scalar("speed")
        if wanted is not None and wanted not in _SPEEDS:
            node.refuse(f"{wanted} is not supported", f"use {', '.join(_SPEEDS)}", "speed")
        if not node.scalar("promiscuous"):
            node.refuse("a port receives every frame", "leave it out", "promiscuous")
        for name in _OF_INTERFACES:
            node.without_effect(name, "keisoku changes no setting of an interface")
        node.without_effect("flow_control", NO_PAUSE)
        mtu = int(node.scalar("mtu"))
        for name in node.scalar("port_names") or []:
            if name not in index:
                node.refuse(f"there is no port {name}", "name one of ports[].name", "port_names")
            port = index[name]
            own_mtu, rate = mtus(port), own[port]
            # Clients send OTG's default even if a script does not set it.
            if own_mtu is not None and mtu > own_mtu and mtu != _MTU_BYTES:
                problem = f"{name} has an MTU of {own_mtu} bytes, which keisoku does not change"
                node.refuse(problem, f"use at most {own_mtu}", "mtu")
            if wanted is None:
                continue
            if rate is not None and rate != _SPEEDS[wanted]:
                problem = f"{name} runs at {rate / 1e9:g} Gb/s, which keisoku does not change"
                node.refuse(problem, "leave it out", "speed")
            given[port] = _SPEEDS[wanted]
    return given


def _options(document: Node) -> None:
    options = document.child("options").child("port_options")
    # Only this server's controller can hold its ports, so a port never has to be taken from another one.
    options.scalar("location_preemption")
    if options.scalar("data_integrity"):
        options.refuse("is always checked, but not reported as in OTG", "leave it out", "data_integrity")


def _convergence(document: Node) -> ConvergenceWish:
    events = document.child("events")
    flows = events.child("dp_events")
    # While a flow is interrupted its rate is zero, so any threshold is crossed at the same times.
    flows.scalar("rx_rate_threshold")
    return ConvergenceWish(
        loss_duration=bool(document.child("options").child("flow_options").scalar("packet_loss_duration")),
        causes=bool(events.child("cp_events").scalar("enable")),
        flows=bool(flows.scalar("enable")),
    )


def _unique(
    flows: list[Flow],
    hosts: list[Interface],
    peers: Sequence[BgpPeer],
    routers: Sequence[Router],
    others: Sequence[Lag | LldpAgent | DhcpClient | DhcpServer],
) -> None:
    seen: set[str] = set()
    for one in flows:
        if one.name in seen:
            raise PlanError(f"{one.path}.name", f"'{one.name}' is given twice", "use another name")
        seen.add(one.name)
    parts: list[
        Interface | Address | BgpPeer | BgpRoutes | Router | RouterRoutes | Lag | LldpAgent | DhcpClient | DhcpServer
    ] = [*others]
    for host in hosts:
        parts += [host, *host.addresses]
    for peer in peers:
        parts += [peer, *peer.routes]
    for router in routers:
        parts += [router, *router.routes]
    for name, path in [(part.name, part.path) for part in parts]:
        if name in seen:
            raise PlanError(f"{path}.name", f"'{name}' is given twice", "use another name")
        seen.add(name)
