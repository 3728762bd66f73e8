"""The metrics and states of IS-IS routers as leaves of OTG's YANG models. Pure; counts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.faces.otg.leaf import Leaves, Names, Path, Short, entry, named, plain

Document = Mapping[str, Any]
_ISIS_LEVEL = {
    "sessions-up": "sessions_up",
    "sessions-flap": "session_flap",
    "database-size": "database_size",
} | {
    f"{side}-{short}": f"{name}_{way}"
    for short, name in (
        ("bcast-hellos", "broadcast_hellos"),
        ("p2p-hellos", "point_to_point_hellos"),
        ("psnp", "psnp"),
        ("csnp", "csnp"),
        ("lsp", "lsp"),
    )
    for side, way in (("in", "received"), ("out", "sent"))
}
_RESTARTS = ("gr_initiated", "gr_succeeded", "neighbor_gr_initiated", "neighbor_gr_succeeded")
_NEIGHBOURS = {
    "is_reachability_tlvs": "is-reachability",
    "extended_is_reachability_tlvs": "extended-is-reachability",
}
_REACHES = {
    "ipv4_internal_reachability_tlvs": "ipv4-internal-reachability",
    "ipv4_external_reachability_tlvs": "ipv4-external-reachability",
    "extended_ipv4_reachability_tlvs": "extended-ipv4-reachability",
    "ipv6_reachability_tlvs": "ipv6-reachability",
}
_SHORT = ("remaining_lifetime", "sequence_number", "pdu_length", "prefix_length", "metric", "default_metric")


def isis_leaves(metrics: Sequence[Document], lsps: Sequence[Document], adjacencies: Sequence[Document]) -> Leaves:
    """Of IS-IS routers, of the LSPs that they learned, and of their adjacencies."""
    for metric in metrics:
        router = _router(str(metric["name"]))
        yield from named(router, str(metric["name"]))
        for level in (1, 2):
            for leaf, name in _ISIS_LEVEL.items():
                yield router + plain("state", "counters", f"level{level}", leaf), int(metric[f"l{level}_{name}"])
        for name in _RESTARTS:
            yield router + plain("state", "counters", name.replace("_", "-")), int(metric[name])
    for state in lsps:
        for lsp in state["lsps"]:
            yield from _lsp(_router(str(state["isis_router_name"])), lsp)
    for state in adjacencies:
        for adjacency in state["adjacency_states"]:
            yield from _adjacency(_router(str(state["isis_router_name"])), adjacency)


def _router(name: str) -> Path:
    return entry("isis-routers", ("isis-router", "name", name))


def _lsp(router: Path, lsp: Document) -> Leaves:
    keys = {"lsp-id": str(lsp["lsp_id"]), "pdu-type": str(lsp["pdu_type"]).upper()}
    at: Path = (*router, *plain("state", "link-state-database", "lsp-states"), ("lsps", tuple(keys.items())))
    for name, text in keys.items():
        yield (*at, (name, ())), text
        yield at + plain("state", name), text
    for name in _SHORT[:3]:
        yield at + plain("state", name.replace("_", "-")), Short(lsp[name])
    yield at + plain("state", "flags"), Names(name.upper() for name, is_set in lsp["flags"].items() if is_set)
    tlvs, inside = lsp["tlvs"], at + plain("tlvs")
    hosts = Names(each["hostname"] for each in tlvs.get("hostname_tlvs", ()))
    if hosts:
        yield inside + plain("hostnames", "state", "hostname"), hosts
    for kind, name in _NEIGHBOURS.items():
        for neighbour in (each for tlv in tlvs.get(kind, ()) for each in tlv["neighbors"]):
            system_id = str(neighbour["system_id"])
            place = inside + entry(name, "neighbors", ("neighbor", "system-id", system_id))
            yield (*place, ("system-id", ())), system_id
            yield place + plain("state", "system-id"), system_id
    for kind, name in _REACHES.items():
        for prefix in (each for tlv in tlvs.get(kind, ()) for each in tlv["prefixes"]):
            yield from _reach(inside + plain(name, "prefixes"), prefix)


def _reach(at: Path, prefix: Document) -> Leaves:
    address = str(prefix.get("ipv4_address") or prefix["ipv6_address"])
    place = at + entry(("prefix", "prefix", address))
    yield (*place, ("prefix", ())), address
    yield place + plain("state", "prefix"), address
    for name in _SHORT[3:]:
        if name in prefix:
            yield place + plain("state", name.replace("_", "-")), Short(prefix[name])
    for name in ("redistribution_type", "origin_type"):
        if name in prefix:
            yield place + plain("state", name.replace("_", "-")), str(prefix[name]).upper()


def _adjacency(router: Path, adjacency: Document) -> Leaves:
    keys = {"interface-name": adjacency["interface_name"], "neighbor-system-id": adjacency["neighbor_system_id"]}
    at: Path = (*router, *plain("state", "adjacencies", "state"), ("adjacency", tuple(keys.items())))
    for name, text in keys.items():
        yield (*at, (name, ())), text
        yield at + plain("state", name), text
    for side, status in (("local", "local"), ("neighbor", "neigh")):
        state = adjacency[f"{side}_state"]
        place = at + plain("state", f"{side}-state", "state")
        yield place + plain("level-type"), str(state["level_type"]).upper()
        yield place + plain("hold-timer"), Short(state["hold_timer"])
        running = str(state["restarting_status"]["state"]).upper()
        yield place + plain(f"{status}-restarting-status", "state", "current-state"), running
