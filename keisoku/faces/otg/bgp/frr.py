"""BGP peers in the words of FRR: its configuration, and the commands that change it. Starts nothing.

Each peer is a view of its own, which is a BGP router with its own AS, identifier and table of routes that no kernel
sees: nothing that one peer learns is passed on by another, as an OTG device passes nothing on. Others cannot begin
sessions with a view, so peers of a device that listens are in one table, of which each sends its own ranges alone.

A range of routes is the networks of its view with a tag, and the filter for what leaves sets the attributes by these
tags. So a range of any size is withdrawn by one other filter. Prefixes that several ranges have are one more part with
a tag of its own, which leaves as long as one of them does. Filters are shared by all peers with the same rules, because
FRR needs for each further route map longer than for the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from keisoku.faces.otg.bgp.peers import Attributes, BgpPeer, BgpRoutes

_CONNECT_AGAIN_S = 1
_OWN_AS = 10
"""How often a learned path may have the peer's own AS: the most that FRR takes."""
_DEFAULT = ("router bgp 65535", "exit")
"""For each route FRR looks for the instance that is no view, through all others if there is none at the front."""
_VERSIONS = {4: "ipv4 unicast", 6: "ipv6 unicast"}


def view(number: int) -> str:
    """The name of the view of a peer, by its number."""
    return f"p{number}"


class BgpText:
    """The text for some peers, and what FRR was told of them so far."""

    def __init__(self, peers: Sequence[BgpPeer], interfaces: Mapping[str, str], listens: bool = False) -> None:
        """`interfaces`: the kernel's names by OTG's. `listens`: others can begin sessions, and all peers are of one
        device."""
        self._peers, self._interfaces, self._listens = peers, interfaces, listens
        self._parts = [_parts(peer) for peer in peers]
        self._filters: dict[tuple[str, ...], str] = {}
        self._applied: list[str] = []

    def whole(self) -> str:
        """The configuration with which the daemon starts; all routes are advertised."""
        counts = [len(parts) for parts in self._parts]
        most = sum(counts) if self._listens else max(counts, default=0)
        tags = [f"route-map {_tag(place)} permit 10\n set tag {place + 1}\nexit" for place in range(most)]
        self._applied = [self._filter(self._rules(number, frozenset())) for number in range(len(self._peers))]
        filters = [line for rules, name in self._filters.items() for line in _filter_lines(name, rules)]
        views = [line for number in range(len(self._peers)) for line in self._view(number)]
        default = () if self._listens else _DEFAULT
        return "\n".join([*default, *tags, *filters, *views]) + "\n"

    def _rules(self, number: int, gone: frozenset[int]) -> tuple[str, ...]:
        return _rules(self._peers[number], self._parts[number], gone, self._first(number))

    def _first(self, number: int) -> int:
        """How many tags those of a peer follow."""
        return sum(len(parts) for parts in self._parts[:number]) if self._listens else 0

    def withdraw(self, gone: Mapping[int, frozenset[int]]) -> list[str]:
        """Commands after which peers, by number, advertise all ranges but these, by their places."""
        commands: list[str] = []
        for number, places in gone.items():
            peer = self._peers[number]
            rules = self._rules(number, places)
            known = rules in self._filters
            name = self._filter(rules)
            if name == self._applied[number]:
                continue
            self._applied[number] = name
            if not known:
                commands += _filter_lines(name, rules)
            word = f"neighbor {peer.far} route-map {name} out"
            commands += self._in_view(number, *_in_families({version: [word] for version in peer.families}))
        return commands

    def set_peers(self, numbers: Iterable[int], up: bool) -> list[str]:
        """Commands after which peers, by number, are up or down."""
        commands: list[str] = []
        for number in numbers:
            commands += self._in_view(number, f"{'no ' if up else ''}neighbor {self._peers[number].far} shutdown")
        return commands

    def _filter(self, rules: tuple[str, ...]) -> str:
        """The name of the filter with these rules."""
        return self._filters.setdefault(rules, f"OUT{len(self._filters) + 1}")

    def _view(self, number: int) -> list[str]:
        peer = self._peers[number]
        far, timers, restart = f"neighbor {peer.far}", peer.timers, peer.restart
        words = [
            f"bgp router-id {peer.router_id}",
            "no bgp ebgp-requires-policy",
            "no bgp network import-check",
            "no bgp default ipv4-unicast",
            f"{far} remote-as {'internal' if peer.internal else 'external'}",
            f"{far} interface {self._interfaces[peer.interface.name]}",
            f"{far} update-source {peer.address.ip}",
            f"{far} timers {timers.keepalive_s} {timers.hold_s}",
            f"{far} timers connect {_CONNECT_AGAIN_S}",
            f"{far} advertisement-interval {timers.update_s}",
        ]
        if not peer.internal and peer.ttl > 1:
            words.append(f"{far} ebgp-multihop {peer.ttl}")
        if peer.password is not None:
            words.append(f"{far} password {peer.password}")
        if peer.passive:
            words.append(f"{far} passive")
        if peer.port != 179:
            words.append(f"{far} port {peer.port}")
        if peer.extended_next_hop:
            words.append(f"{far} capability extended-nexthop")
        if restart is not None:
            words += [f"bgp graceful-restart restart-time {restart.restart_s}", f"{far} graceful-restart"]
            if restart.stale_s is not None:
                words.append(f"bgp long-lived-graceful-restart stale-time {restart.stale_s}")
        name = self._applied[number]

        def family(version: int) -> list[str]:
            networks = [
                f"network {text} route-map {_tag(place)}"
                for place, (owners, texts) in enumerate(self._parts[number].items(), self._first(number))
                if peer.routes[owners[0]].version == version
                for text in texts
            ]
            paths = [f"{far} addpath-tx-all-paths"] if version in peer.numbered else []
            learns = [f"{far} allowas-in {_OWN_AS}"] if peer.learns_own_as else []
            hides = [f"{far} attribute-unchanged as-path"] if peer.hides else []
            return [f"{far} activate", *learns, *hides, f"{far} route-map {name} out", *paths, *networks]

        return self._in_view(number, *words, *_in_families({version: family(version) for version in peer.families}))

    def _in_view(self, number: int, *words: str) -> list[str]:
        where = "" if self._listens else f" view {view(number)}"
        return [f"router bgp {self._peers[number].as_number}{where}", *words, "exit"]


