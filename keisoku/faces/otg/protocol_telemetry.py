"""OTG's metrics and states of protocols as leaves of the `open-traffic-generator` YANG models. Pure; counts nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keisoku.faces.otg.leaf import Entries, Names, Path, Short, Value, entry, plain

Document = Mapping[str, Any]
Leaves = Iterator[tuple[Path, Value]]
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
_LACP_COUNTERS = {
    "lacp-in-pkts": "lacp_packets_rx",
    "lacp-out-pkts": "lacp_packets_tx",
    "lacp-rx-errors": "lacp_rx_errors",
}
_LLDP_COUNTERS = {
    "frame-in": "frames_rx",
    "frame-out": "frames_tx",
    "frame-error-in": "frames_error_rx",
    "frame-discard": "frames_discard",
    "tlv-discard": "tlvs_discard",
    "tlv-unknown": "tlvs_unknown",
}
_LLDP_TEXTS = (
    *("system_name", "system_description", "chassis_id", "port_id", "port_description"),
    *("management_address", "management_address_type"),
)
_LSAS = {
    "router_lsas": "router-lsa",
    "network_lsas": "network-lsa",
    "network_summary_lsas": "network-summary-lsa",
    "summary_as_lsas": "summary-as-lsa",
    "external_as_lsas": "external-as-lsa",
    "nssa_lsas": "nssa-lsa",
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


def bgp_leaves(metrics: Sequence[Document], prefixes: Sequence[Document]) -> Leaves:
    """Of BGP peers, and of the prefixes that they learned."""
    for metric in metrics:
        peer = entry("bgp-peers", ("bgp-peer", "name", str(metric["name"])))
        yield from _named(peer, str(metric["name"]))
        session = str(metric["fsm_state"])
        yield peer + plain("state", "session-state"), _STATES.get(session, session.upper())
        for leaf, name in _BGP_COUNTERS.items():
            yield peer + plain("state", "counters", leaf), int(metric[name])
    for state in prefixes:
        peer = entry("bgp-peers", ("bgp-peer", "name", str(state["bgp_peer_name"])))
        for version in (4, 6):
            for prefix in state.get(f"ipv{version}_unicast_prefixes", ()):
                yield from _prefix(peer, version, prefix)


def isis_leaves(metrics: Sequence[Document], lsps: Sequence[Document], adjacencies: Sequence[Document]) -> Leaves:
    """Of IS-IS routers, of the LSPs that they learned, and of their adjacencies."""
    for metric in metrics:
        router = _router(str(metric["name"]))
        yield from _named(router, str(metric["name"]))
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


def ospf_leaves(metrics: Sequence[Document], lsas: Sequence[Document]) -> Leaves:
    """Of OSPFv2 routers, and of the LSAs that they learned."""
    for metric in metrics:
        router = _ospf_router(str(metric["name"]))
        yield from _named(router, str(metric["name"]))
        for leaf, name in _OSPF_COUNTERS.items():
            yield router + plain("state", "counters", leaf), int(metric[name])
    for state in lsas:
        for kind, leaf in _LSAS.items():
            for lsa in state.get(kind, ()):
                inside = plain("state", "link-state-database", "lsa-states")
                yield from _lsa(_ospf_router(str(state["router_name"])) + inside, leaf, lsa)


def lldp_leaves(metrics: Sequence[Document], neighbours: Sequence[Document]) -> Leaves:
    """Of LLDP agents, and of the neighbours that they found."""
    for metric in metrics:
        agent = _agent(str(metric["name"]))
        yield from _named(agent, str(metric["name"]))
        for leaf, name in _LLDP_COUNTERS.items():
            yield agent + plain("state", "counters", leaf), int(metric[name])
    for state in neighbours:
        inside = plain("state", "lldp-neighbor-database", "lldp-neighbors")
        yield from _lldp_neighbour(_agent(str(state["lldp_name"])) + inside, state)


def lacp_leaves(metrics: Sequence[Document]) -> Leaves:
    """Of the members of LAGs with LACP."""
    for metric in metrics:
        name = str(metric["lag_member_port_name"])
        member = entry("lacp", "lag-members", ("lag-member", "name", name))
        yield from _named(member, name)
        for each in ("activity", "timeout", "synchronization"):
            yield member + plain("state", each), str(metric[each]).upper()
        for each in ("aggregatable", "collecting", "distributing"):
            yield member + plain("state", each), bool(metric[each])
        for each in ("system_id", "partner_id"):
            if each in metric:
                yield member + plain("state", each.replace("_", "-")), str(metric[each])
        for each in ("oper_key", "partner_key", "port_num", "partner_port_num"):
            if each in metric:
                yield member + plain("state", each.replace("_", "-")), Short(metric[each])
        for leaf, each in _LACP_COUNTERS.items():
            yield member + plain("state", "counters", leaf), int(metric[each])


def _agent(name: str) -> Path:
    return entry("lldps", ("lldp-interface", "name", name))


def _lldp_neighbour(inside: Path, state: Document) -> Leaves:
    """Some of the model's names have an underscore."""
    key = str(state["neighbor_id"])
    at = inside + entry(("lldp-neighbor", "neighbor_id", key))
    yield (*at, ("neighbor_id", ())), key
    yield at + plain("state", "neighbor_id"), key
    for name in _LLDP_TEXTS:
        if name in state:
            yield at + plain("state", name.replace("_", "-")), str(state[name])
    for name in ("chassis_id_type", "port_id_type"):
        if name in state:
            yield at + plain("state", name.replace("_", "-")), str(state[name]).upper()
    for name in ("age", "ttl"):
        if name in state:
            yield at + plain("state", name), Short(state[name])
    for tlv in state["custom_tlvs"]:
        keys = {"custom-type": tlv["custom_type"], "oui": tlv["oui"], "oui-subtype": tlv["oui_subtype"]}
        place: Path = (*at, ("custom-tlv", tuple((name, str(value)) for name, value in keys.items())))
        for name, value in keys.items():
            written: Value = value if name == "oui" else Short(value)
            yield (*place, (name, ())), written
            yield place + plain("state", name), written
    for one in state["capabilities"]:
        name = str(one["capability_name"]).upper()
        place = at + entry(("capabilities", "name", name))
        yield (*place, ("name", ())), name
        yield place + plain("state", "name"), name
        yield place + plain("state", "enabled"), bool(one["capability_enabled"])


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


def _router(name: str) -> Path:
    return entry("isis-routers", ("isis-router", "name", name))


def _named(at: Path, name: str) -> Leaves:
    yield (*at, ("name", ())), name
    yield at + plain("state", "name"), name


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
