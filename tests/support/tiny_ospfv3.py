"""docs/recipes.md, "A new protocol of OTG's routers": OSPFv3 with the least that a folder of a protocol has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.faces.otg.device.device import Interface
from keisoku.faces.otg.device.route_range import Prefixes, some_prefixes
from keisoku.faces.otg.device.router import Answers, Document, RouterProtocol, RouterState
from keisoku.faces.otg.leaf import Leaves, entry, named
from keisoku.faces.otg.reading.node import Node
from keisoku.ground.host.program import Program

OSPF6D = Program("ospf6d", "frr")


@dataclass(frozen=True)
class At:
    interface: Interface
    area: str


@dataclass(frozen=True)
class Routes:
    name: str
    path: str
    prefixes: tuple[Prefixes, ...]


@dataclass(frozen=True)
class Ospf6Router:
    name: str
    path: str
    device: str
    interfaces: tuple[At, ...]
    routes: tuple[Routes, ...]


def ospf6_routers(document: Node, interfaces: Sequence[Interface]) -> tuple[Ospf6Router, ...]:
    devices = [device for device in document.children("devices") if device.has("ospfv3")]
    return tuple(_router(device, [one for one in interfaces if one.device == device.path]) for device in devices)


def _router(device: Node, own: Sequence[Interface]) -> Ospf6Router:
    (node,) = device.child("ospfv3").children("instances")
    for name in ("lsa_retransmit_time", "lsa_refresh_time", "inter_burst_lsu_interval", "store_lsa"):
        node.without_effect(name, "FRR's own is used")
    by_address = {address.name: one for one in own for address in one.addresses}
    for each in (*node.children("interfaces"), *node.children("v6_routes")):
        for name in each.fields & {"instance_id", "metric"}:
            each.without_effect(name, "FRR's own is used")
    found = [
        At(by_address[each.scalar("ipv6_name")], str(each.child("area").scalar("ip")))
        for each in node.children("interfaces")
        if each.scalar("name") and each.child("area").choice() == "ip"
    ]
    routes = [Routes(each.scalar("name"), each.path, some_prefixes(each, 6)) for each in node.children("v6_routes")]
    return Ospf6Router(str(node.scalar("name")), node.path, device.path, tuple(found), tuple(routes))


class Ospf6Text:
    program = OSPF6D

    def __init__(self, router: Ospf6Router, interfaces: Mapping[str, str]) -> None:
        self._router, self._kernel = router, interfaces

    def static(self) -> list[str]:
        prefixes = [text for each in self._router.routes for one in each.prefixes for text in one.texts()]
        return [f"ipv6 route {text} blackhole" for text in prefixes]

    def networks(self) -> dict[str, list[str]]:
        return {}

    def links(self) -> list[str]:
        return []

    def whole(self) -> str:
        lines = [line for one in self._router.interfaces for line in self.set_interface(one, up=True)]
        return "".join(f"{line}\n" for line in [*lines, "router ospf6", "redistribute static", "exit"])

    def advertise(self, gone: frozenset[int]) -> list[str]:
        return ["router ospf6", "no redistribute static" if gone else "redistribute static", "exit"]

    def set_interface(self, one: At, up: bool) -> list[str]:
        no = "" if up else "no "
        return [f"interface {self._kernel[one.interface.name]}", f"{no}ipv6 ospf6 area {one.area}", "exit"]


def _metric(router: Ospf6Router, answers: Answers) -> Document:
    found: Sequence[Mapping[str, Any]] = answers.answer("show ipv6 ospf6 neighbor json").get("neighbors", [])
    return {"name": router.name, "full_state_count": sum(each["state"] == "Full" for each in found)}


def _lsas(router: Ospf6Router, answers: Answers) -> Document:
    return {"router_name": router.name}


def ospf6_leaves(metrics: Sequence[Document], lsas: Sequence[Document]) -> Iterator[Any]:
    def of(metric: Document) -> Leaves:
        return named(entry("ospfv3-routers", ("ospfv3-router", "name", metric["name"])), metric["name"])

    return (leaf for metric in metrics for leaf in of(metric))


OSPF6 = RouterProtocol(
    name="ospfv3",
    word="OSPFv3 router",
    read=ospf6_routers,
    text=Ospf6Text,
    metric=_metric,
    states={"ospfv3_lsas": RouterState("router_names", _lsas, "lsas6", ("link-state-database",))},
    leaves=ospf6_leaves,
)
