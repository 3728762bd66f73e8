"""The BGP peers of OTG's devices, as plain values. Knows no FRR, except for what FRR cannot do, which is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Literal

from keisoku.errors import PlanError
from keisoku.faces.otg.device.device import Address, Interface
from keisoku.faces.otg.device.frr_value import word
from keisoku.faces.otg.device.route_range import MOST_ROUTES, Prefixes, may_meet, prefixes
from keisoku.faces.otg.reading.node import Node

MOST_PEERS = 1000
MOST_LISTENING = 32
"""Devices with which others can begin sessions: each has daemons of its own, of 30 MB."""
_PORT = 179
_ANY_TTL = (64, 255)
"""OTG's default, and what FRR sends to a peer of its own AS."""
_COMMUNITIES = {
    "no_export": "no-export",
    "no_advertised": "no-advertise",
    "no_export_subconfed": "local-AS",
    "llgr_stale": "llgr-stale",
    "no_llgr": "no-llgr",
}
_TARGETS = {
    "transitive_2octet_as_type": ("global_2byte_as", "local_4byte_admin"),
    "transitive_4octet_as_type": ("global_4byte_as", "local_2byte_admin"),
    "transitive_ipv4_address_type": ("global_ipv4_admin", "local_2byte_admin"),
}
_AS_TRANS = 23456
"""In place of a number of four octets (RFC 6793 §9)."""
_MOST_MBPS = 25600
_FAMILIES = {4: "ipv4_unicast", 6: "ipv6_unicast"}


@dataclass(frozen=True)
class Attributes:
    """Path attributes of the routes of a range."""

    origin: Literal["igp", "egp", "incomplete"] = "igp"
    discriminator: int | None = None
    local_preference: int | None = None
    """Only to a peer of the same AS."""
    path: tuple[int, ...] = ()
    """AS numbers, to a peer of another AS behind its own."""
    own_first: bool = True
    """Whether the own AS is first to a peer of another AS."""
    communities: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    """Extended communities: route targets and route origins."""
    bandwidth_mbps: int | None = None
    """Of a link, an extended community too; only to a peer of the same AS."""
    next_hop: str | None = None
    """None: the peer's own address."""


@dataclass(frozen=True)
class BgpRoutes:
    """A range of routes of a peer."""

    name: str
    path: str
    version: int
    """4 or 6."""
    prefixes: tuple[Prefixes, ...]
    """None of them: it advertises nothing."""
    attributes: Attributes

    def texts(self) -> Iterator[str]:
        """All prefixes, as 198.18.0.0/24."""
        return (text for one in self.prefixes for text in one.texts())


@dataclass(frozen=True)
class Timers:
    """In seconds."""

    hold_s: int
    keepalive_s: int
    update_s: int


@dataclass(frozen=True)
class Restart:
    """Graceful restart (RFC 4724), and the long-lived one (RFC 9494) where it has a time."""

    restart_s: int
    stale_s: int | None


@dataclass(frozen=True)
class BgpPeer:
    """A peer that the tester plays, of the router at `far`."""

    name: str
    path: str
    interface: Interface
    address: Address
    far: str
    router_id: str
    as_number: int
    internal: bool
    timers: Timers
    ttl: int
    password: str | None
    port: int
    passive: bool
    """It waits until the other side begins the session."""
    listen_port: int
    families: tuple[int, ...]
    """Versions of IP whose routes it can exchange."""
    numbered: tuple[int, ...]
    """Versions whose routes it advertises with identifiers of their paths (RFC 7911)."""
    extended_next_hop: bool
    learns: tuple[int, ...]
    """Versions whose learned prefixes a script wants to read."""
    restart: Restart | None
    routes: tuple[BgpRoutes, ...]
    learns_own_as: bool = False
    """It learns routes with its own AS in the path, which a router takes for a loop: a script puts it into one."""

    @property
    def version(self) -> int:
        """4 or 6: of the addresses between which the session is."""
        return self.address.version

    @property
    def routes_may_meet(self) -> bool:
        """Whether two of its ranges might have a prefix in common, or one have it twice."""
        return may_meet(one for each in self.routes for one in each.prefixes)

    @property
    def hides(self) -> bool:
        """Whether some of its routes do not have its own AS."""
        return any(not each.attributes.own_first for each in self.routes)


