"""The IS-IS routers of OTG's devices, as plain values. Knows no FRR, except what FRR cannot do, which is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from keisoku.errors import PlanError
from keisoku.faces.otg.device.device import Interface
from keisoku.faces.otg.device.frr_value import number_in_range, word
from keisoku.faces.otg.device.route_range import Prefixes, some_prefixes
from keisoku.faces.otg.reading.node import Node

MOST_ROUTES = 10_000
"""Of all routers of a configuration."""
MOST_ROUTERS = 32
"""Each has daemons of its own, of 30 MB."""
_AREA = "490001"
"""OTG's default."""
_NARROW_METRIC = 63
_WIDE_METRIC = 2**24 - 1
_LEVELS = {"level_1": (1,), "level_2": (2,), "level_1_2": (1, 2)}
_OWN_FLAGS = ("prefix_attr_enabled", "x_flag", "r_flag", "n_flag")
_ADJUSTED = ("auto_adjust_mtu", "auto_adjust_area", "auto_adjust_supported_protocols")


@dataclass(frozen=True)
class Secret:
    """A key, and how it is used."""

    kind: Literal["md5", "clear"]
    word: str


@dataclass(frozen=True)
class Hello:
    """Of one level at an interface."""

    priority: int
    interval_s: int
    multiplier: int


@dataclass(frozen=True)
class IsisLink:
    """What a router says of a link for traffic engineering (RFC 5305), with bandwidths in bytes/s."""

    groups: int
    metric: int
    most: int
    reservable: int
    unreserved: tuple[int, ...]
    """By priority, from 0 to 7."""


@dataclass(frozen=True)
class IsisInterface:
    """An interface at which a router looks for neighbours."""

    name: str
    interface: Interface
    metric: int
    point_to_point: bool
    levels: Mapping[int, Hello]
    secret: Secret | None
    three_way: bool
    link: IsisLink | None


@dataclass(frozen=True)
class IsisRoutes:
    """A range of prefixes that a router says it can reach."""

    name: str
    path: str
    prefixes: tuple[Prefixes, ...]
    metric: int

    @property
    def version(self) -> int:
        """4 or 6."""
        return self.prefixes[0].version


@dataclass(frozen=True)
class IsisRouter:
    """A router that a device plays."""

    name: str
    path: str
    system_id: str
    """Six octets, as 12 hexadecimal digits."""
    areas: tuple[str, ...]
    """Each an odd number of octets, hexadecimal."""
    hostname: str | None
    wide: bool
    router_id: str | None
    """For traffic engineering."""
    learns: bool
    """Whether a script wants to read what it learned."""
    padding: bool
    attached: bool
    second_topology: bool
    """IPv6 has a topology of its own (RFC 5120)."""
    refresh_s: int
    lifetime_s: int
    psnp_s: int
    csnp_s: int
    lsp_bytes: int
    area_secret: Secret | None
    domain_secret: Secret | None
    interfaces: tuple[IsisInterface, ...]
    routes: tuple[IsisRoutes, ...]

    @property
    def device(self) -> str:
        """The path of its device."""
        return self.path.removesuffix(".isis")

    @property
    def levels(self) -> tuple[int, ...]:
        """Those of its interfaces."""
        return tuple(sorted({level for one in self.interfaces for level in one.levels}))


def isis_routers(document: Node, interfaces: Sequence[Interface]) -> tuple[IsisRouter, ...]:
    """All IS-IS routers of a configuration. Raises PlanError, with the path, for what FRR cannot do as written."""
    found = []
    for device in document.children("devices"):
        if device.has("isis"):
            own = {one.name: one for one in interfaces if one.device == device.path}
            found.append(_router(device.child("isis"), own))
    routes = sum(one.count for router in found for each in router.routes for one in each.prefixes)
    if routes > MOST_ROUTES:
        raise PlanError("devices", f"{routes} IS-IS routes are too many", f"use at most {MOST_ROUTES}")
    if len(found) > MOST_ROUTERS:
        raise PlanError("devices", f"{len(found)} IS-IS routers are too many", f"use at most {MOST_ROUTERS}")
    return tuple(found)


