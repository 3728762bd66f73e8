"""The metrics and states of OSPFv2 routers as leaves of OTG's YANG models. Pure; counts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.faces.otg.leaf import Leaves, Names, Path, Short, entry, named, plain

Document = Mapping[str, Any]
_OSPF_COUNTERS = {
    "sessions-up": "full_state_count",
    "sessions-down": "down_state_count",
    "sessions-flap": "sessions_flap",
} | {
    f"{side}-{short}": f"{name}_{way}"
    for short, name in (
        ("hellos", "hellos"),
        ("dbds", "dbd"),
        ("ls-requests", "ls_request"),
        ("ls-updates", "ls_update"),
        ("ls-acks", "ls_ack"),
    )
    for side, way in (("in", "received"), ("out", "sent"))
}
_LSAS = {
    "router_lsas": "router-lsa",
    "network_lsas": "network-lsa",
    "network_summary_lsas": "network-summary-lsa",
    "summary_as_lsas": "summary-as-lsa",
    "external_as_lsas": "external-as-lsa",
    "nssa_lsas": "nssa-lsa",
}


def ospf_leaves(metrics: Sequence[Document], lsas: Sequence[Document]) -> Leaves:
    """Of OSPFv2 routers, and of the LSAs that they learned."""
    for metric in metrics:
        router = _ospf_router(str(metric["name"]))
        yield from named(router, str(metric["name"]))
        for leaf, name in _OSPF_COUNTERS.items():
            yield router + plain("state", "counters", leaf), int(metric[name])
    for state in lsas:
        for kind, leaf in _LSAS.items():
            for lsa in state.get(kind, ()):
                inside = plain("state", "link-state-database", "lsa-states")
                yield from _lsa(_ospf_router(str(state["router_name"])) + inside, leaf, lsa)


def _ospf_router(name: str) -> Path:
    return entry("ospfv2-routers", ("ospfv2-router", "name", name))


def _lsa(database: Path, kind: str, lsa: Document) -> Leaves:
    head = lsa["header"]
    key = str(head["lsa_id"])
    at = database + entry((kind, "link-state-id", key))
    yield (*at, ("link-state-id", ())), key
    yield at + plain("state", "link-state-id"), key
    yield at + plain("state", "advertising-router"), str(head["advertising_router_id"])
    yield at + plain("state", "sequence-number"), Short(head["sequence_number"])
    yield at + plain("state", "age"), Short(head["age"])
    for name in ("network_mask", "forwarding_address"):
        if name in lsa:
            yield at + plain("state", name.replace("_", "-")), str(lsa[name])
    for name in ("metric", "metric_type"):
        if name in lsa:
            yield at + plain("state", name.replace("_", "-")), Short(lsa[name])
    if "neighbor_router_ids" in lsa:
        yield at + plain("state", "attached-router"), Names(lsa["neighbor_router_ids"])
    for link in lsa.get("links", ()):
        place = at + entry("state", ("link", "id", str(link["id"])))
        yield (*place, ("id", ())), str(link["id"])
        yield place + plain("state", "type"), str(link["type"]).upper()
        yield place + plain("state", "id"), str(link["id"])
        yield place + plain("state", "data"), str(link["data"])
        yield place + plain("state", "metric"), Short(link["metric"])