def bgp_peers(document: Node, interfaces: Sequence[Interface]) -> tuple[BgpPeer, ...]:
    """All peers of a configuration. Raises PlanError, with the path, for what FRR cannot do as it is written."""
    addresses = {address.name: (one, address) for one in interfaces for address in one.addresses}
    found: list[BgpPeer] = []
    for device in document.children("devices"):
        if not device.has("bgp"):
            continue
        router = device.child("bgp")
        router_id = str(router.scalar("router_id"))
        for version in (4, 6):
            for node in router.children(f"ipv{version}_interfaces"):
                for peer in node.children("peers"):
                    found.append(_peer(peer, _source(node, version, addresses), router_id))
    _check(found)
    named = {number for peer in found for each in peer.routes for number in each.attributes.path}
    return tuple(replace(peer, learns_own_as=peer.as_number in named) for peer in found)


def _check(peers: Sequence[BgpPeer]) -> None:
    routes = sum(one.count for peer in peers for each in peer.routes for one in each.prefixes)
    if routes > MOST_ROUTES:
        raise PlanError("devices", f"{routes} routes are too many", f"use at most {MOST_ROUTES} in a configuration")
    if len(peers) > MOST_PEERS:
        raise PlanError("devices", f"{len(peers)} BGP peers are too many", f"use at most {MOST_PEERS}")
    for peer in peers:
        if not peer.routes_may_meet:
            continue
        seen: dict[str, Attributes] = {}
        for each in peer.routes:
            own = list(each.texts())
            twice = [text for text, count in Counter(own).items() if count > 1]
            other = [text for text in own if seen.setdefault(text, each.attributes) != each.attributes]
            for text, how in (*((text, "twice") for text in twice), *((text, "in two ways") for text in other)):
                problem = f"{peer.name} advertises {text} {how}, and a peer has one route to a prefix"
                raise PlanError(f"{each.path}.addresses", problem, "leave one out, or give both the same attributes")


def listening(peers: Sequence[BgpPeer], interfaces: Sequence[Interface]) -> dict[str, int]:
    """Devices, by their paths, with which others can begin sessions, and their TCP ports: those with passive peers or a
    port of their own, and those whose peers are devices of the configuration, too.

    Raises PlanError, with the path, for too many, and for what the peers of such a device, which is one router, cannot
    have.
    """
    own = {address.ip for one in interfaces for address in one.addresses}
    found: dict[str, BgpPeer] = {}
    for peer in peers:
        if peer.passive or peer.listen_port != _PORT or peer.far in own:
            found.setdefault(peer.interface.device, peer)
    if len(found) > MOST_LISTENING:
        problem = f"{len(found)} devices are too many with which others begin BGP sessions"
        raise PlanError("devices", problem, f"use at most {MOST_LISTENING}")
    prefixes_of: dict[str, list[Prefixes]] = {device: [] for device in found}
    for peer in peers:
        prefixes_of.get(peer.interface.device, []).extend(one for each in peer.routes for one in each.prefixes)
    advertised: dict[str, set[str]] = {device: set() for device, own in prefixes_of.items() if may_meet(own)}
    for peer in peers:
        device = peer.interface.device
        if (first := found.get(device)) is None:
            continue
        why = "the device listens for BGP sessions, so its peers have one"
        if peer.listen_port != first.listen_port:
            raise PlanError(f"{peer.path}.advanced.listen_port", f"{why} port", f"give {first.listen_port}")
        if peer.as_number != first.as_number:
            raise PlanError(f"{peer.path}.as_number", f"{why} AS", f"give {first.as_number}, or use another device")
        if device not in advertised:
            continue
        for each in peer.routes:
            if common := advertised[device].intersection(each.texts()):
                problem = f"{why} table of routes, and another one has {min(common)}, too"
                raise PlanError(f"{each.path}.addresses", problem, "use another device")
        advertised[device].update(text for each in peer.routes for text in each.texts())
    return {device: peer.listen_port for device, peer in found.items()}


