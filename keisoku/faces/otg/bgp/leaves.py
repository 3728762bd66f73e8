"""The metrics and states of BGP peers as leaves of OTG's YANG models. Pure; counts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.faces.otg.leaf import Entries, Leaves, Path, Short, Value, entry, named, plain

Document = Mapping[str, Any]
_STATES = {"opensent": "OPEN_SENT", "openconfirm": "OPEN_CONFIRM"}
_BGP_COUNTERS = {
    "flaps": "session_flap_count",
    "in-routes": "routes_received",
    "out-routes": "routes_advertised",
    "in-end-of-rib": "end_of_rib_received",
} | {
    f"{side}-{name}": f"{name}_{way}"
    for name in ("updates", "opens", "keepalives", "notifications")
    for side, way in (("in", "received"), ("out", "sent"))
}


def bgp_leaves(metrics: Sequence[Document], prefixes: Sequence[Document]) -> Leaves:
    """Of BGP peers, and of the prefixes that they learned."""
    for metric in metrics:
        peer = entry("bgp-peers", ("bgp-peer", "name", str(metric["name"])))
        yield from named(peer, str(metric["name"]))
        session = str(metric["fsm_state"])
        yield peer + plain("state", "session-state"), _STATES.get(session, session.upper())
        for leaf, name in _BGP_COUNTERS.items():
            yield peer + plain("state", "counters", leaf), int(metric[name])
    for state in prefixes:
        peer = entry("bgp-peers", ("bgp-peer", "name", str(state["bgp_peer_name"])))
        for version in (4, 6):
            for prefix in state.get(f"ipv{version}_unicast_prefixes", ()):
                yield from _prefix(peer, version, prefix)


def _prefix(peer: Path, version: int, prefix: Document) -> Leaves:
    keys = {
        "address": str(prefix[f"ipv{version}_address"]),
        "origin": str(prefix["origin"]).upper(),
        "path-id": str(prefix.get("path_id", 0)),
        "prefix-length": str(prefix["prefix_length"]),
    }
    kind = f"unicast-ipv{version}-prefix"
    at: Path = (*peer, (f"{kind}es", ()), (kind, tuple(keys.items())))
    for name, text in keys.items():
        value: Value = Short(text) if name in ("path-id", "prefix-length") else text
        yield (*at, (name, ())), value
        yield at + plain("state", name), value
    for hop in ("ipv4", "ipv6"):
        if f"{hop}_next_hop" in prefix:
            yield at + plain("state", f"next-hop-{hop}-address"), str(prefix[f"{hop}_next_hop"])
    for leaf in ("local_preference", "multi_exit_discriminator"):
        if leaf in prefix:
            yield at + plain("state", leaf.replace("_", "-")), Short(prefix[leaf])
    segments = prefix["as_path"]["segments"]
    if segments:
        kinds = {"as_seq": "AS_SEQUENCE"}
        path = [
            {"segment-type": kinds.get(each["type"], each["type"].upper().replace("SEQ", "SEQUENCE"))}
            | {"as_numbers": list(each["as_numbers"])}
            for each in segments
        ]
        yield at + plain("state", "as-path"), Entries(path)
    if "communities" in prefix:
        yield at + plain("state", "community"), Entries(_community(each) for each in prefix["communities"])


def _community(community: Document) -> Document:
    kind = str(community["type"]).upper().replace("NO_ADVERTISED", "NO_ADVERTISE")
    if "as_number" not in community:
        return {"community-type": kind}
    numbers = {"custom-as-number": community["as_number"], "custom-as-value": community["as_custom"]}
    return {"community-type": kind} | numbers
