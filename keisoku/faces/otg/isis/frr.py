"""IS-IS routers in the words of FRR: configurations of its daemons, and commands that change them. Starts nothing.

A range of routes is static routes with a tag, to nowhere, in the kernel of the router's own namespace. What the router
advertises of them says a filter, so that a range of any size is withdrawn by another filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from keisoku.faces.otg.isis.routers import Hello, IsisInterface, IsisRouter, Secret
from keisoku.ground.host.program import Program
from keisoku.ground.lab.frr import ISISD

_AREA = "tester"
_WORDS = {4: "ip", 6: "ipv6"}
_TYPES = {(1,): "level-1", (2,): "level-2-only", (1, 2): "level-1-2"}


class IsisText:
    """The text for a router, and what FRR was told of it so far. `interfaces`: the kernel's names by OTG's."""

    program: Program = ISISD

    def __init__(self, router: IsisRouter, interfaces: Mapping[str, str]) -> None:
        self.router, self._interfaces = router, interfaces
        self._filters = 0

    def static(self) -> list[str]:
        """Lines for the daemon of static routes: all ranges."""
        return [
            f"{_WORDS[one.version]} route {text} blackhole tag {place + 1}"
            for place, each in enumerate(self.router.routes)
            for one in each.prefixes
            for text in one.texts()
        ]

    def networks(self) -> dict[str, list[str]]:
        """No address at an interface that ends nowhere."""
        return {}

    def links(self) -> list[str]:
        """Lines for the daemon of interfaces: what is said of them for traffic engineering."""
        found = []
        for one in self.router.interfaces:
            if (link := one.link) is not None:
                # FRR begins with the interface's own bandwidth, and takes only a greatest one that is above the others.
                words = [
                    "enable",
                    f"metric {link.metric}",
                    f"admin-grp 0x{link.groups:x}",
                    *_bandwidths(0, [0] * len(link.unreserved)),
                    f"max-bw {link.most}",
                    *_bandwidths(link.reservable, link.unreserved),
                ]
                found += [f"interface {self._interfaces[one.interface.name]}", "link-params", *words]
                found += ["exit-link-params", "exit"]
        return found

    def whole(self) -> str:
        """The configuration with which the daemon starts; all routes are advertised."""
        router = self.router
        self._filters = 0
        lines = [f"hostname {router.hostname}"] if router.hostname is not None else []
        # First of all: the first LSP begins the interval that holds then, which is 30 s if nothing is said.
        lines += [f"router isis {_AREA}", "lsp-gen-interval 1", "exit"]
        for one in router.interfaces:
            lines += [f"interface {self._interfaces[one.interface.name]}", *self._at(one), "exit"]
        net = [f"net {_dotted(area)}.{_groups(router.system_id)}.00" for area in router.areas]
        words = [
            *net,
            f"is-type {_TYPES[router.levels]}",
            f"metric-style {'wide' if router.wide else 'narrow'}",
            "spf-delay-ietf init-delay 0 short-delay 50 long-delay 500 holddown 1000 time-to-learn 500",
            f"lsp-refresh-interval {router.refresh_s}",
            f"max-lsp-lifetime {router.lifetime_s}",
            f"lsp-mtu {router.lsp_bytes}",
            "log-adjacency-changes",
            *([] if router.hostname is not None else ["no hostname dynamic"]),
            *([] if router.attached else ["no attached-bit send"]),
            *(["topology ipv6-unicast"] if router.second_topology else []),
            *_passwords("area-password", router.area_secret),
            *_passwords("domain-password", router.domain_secret),
        ]
        if router.router_id is not None or self.links():
            words.append("mpls-te on")
        if router.router_id is not None:
            words.append(f"mpls-te router-address {router.router_id}")
        return "\n".join([*lines, f"router isis {_AREA}", *words, "exit", *self.advertise(frozenset())]) + "\n"

    def advertise(self, gone: frozenset[int]) -> list[str]:
        """Commands after which the router advertises all ranges but these, by their places. FRR looks at a filter when
        it is given another one, not when its rules change."""
        routes = self.router.routes
        if not routes:
            return []
        self._filters += 1
        name = f"OUT{self._filters}"
        rules: list[str] = []
        for place, each in enumerate(routes):
            if place not in gone:
                rules += [f"route-map {name} permit {place + 1}", f"match tag {place + 1}"]
                rules += [f"set metric {each.metric}", "exit"]
        rules = rules or [f"route-map {name} deny 1", "exit"]
        words = [
            f"redistribute ipv{version} static level-{level} route-map {name}"
            for version in sorted({each.version for each in routes})
            for level in self.router.levels
        ]
        return [*rules, f"router isis {_AREA}", *words, "exit"]

    def set_interface(self, one: IsisInterface, up: bool) -> list[str]:
        """Commands after which it speaks at an interface, or does not."""
        name = self._interfaces[one.interface.name]
        if up:
            return [f"interface {name}", *self._at(one), "exit"]
        return [f"interface {name}", *(f"no {word} router isis {_AREA}" for word in _versions(one)), "exit"]

    def _at(self, one: IsisInterface) -> Iterable[str]:
        router = self.router
        yield from (f"{word} router isis {_AREA}" for word in _versions(one))
        yield f"isis circuit-type {_TYPES[tuple(one.levels)]}"
        yield "isis network point-to-point" if one.point_to_point else "no isis network point-to-point"
        if one.point_to_point and not one.three_way:
            yield "no isis three-way-handshake"
        if not router.padding:
            yield "no isis hello padding"
        for level, hello in one.levels.items():
            yield from _hello(level, hello, one, router)
        if one.secret is not None:
            yield f"isis password {one.secret.kind} {one.secret.word}"


def _bandwidths(reservable: int, unreserved: Sequence[int]) -> list[str]:
    return [
        *(f"unrsv-bw {priority} {bandwidth}" for priority, bandwidth in enumerate(unreserved)),
        f"max-rsv-bw {reservable}",
    ]


def _hello(level: int, hello: Hello, one: IsisInterface, router: IsisRouter) -> Iterable[str]:
    yield f"isis metric level-{level} {one.metric}"
    yield f"isis hello-interval level-{level} {hello.interval_s}"
    yield f"isis hello-multiplier level-{level} {hello.multiplier}"
    yield f"isis priority {hello.priority} level-{level}"
    yield f"isis psnp-interval {router.psnp_s} level-{level}"
    yield f"isis csnp-interval {router.csnp_s} level-{level}"


def _versions(one: IsisInterface) -> list[str]:
    """Of the addresses that the interface has."""
    return [_WORDS[version] for version in sorted({address.version for address in one.interface.addresses})]


def _passwords(word: str, secret: Secret | None) -> list[str]:
    return [] if secret is None else [f"{word} {secret.kind} {secret.word} authenticate snp validate"]


def _dotted(area: str) -> str:
    """An area as FRR writes it: an octet, then pairs of them."""
    return ".".join([area[:2], *(area[place : place + 4] for place in range(2, len(area), 4))])


def _groups(system_id: str) -> str:
    return ".".join(system_id[place : place + 4] for place in range(0, 12, 4))