def _source(node: Node, version: int, addresses: Mapping[str, tuple[Interface, Address]]) -> tuple[Interface, Address]:
    name = str(node.scalar(f"ipv{version}_name"))
    found = addresses.get(name)
    if found is None or found[1].version != version:
        remedy = f"name one of devices[].ethernets[].ipv{version}_addresses[]"
        node.refuse(f"there is no IPv{version} address {name}", remedy, f"ipv{version}_name")
    return found


def _peer(node: Node, source: tuple[Interface, Address], router_id: str) -> BgpPeer:
    interface, address = source
    far = node.scalar("peer_address")
    try:
        if ip_address(far).version != address.version:
            raise ValueError(f"{far} is of another IP version")
    except ValueError as error:
        node.refuse(f"cannot be read: {error}", "correct it", "peer_address")
    internal = node.scalar("as_type") == "ibgp"
    traditional = "traditional_nlri_for_ipv4_routes"
    if traditional in node.fields and not node.scalar(traditional):
        node.refuse("FRR sends IPv4 routes of an IPv4 session in the traditional form", "leave it out", traditional)
    number = int(node.scalar("as_number"))
    if node.scalar("as_number_width") == "two":
        if number > 0xFFFF:
            node.refuse(f"{number} has more than two bytes", "use four", "as_number_width")
        node.without_effect("as_number_width", "FRR always says that it knows AS numbers of four bytes")
    advanced, capability = node.child("advanced"), node.child("capability")
    ttl = int(advanced.scalar("time_to_live"))
    if internal and ttl not in _ANY_TTL:
        advanced.refuse("FRR sends 255 to a peer of its own AS", "leave it out", "time_to_live")
    if not internal and ttl == 0:
        advanced.refuse("a packet needs a time to live", "give 1 to 255", "time_to_live")
    password = advanced.scalar("md5_key")
    families, numbered = _families(capability)
    extended = bool(capability.scalar("extended_next_hop_encoding"))
    learned = node.child("learned_information_filter")
    learns = tuple(version for version in (4, 6) if learned.scalar(f"unicast_ipv{version}_prefix"))
    for name in ("ipv4_mpls_unicast_prefix", "ipv6_mpls_unicast_prefix"):
        if learned.scalar(name):
            learned.refuse("keisoku's peers exchange no labels", "leave it out", name)
    routes = [
        _routes(each, version, interface, address, number, internal, extended)
        for version in (4, 6)
        for each in node.children(f"v{version}_routes")
    ]
    for each in routes:
        if each.version not in families:
            problem = f"the peer does not exchange IPv{each.version} routes"
            raise PlanError(each.path, problem, f"set its capability {_FAMILIES[each.version]}")
    return BgpPeer(
        name=str(node.scalar("name")),
        path=node.path,
        interface=interface,
        address=address,
        far=str(far),
        router_id=router_id,
        as_number=number,
        internal=internal,
        timers=_timers(advanced),
        ttl=ttl,
        password=None if password is None else word(advanced, "md5_key", str(password)),
        port=int(advanced.scalar("neighbor_port")),
        passive=bool(advanced.scalar("passive_mode")),
        listen_port=int(advanced.scalar("listen_port")),
        families=families,
        numbered=numbered,
        extended_next_hop=extended,
        learns=learns,
        restart=_restart(node.child("graceful_restart")),
        routes=tuple(routes),
    )


def _timers(node: Node) -> Timers:
    hold, keepalive = int(node.scalar("hold_time_interval")), int(node.scalar("keep_alive_interval"))
    update = int(node.scalar("update_interval"))
    if hold != 0 and not 3 <= hold <= 65535:
        node.refuse("is no hold time of BGP", "give 0 or 3 to 65535 (RFC 4271, clause 4.2)", "hold_time_interval")
    if keepalive > 65535:
        node.refuse("is too long", "give at most 65535", "keep_alive_interval")
    if update > 600:
        node.refuse("FRR waits 600 s at most between updates", "give at most 600", "update_interval")
    return Timers(hold, keepalive, update)