def _router(node: Node, own: Mapping[str, Interface]) -> IsisRouter:
    basic, advanced, auth = node.child("basic"), node.child("advanced"), node.child("router_auth")
    system_id = str(node.scalar("system_id"))
    if not re.fullmatch("[0-9a-fA-F]{1,12}", system_id):
        node.refuse("is not six octets", "write it as 640000000001", "system_id")
    system_id = system_id.rjust(12, "0")  # some scripts count routers from 0
    wide = bool(basic.scalar("enable_wide_metric"))
    if advanced.scalar("max_area_addresses") not in (0, 3):
        advanced.refuse("FRR has three areas at most", "leave it out", "max_area_addresses")
    # FRR sends an LSP when it changes, and never two versions within a second.
    advanced.without_effect("lsp_mgroup_min_trans_interval", "FRR paces its LSPs itself")
    auth.without_effect("ignore_receive_md5", "FRR checks what it receives with the same keys")
    node.child("graceful_restart").without_effect("helper_mode", "this FRR helps no IS-IS router to restart")
    refresh_s = number_in_range(advanced, "lsp_refresh_rate", 1, 65235)
    lifetime_s = number_in_range(advanced, "lsp_lifetime", 350, 65535)
    if lifetime_s < refresh_s + 300:
        problem = "FRR wants it 300 s above lsp_refresh_rate"
        advanced.refuse(problem, f"give {refresh_s + 300} or more", "lsp_lifetime")
    at = [_interface(each, own, wide) for each in node.children("interfaces")]
    if not at:
        node.refuse("a router needs an interface", "give at least one", "interfaces")
    topologies = [_second_topology(each) for each in node.children("interfaces")]
    hostname = basic.scalar("hostname")
    return IsisRouter(
        name=str(node.scalar("name")),
        path=node.path,
        system_id=system_id.lower(),
        areas=tuple(_area(advanced, str(text)) for text in advanced.scalar("area_addresses") or [_AREA]),
        hostname=None if hostname is None else word(basic, "hostname", str(hostname)),
        wide=wide,
        router_id=basic.scalar("ipv4_te_router_id"),
        learns=bool(basic.scalar("learned_lsp_filter")),
        padding=bool(advanced.scalar("enable_hello_padding")),
        attached=bool(advanced.scalar("enable_attached_bit")),
        second_topology=any(topologies),
        refresh_s=refresh_s,
        lifetime_s=lifetime_s,
        psnp_s=_seconds(advanced, "psnp_interval", 120),
        csnp_s=_seconds(advanced, "csnp_interval", 600),
        lsp_bytes=number_in_range(advanced, "max_lsp_size", 128, 4352),
        area_secret=_secret(auth, "area_auth"),
        domain_secret=_secret(auth, "domain_auth"),
        interfaces=tuple(at),
        routes=tuple(
            _routes(each, version, wide) for version in (4, 6) for each in node.children(f"v{version}_routes")
        ),
    )


def _interface(node: Node, own: Mapping[str, Interface], wide: bool) -> IsisInterface:
    name = str(node.scalar("eth_name"))
    if name not in own:
        node.refuse(f"the device has no interface {name}", "name one of its ethernets[].name", "eth_name")
    metric = int(node.scalar("metric"))
    if not wide and metric > _NARROW_METRIC:
        node.refuse("a narrow metric has 6 bits", f"give at most {_NARROW_METRIC}, or wide metrics", "metric")
    advanced = node.child("advanced")
    for each in _ADJUSTED:
        advanced.without_effect(each, "FRR takes a neighbour's hellos as they are")
    if advanced.scalar("p2p_hellos_to_unicast_mac"):
        advanced.refuse("FRR sends hellos to a group", "leave it out", "p2p_hellos_to_unicast_mac")
    levels = _LEVELS[str(node.scalar("level_type"))]
    hellos = {level: _hello(node.child(f"l{level}_settings")) for level in (1, 2)}
    return IsisInterface(
        name=str(node.scalar("name")),
        interface=own[name],
        metric=metric,
        point_to_point=node.scalar("network_type") == "point_to_point",
        levels={level: hellos[level] for level in levels},
        secret=_secret(node, "authentication"),
        three_way=bool(advanced.scalar("enable_3way_handshake")),
        link=_link(node),
    )


