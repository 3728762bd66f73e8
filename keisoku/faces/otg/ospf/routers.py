"""The OSPFv2 routers of OTG's devices, as plain values. Knows no FRR, except what FRR cannot do, which is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Literal

from keisoku.errors import PlanError
from keisoku.faces.otg.device.device import Address, Interface
from keisoku.faces.otg.device.frr_value import number_in_range, word
from keisoku.faces.otg.device.route_range import Prefixes, some_prefixes
from keisoku.faces.otg.reading.node import Node

MOST_ROUTES = 1000
"""Of all routers of a configuration: FRR 8.4 needs 24 s until a neighbour has learned them."""
MOST_ROUTERS = 32
"""Each has daemons of its own, of 30 MB."""
_REFRESH_S = 1800
_LEAST_COST, _MOST_COST = 1, 65535
_PACED = ("inter_burst_lsu_interval", "max_flood_lsu_per_burst")

Origin = Literal["intra_area", "inter_area", "external_type_1", "external_type_2"]


@dataclass(frozen=True)
class OspfInterface:
    """An interface at which a router looks for neighbours."""

    name: str
    interface: Interface
    address: Address
    area: str
    point_to_point: bool
    cost: int
    priority: int
    hello_s: int
    dead_s: int
    keys: tuple[tuple[int, str], ...]
    """Numbers and keys of MD5."""
    password: str | None
    checks_mtu: bool


@dataclass(frozen=True)
class OspfRoutes:
    """A range of prefixes that a router says it can reach."""

    name: str
    path: str
    prefixes: tuple[Prefixes, ...]
    metric: int
    origin: Origin

    @property
    def external(self) -> bool:
        """Whether they are of another protocol."""
        return self.origin.startswith("external")


@dataclass(frozen=True)
class OspfRouter:
    """A router that a device plays."""

    name: str
    path: str
    router_id: str
    retransmit_s: int
    helps: bool
    """It helps a neighbour to restart (RFC 3623)."""
    learns: bool
    """Whether a script wants to read what it learned."""
    interfaces: tuple[OspfInterface, ...]
    routes: tuple[OspfRoutes, ...]

    @property
    def device(self) -> str:
        """The path of its device."""
        return self.path.removesuffix(".ospfv2")


def ospf_routers(document: Node, interfaces: Sequence[Interface]) -> tuple[OspfRouter, ...]:
    """All OSPFv2 routers of a configuration. Raises PlanError, with the path, for what FRR cannot do as written."""
    found = []
    for device in document.children("devices"):
        if device.has("ospfv2"):
            own = [one for one in interfaces if one.device == device.path]
            known = {each.name: (one, each) for one in own for each in one.addresses if each.version == 4}
            found.append(_router(device.child("ospfv2"), known))
    routes = sum(one.count for router in found for each in router.routes for one in each.prefixes)
    if routes > MOST_ROUTES:
        raise PlanError("devices", f"{routes} OSPFv2 routes are too many", f"use at most {MOST_ROUTES}")
    if len(found) > MOST_ROUTERS:
        raise PlanError("devices", f"{len(found)} OSPFv2 routers are too many", f"use at most {MOST_ROUTERS}")
    return tuple(found)


def _router(node: Node, known: Mapping[str, tuple[Interface, Address]]) -> OspfRouter:
    if int(node.scalar("lsa_refresh_time")) != _REFRESH_S:
        node.refuse(f"FRR's is {_REFRESH_S} s", "leave it out", "lsa_refresh_time")
    retransmit_s = number_in_range(node, "lsa_retransmit_time", 3, 65535)
    for name in _PACED:
        node.without_effect(name, "FRR paces its updates itself")
    node.without_effect("capabilities", "FRR sets the options of its LSAs itself")
    at = [_interface(each, known) for each in node.children("interfaces")]
    if not at:
        node.refuse("a router needs an interface", "give at least one", "interfaces")
    own = node.child("router_id")
    custom = own.scalar("custom") if own.choice() == "custom" else None
    return OspfRouter(
        name=str(node.scalar("name")),
        path=node.path,
        router_id=str(custom or at[0].address.ip),
        retransmit_s=retransmit_s,
        helps=bool(node.child("graceful_restart").scalar("helper_mode")),
        learns=bool(node.scalar("store_lsa")),
        interfaces=tuple(at),
        routes=tuple(_routes(each) for each in node.children("v4_routes")),
    )


def _interface(node: Node, known: Mapping[str, tuple[Interface, Address]]) -> OspfInterface:
    name = str(node.scalar("ipv4_name"))
    if name not in known:
        node.refuse(f"the device has no IPv4 address {name}", "name one of its ipv4_addresses[].name", "ipv4_name")
    interface, address = known[name]
    area, network, advanced = node.child("area"), node.child("network_type"), node.child("advanced")
    kind = network.choice()
    if kind == "point_to_multipoint":
        node.refuse("keisoku does not translate point to multipoint", "use another type", "network_type")
    by_id = area.choice() == "id"
    auth, keys, password = node.child("authentication"), [], None
    if auth.present and auth.choice() == "clear_text":
        password = word(auth, "clear_text", str(auth.scalar("clear_text")), 8)
    elif auth.present:
        keys = [(int(each.scalar("key_id")), word(each, "key", str(each.scalar("key")), 16)) for each in _keys(auth)]
    return OspfInterface(
        name=str(node.scalar("name")),
        interface=interface,
        address=address,
        area=str(IPv4Address(int(area.scalar("id")))) if by_id else str(area.scalar("ip")),
        point_to_point=kind == "point_to_point",
        cost=number_in_range(advanced, "routing_metric", _LEAST_COST, _MOST_COST),
        priority=number_in_range(advanced, "priority", 0, 255),
        hello_s=number_in_range(advanced, "hello_interval", 1, 65535),
        dead_s=number_in_range(advanced, "dead_interval", 1, 65535),
        keys=tuple(keys),
        password=password,
        checks_mtu=bool(advanced.scalar("validate_received_mtu")),
    )


def _keys(auth: Node) -> list[Node]:
    found = auth.children("md5s")
    for each in found:
        for name in ("key_id", "key"):
            if not each.has(name):
                each.refuse("is missing", "give a number and a key", name)
    if not found:
        auth.refuse("has no key", "give at least one", "md5s")
    return found


def _routes(node: Node) -> OspfRoutes:
    origin = node.child("route_origin")
    kind = str(origin.choice())
    if kind == "nssa_external":
        origin.refuse("keisoku makes no NSSA", "use another origin", kind)
    flags = origin.child(kind).child("flags")
    for name in ("a_flag", "n_flag"):
        if flags.scalar(name):
            flags.refuse("FRR does not send it", "leave it out", name)
    external = kind.startswith("external")
    metric = int(node.scalar("metric"))
    if not external and metric == 0:
        # OTG's default, which clients send even if a script does not set it.
        node.without_effect("metric", f"the least cost of routes of OSPF itself is {_LEAST_COST} in FRR")
        metric = _LEAST_COST
    if not external and metric > _MOST_COST:
        problem = f"FRR takes at most {_MOST_COST} for routes of OSPF itself"
        node.refuse(problem, "give such a value, or external routes", "metric")
    found = some_prefixes(node, 4)
    if any(one.length == 0 for one in found):
        node.refuse("FRR does not send a default route of a range", "use a longer prefix", "addresses")
    return OspfRoutes(str(node.scalar("name")), node.path, found, metric, kind)  # type: ignore[arg-type]