def _families(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Versions of IP, and those of them with several paths. Refuses capabilities that FRR does not have, or always
    has."""
    if not node.scalar("route_refresh"):
        node.refuse("FRR always has this capability", "leave it out", "route_refresh")
    paths = {version: f"{name}_add_path" for version, name in _FAMILIES.items()}
    known = {*_FAMILIES.values(), *paths.values(), "route_refresh", "extended_next_hop_encoding"}
    for name in sorted(node.fields - known):
        if node.has(name) and node.scalar(name):
            node.refuse("keisoku does not translate this capability", "leave it out", name)
        node.scalar(name)
    wanted = tuple(version for version, name in _FAMILIES.items() if node.scalar(name))
    return wanted, tuple(version for version, name in paths.items() if node.scalar(name) and version in wanted)


def _restart(node: Node) -> Restart | None:
    restart, stale = int(node.scalar("restart_time")), int(node.scalar("stale_time"))
    long_lived = bool(node.scalar("enable_llgr"))
    node.scalar("enable_notification")
    if not node.scalar("enable_gr"):
        if long_lived:
            node.refuse("needs enable_gr", "set both", "enable_llgr")
        return None
    if not 1 <= restart <= 4095:
        node.refuse("FRR takes 1 to 4095 s", "give such a time", "restart_time")
    if long_lived and stale < 1:
        node.refuse("FRR takes 1 s or more", "give such a time", "stale_time")
    return Restart(restart, stale if long_lived else None)


def _routes(
    node: Node, version: int, interface: Interface, address: Address, number: int, internal: bool, extended: bool
) -> BgpRoutes:
    node.without_effect("add_path", "a peer has one route to a prefix, and FRR numbers its paths itself")
    advanced = node.child("advanced")
    for name in ("include_multi_exit_discriminator", "include_origin", "include_local_preference"):
        if not advanced.scalar(name) and (internal or name != "include_local_preference"):
            advanced.refuse("FRR always sends it", "leave it out", name)
    discriminator, preference = advanced.scalar("multi_exit_discriminator"), advanced.scalar("local_preference")
    targets, origins, bandwidth_mbps = _extended(node, number, internal)
    path, own_first = _path(node.child("as_path"), number, internal)
    attributes = Attributes(
        origin=advanced.scalar("origin"),
        discriminator=None if discriminator is None else int(discriminator),
        local_preference=int(preference) if internal and preference != 100 else None,
        path=path,
        own_first=own_first,
        communities=tuple(_community(each) for each in node.children("communities")),
        targets=targets,
        origins=origins,
        bandwidth_mbps=bandwidth_mbps,
        next_hop=_next_hop(node, version, interface, address, extended),
    )
    if not node.children("addresses"):
        node.warnings.setdefault(node.path, f"{node.path}: advertises nothing, as it has no addresses")
    return BgpRoutes(str(node.scalar("name")), node.path, version, prefixes(node, version), attributes)


def _next_hop(node: Node, version: int, interface: Interface, address: Address, extended: bool) -> str | None:
    manual, kind = node.scalar("next_hop_mode") == "manual", node.scalar("next_hop_address_type")
    given = {each: node.scalar(f"next_hop_ipv{each}_address") for each in (4, 6)}
    own = next((each.ip for each in interface.addresses if each.version == version), None)
    if extended and version == 4 and address.version == 6:  # RFC 8950; FRR sends it by sessions of IPv6 only
        if manual and kind == "ipv6":
            return str(given[6])
        if not manual and (own is None or kind == "ipv6"):
            return None  # the address of the session
    if kind != f"ipv{version}":
        problem = f"IPv{version} routes have a next hop of IPv{version}"
        node.refuse(problem, f"use ipv{version}", "next_hop_address_type")
    if manual:
        return str(given[version])
    if address.version == version:
        return None
    if own is None:
        problem = f"{interface.name} has no IPv{version} address that could be the next hop"
        node.refuse(problem, "give it one, or a next hop by hand", "next_hop_mode")
    return own


def _path(node: Node, own: int, internal: bool) -> tuple[tuple[int, ...], bool]:
    """The path of routes to a peer of the same AS, or behind the own AS, and whether that is first to another AS."""
    mode = node.scalar("as_set_mode")
    segments = node.children("segments")
    numbers: list[int] = []
    for each in segments:
        if each.scalar("type") != "as_seq":
            each.refuse("FRR makes no path with sets or confederations", "use as_seq", "type")
        numbers += [int(number) for number in each.scalar("as_numbers") or []]
    match mode:
        case "include_as_seq" | "prepend_to_first_segment" | "include_as_set":
            if mode == "include_as_set":
                node.without_effect("as_set_mode", "FRR sends its AS in a sequence, and RFC 9774 forbids sets")
            return ((own, *numbers) if internal else tuple(numbers)), True
        case "do_not_include_local_as":
            # FRR leaves no path empty to a peer of another AS.
            if internal or not numbers:
                return tuple(numbers), True
            return (tuple(numbers[1:]), True) if numbers[0] == own else (tuple(numbers), False)
    node.refuse("FRR makes no path with sets or confederations", "use include_as_seq", "as_set_mode")


def _community(node: Node) -> str:
    kind = node.scalar("type")
    number, custom = int(node.scalar("as_number")), int(node.scalar("as_custom"))
    if kind is None:
        node.refuse("is missing", "say which community it is", "type")
    return _COMMUNITIES.get(kind, f"{number}:{custom}")


def _extended(node: Node, number: int, internal: bool) -> tuple[tuple[str, ...], tuple[str, ...], int | None]:
    """Route targets, route origins and the bandwidth of a link in Mbit/s."""
    targets: list[str] = []
    origins: list[str] = []
    bandwidths: list[int] = []
    for each in node.children("extended_communities"):
        kind = str(each.choice())
        if kind == "non_transitive_2octet_as_type":
            inner = each.child(kind)
            bandwidths.append(_bandwidth_mbps(inner.child(str(inner.choice())), number, internal))
            if len(bandwidths) > 1:
                each.refuse("FRR sends one bandwidth of a link", "leave out all others", kind)
            continue
        if kind not in _TARGETS:
            each.refuse("keisoku translates route targets, route origins and bandwidths of links", "leave it out", kind)
        inner = each.child(kind)
        subtype = str(inner.choice())
        into = {"route_target_subtype": targets, "route_origin_subtype": origins}.get(subtype)
        if into is None:
            inner.refuse("keisoku translates route targets and route origins only", "leave it out", subtype)
        value = inner.child(subtype)
        one, other = _TARGETS[kind]
        into.append(f"{value.scalar(one)}:{value.scalar(other)}")
    return tuple(targets), tuple(origins), next(iter(bandwidths), None)


def _bandwidth_mbps(node: Node, number: int, internal: bool) -> int:
    """Of a link (draft-ietf-idr-link-bandwidth): OTG has bytes per second, FRR's command Mbit/s and the own AS."""
    if not internal:
        node.refuse("FRR sends what is not transitive to peers of the same AS only", "leave it out, or use ibgp")
    own = number if number < 1 << 16 else _AS_TRANS
    if node.scalar("global_2byte_as") != own:
        node.refuse("FRR sends the AS of the peer itself", f"give {own}", "global_2byte_as")
    mbps = float(node.scalar("bandwidth")) * 8 / 1e6
    if not (mbps.is_integer() and 1 <= mbps <= _MOST_MBPS):
        problem = f"FRR sends whole Mbit/s, which are 125000 bytes per second each, up to {_MOST_MBPS}"
        node.refuse(problem, "give a multiple of 125000", "bandwidth")
    return int(mbps)