def _link(interface: Node) -> IsisLink | None:
    found = interface.children("traffic_engineering")
    if len(found) > 1:
        interface.refuse("FRR says one thing of a link", "give one", "traffic_engineering")
    for node in found:
        bandwidths, most = node.child("priority_bandwidths"), int(node.scalar("max_bandwith"))
        reservable = int(node.scalar("max_reservable_bandwidth"))
        unreserved = tuple(int(bandwidths.scalar(f"pb{priority}")) for priority in range(8))
        if most < 1 or max(reservable, *unreserved) > most:
            node.refuse("FRR wants it above 0 and no other bandwidth above it", "give a greater one", "max_bandwith")
        groups = int(str(node.scalar("administrative_group")), 16)
        return IsisLink(groups, number_in_range(node, "metric_level", 0, _WIDE_METRIC), most, reservable, unreserved)
    return None


def _hello(node: Node) -> Hello:
    priority, interval_s = number_in_range(node, "priority", 0, 127), number_in_range(node, "hello_interval", 1, 600)
    dead_s = int(node.scalar("dead_interval"))
    if dead_s % interval_s or not 2 <= dead_s // interval_s <= 100:
        problem = f"FRR's is a multiple of hello_interval, which is {interval_s} s"
        node.refuse(problem, "give 2 to 100 times as much", "dead_interval")
    return Hello(priority, interval_s, dead_s // interval_s)


def _second_topology(node: Node) -> bool:
    """Whether an interface belongs to IPv6's own topology. FRR has one metric for both."""
    found = False
    for each in node.children("multi_topology_ids"):
        number, metric = int(each.scalar("mt_id")), int(each.scalar("link_metric"))
        if number not in (0, 2):
            each.refuse("keisoku translates IPv4's topology and IPv6's", "use 0 or 2", "mt_id")
        if metric != int(node.scalar("metric")):
            each.refuse("FRR has one metric for all topologies", "give the interface's", "link_metric")
        found = found or number == 2
    return found


def _routes(node: Node, version: int, wide: bool) -> IsisRoutes:
    if node.scalar("redistribution_type") != "up":
        node.refuse("FRR sends its own routes up only", "leave it out", "redistribution_type")
    if node.scalar("origin_type") == "internal" and not wide and version == 4:
        node.refuse("with narrow metrics FRR says external", "use external, or wide metrics", "origin_type")
    for name in _OWN_FLAGS:
        if node.scalar(name):
            node.refuse("FRR does not send it", "leave it out", name)
    metric = int(node.scalar("link_metric"))
    if not wide and version == 4 and metric > _NARROW_METRIC:
        node.refuse("a narrow metric has 6 bits", f"give at most {_NARROW_METRIC}, or wide metrics", "link_metric")
    found = some_prefixes(node, version)
    if any(one.length == 0 for one in found):
        node.refuse("FRR does not send a default route of a range", "use a longer prefix", "addresses")
    return IsisRoutes(str(node.scalar("name")), node.path, found, metric)


def _secret(node: Node, name: str) -> Secret | None:
    if not node.has(name):
        return None
    own = node.child(name)
    kind = str(own.scalar("auth_type"))
    given = own.scalar(kind)
    if given is None:
        own.refuse("is missing", "give the key", kind)
    return Secret("md5" if kind == "md5" else "clear", word(own, kind, str(given)))


def _area(node: Node, text: str) -> str:
    octets, rest = divmod(len(text), 2)
    if rest or not 1 <= octets <= 13 or octets % 2 == 0 or not re.fullmatch("[0-9a-fA-F]+", text):
        problem = f"FRR takes areas of 1, 3, 5 to 13 octets, and not {text}"
        node.refuse(problem, "write it as 490001", "area_addresses")
    return text.lower()


def _seconds(node: Node, name: str, most: int) -> int:
    """A field in milliseconds as whole seconds."""
    seconds, rest = divmod(int(node.scalar(name)), 1000)
    if rest or not 1 <= seconds <= most:
        node.refuse(f"FRR takes 1 to {most} whole seconds", "give a multiple of 1000 (ms)", name)
    return seconds
