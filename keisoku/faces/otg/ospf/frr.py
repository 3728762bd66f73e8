"""OSPFv2 routers in the words of FRR: configurations of its daemons, and commands that change them. Starts nothing.

A range of external routes is static routes with a tag, as in IS-IS. Routes of OSPF itself are networks at an interface
that ends nowhere: in the area of the router, or in another one, from which the router summarizes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keisoku.faces.otg.ospf.routers import OspfInterface, OspfRouter
from keisoku.ground.host.program import Program
from keisoku.ground.lab.frr import OSPFD

_BACKBONE, _BEHIND = "0.0.0.0", "255.255.255.254"
_KEEPER, _KEPT = "n-kept", "192.0.2.1/32"
"""A network (RFC 5737) of the other area that is never summarized. FRR flushes no summary when the last network of an
area goes, because it then is no border router any more."""
_FIRST_TAG = 10_001
"""IS-IS has those below."""


class OspfText:
    """The text for a router, and what FRR was told of it so far. `interfaces`: the kernel's names by OTG's."""

    program: Program = OSPFD

    def __init__(self, router: OspfRouter, interfaces: Mapping[str, str]) -> None:
        self.router, self._interfaces = router, interfaces
        self._filters = 0
        self._other_area = _BEHIND if any(one.area == _BACKBONE for one in router.interfaces) else _BACKBONE

    def static(self) -> list[str]:
        """Lines for the daemon of static routes: all external ranges."""
        return [
            f"ip route {text} blackhole tag {_FIRST_TAG + place}"
            for place, each in enumerate(self.router.routes)
            if each.external
            for one in each.prefixes
            for text in one.texts()
        ]

    def networks(self) -> dict[str, list[str]]:
        """Addresses at interfaces that end nowhere, by their names: all ranges that are not external."""
        found = {
            _network(place): [f"{one.host(at)}/{one.length}" for one in each.prefixes for at in range(one.count)]
            for place, each in enumerate(self.router.routes)
            if not each.external
        }
        return found | ({_KEEPER: [_KEPT]} if self._summarizes else {})

    def links(self) -> list[str]:
        """Nothing for the daemon of interfaces."""
        return []

    @property
    def _summarizes(self) -> bool:
        return any(each.origin == "inter_area" for each in self.router.routes)

    def whole(self) -> str:
        """The configuration with which the daemon starts; all routes are advertised."""
        router = self.router
        self._filters = 0
        lines: list[str] = []
        for one in router.interfaces:
            lines += [f"interface {self._interfaces[one.interface.name]}", *self._at(one), "exit"]
        for place, each in enumerate(router.routes):
            if not each.external:
                lines += [f"interface {_network(place)}", "ip ospf passive", f"ip ospf cost {each.metric}", "exit"]
        words = [
            f"ospf router-id {router.router_id}",
            "log-adjacency-changes detail",
            "timers throttle spf 10 50 500",
            # Without these a router tells of a change only 5 s after it last did, and does not hear two in a second.
            "timers throttle lsa all 0",
            "timers lsa min-arrival 0",
            *(["graceful-restart helper enable"] if router.helps else []),
        ]
        if self._summarizes:
            lines += [f"interface {_KEEPER}", "ip ospf passive", f"ip ospf area {self._other_area}", "exit"]
            words.append(f"area {self._other_area} range {_KEPT} not-advertise")
        return "\n".join([*lines, "router ospf", *words, "exit", *self.advertise(frozenset())]) + "\n"

    def advertise(self, gone: frozenset[int]) -> list[str]:
        """Commands after which the router advertises all ranges but these, by their places."""
        commands: list[str] = []
        rules: list[str] = []
        self._filters += 1
        name = f"OSPF{self._filters}"
        for place, each in enumerate(self.router.routes):
            if each.external and place not in gone:
                rules += [f"route-map {name} permit {place + 1}", f"match tag {_FIRST_TAG + place}"]
                rules += [f"set metric {each.metric}", f"set metric-type type-{each.origin[-1]}", "exit"]
            elif not each.external:
                area = self.router.interfaces[0].area if each.origin == "intra_area" else self._other_area
                no = "no " if place in gone else ""
                commands += [f"interface {_network(place)}", f"{no}ip ospf area {area}", "exit"]
        if any(each.external for each in self.router.routes):
            rules = rules or [f"route-map {name} deny 1", "exit"]
            commands += [*rules, "router ospf", f"redistribute static route-map {name}", "exit"]
        return commands

    def set_interface(self, one: OspfInterface, up: bool) -> list[str]:
        """Commands after which it speaks at an interface, or does not."""
        name = self._interfaces[one.interface.name]
        return [f"interface {name}", *(self._at(one) if up else [f"no ip ospf area {one.area}"]), "exit"]

    def _at(self, one: OspfInterface) -> Iterable[str]:
        yield f"ip ospf area {one.area}"
        yield f"ip ospf network {'point-to-point' if one.point_to_point else 'broadcast'}"
        yield f"ip ospf hello-interval {one.hello_s}"
        yield f"ip ospf dead-interval {one.dead_s}"
        yield f"ip ospf cost {one.cost}"
        yield f"ip ospf priority {one.priority}"
        yield f"ip ospf retransmit-interval {self.router.retransmit_s}"
        if not one.checks_mtu:
            yield "ip ospf mtu-ignore"
        if one.password is not None:
            yield from ("ip ospf authentication", f"ip ospf authentication-key {one.password}")
        if one.keys:
            yield "ip ospf authentication message-digest"
            yield from (f"ip ospf message-digest-key {number} md5 {key}" for number, key in one.keys)


def _network(place: int) -> str:
    return f"n{place}"