def _in_families(words: Mapping[int, Sequence[str]]) -> list[str]:
    found: list[str] = []
    for version, inside in words.items():
        found += [f"address-family {_VERSIONS[version]}", *inside, "exit-address-family"]
    return found


def _tag(place: int) -> str:
    return f"TAG{place + 1}"


def _filter_lines(name: str, rules: tuple[str, ...]) -> list[str]:
    return [line for rule in rules for line in (*f"route-map {name} {rule}".splitlines(), "exit")]


_Parts = Mapping[tuple[int, ...], Sequence[str]]
"""Prefixes of a peer, by the places of the ranges that have them."""


def _parts(peer: BgpPeer) -> _Parts:
    """A range is one of them unless it shares prefixes with others."""
    if not peer.routes_may_meet:
        return {(place,): list(each.texts()) for place, each in enumerate(peer.routes) if each.prefixes}
    owners: dict[str, tuple[int, ...]] = {}
    for place, each in enumerate(peer.routes):
        for text in each.texts():
            owners[text] = (*owners.get(text, ()), place)
    found: dict[tuple[int, ...], list[str]] = {}
    for text, places in owners.items():
        found.setdefault(places, []).append(text)
    return found


def _rules(peer: BgpPeer, parts: _Parts, gone: frozenset[int], first: int) -> tuple[str, ...]:
    """One rule for each part, whose tags follow so many others, as lines behind the name of the filter. What no rule
    permits does not leave, which includes what the peer learned itself."""
    # Where FRR puts its own AS before no path that is there, those that begin with it are given as a whole.
    own = (peer.as_number,) if peer.hides else ()
    rules = (
        _rule(place, first, peer.routes[owners[0]], gone.issuperset(owners), own) for place, owners in enumerate(parts)
    )
    return tuple(rules) or ("deny 1",)


def _rule(place: int, first: int, routes: BgpRoutes, gone: bool, own: tuple[int, ...]) -> str:
    sets = [] if gone else list(_sets(routes.attributes, routes.version, own))
    return "\n".join([f"{'deny' if gone else 'permit'} {place + 1}", f"match tag {first + place + 1}", *sets])


def _sets(attributes: Attributes, version: int, own: tuple[int, ...]) -> Iterable[str]:
    if attributes.origin != "igp":
        yield f"set origin {attributes.origin}"
    if attributes.discriminator is not None:
        yield f"set metric {attributes.discriminator}"
    if attributes.local_preference is not None:
        yield f"set local-preference {attributes.local_preference}"
    if attributes.path:
        path = (own if attributes.own_first else ()) + attributes.path
        yield f"set as-path prepend {' '.join(map(str, path))}"
    if attributes.communities:
        yield f"set community {' '.join(attributes.communities)}"
    if attributes.targets:
        yield f"set extcommunity rt {' '.join(attributes.targets)}"
    if attributes.origins:
        yield f"set extcommunity soo {' '.join(attributes.origins)}"
    if attributes.bandwidth_mbps is not None:
        yield f"set extcommunity bandwidth {attributes.bandwidth_mbps} non-transitive"
    if attributes.next_hop is not None:
        yield f"set {'ipv6 next-hop global' if ':' in attributes.next_hop else 'ip next-hop'} {attributes.next_hop}"
