"""What FRR says of OSPFv2 routers, in the words of OTG: metrics and learned LSAs. Asks nobody.

FRR counts packets and no single LSAs; those are counted at the interfaces. Adds no field that OTG does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any

from keisoku.faces.otg.ospf.routers import OspfRouter
from keisoku.ground.lab.lsa_count import ACKNOWLEDGEMENT, Kind

Document = dict[str, Any]
_PACKETS = {"hellos": "hello", "dbd": "dbDesc", "ls_request": "lsReq", "ls_update": "lsUpd", "ls_ack": "lsAck"}
_GONE_S = 3600
"""MaxAge: an LSA that is being flushed (RFC 2328, §14)."""
KINDS = {
    "router": ("routerLinkStates", "router_lsas"),
    "network": ("networkLinkStates", "network_lsas"),
    "summary": ("summaryLinkStates", "network_summary_lsas"),
    "asbr-summary": ("asbrSummaryLinkStates", "summary_as_lsas"),
    "external": ("asExternalLinkStates", "external_as_lsas"),
    "nssa-external": ("nssaExternalLinkStates", "nssa_lsas"),
}
"""FRR's names of types of LSAs: the member of its JSON, and OTG's list of them."""
_LSA_KINDS = {
    "lsa_ack": (ACKNOWLEDGEMENT,),
    "router_lsa": (1,),
    "network_lsa": (2,),
    "summary_lsa": (3, 4),
    "external_lsa": (5,),
    "nssa_lsa": (7,),
    "opaque_local": (9,),
    "opaque_area": (10,),
    "opaque_domain": (11,),
}
"""LS types of what OTG counts."""
_LINKS = {"p": "point_to_point", "T": "transit", "S": "stub", "V": "virtual"}


def ospf_metric(
    router: OspfRouter,
    neighbours: Mapping[str, Any],
    traffic: Mapping[str, Any],
    log: str,
    lsas: Mapping[Kind, int] | None,
) -> Document:
    """A metric of a router; the rest is FRR's account, empty before the protocols are started, its log, and how many
    LSAs passed its interfaces, None if that is not known."""
    states = [str(each["nbrState"]) for found in neighbours.get("neighbors", {}).values() for each in found]
    metric: Document = {
        "name": router.name,
        "full_state_count": sum(state.startswith("Full") for state in states),
        "down_state_count": sum(state.startswith("Down") for state in states),
        "sessions_flap": len(re.findall(r"AdjChg: .*: Full -> ", log)),
    }
    for name, key in _PACKETS.items():
        for way, side in (("sent", "Out"), ("received", "In")):
            metric[f"{name}_{way}"] = sum(int(counts.get(f"{key}{side}", 0)) for counts in traffic.values())
    return metric if lsas is None else metric | _lsa_counts(lsas)


def _lsa_counts(lsas: Mapping[Kind, int]) -> dict[str, int]:
    found = {}
    for way, sent in (("sent", True), ("received", False)):
        for name, kinds in _LSA_KINDS.items():
            found[f"{name}_{way}"] = sum(lsas.get((sent, kind), 0) for kind in kinds)
        found[f"lsa_{way}"] = sum(
            count for (was_sent, kind), count in lsas.items() if was_sent is sent and kind != ACKNOWLEDGEMENT
        )
    return found


def lsa_state(router: OspfRouter, databases: Mapping[str, Mapping[str, Any]]) -> Document:
    """The LSAs of other routers that a router learned, by `KINDS`; none unless the script wants to read them."""
    found: Document = {"router_name": router.name}
    areas = {one.area for one in router.interfaces}
    for kind, (member, name) in KINDS.items():
        learned = list(_learned(router, databases.get(kind, {}).get(member, {}), areas)) if router.learns else []
        if learned:
            found[name] = [_lsa(kind, each) for each in learned]
    return found


def _learned(router: OspfRouter, states: Any, areas: set[str]) -> Iterator[Mapping[str, Any]]:
    """Of an AS, or of the areas in which the router has neighbours."""
    lists: Sequence[Any] = [states]
    if isinstance(states, dict):
        lists = [each for area, each in states.get("areas", {}).items() if area in areas]
    for each in (lsa for lsas in lists for lsa in lsas):
        if each["advertisingRouter"] != router.router_id and int(each["lsaAge"]) < _GONE_S:
            yield each


def _lsa(kind: str, lsa: Mapping[str, Any]) -> Document:
    found: Document = {
        "header": {
            "lsa_id": str(lsa["linkStateId"]),
            "advertising_router_id": str(lsa["advertisingRouter"]),
            "sequence_number": int(str(lsa["lsaSeqNumber"]), 16),
            "age": int(lsa["lsaAge"]),
        }
    }
    if kind == "router":
        return found | {"links": [_link(each) for each in lsa.get("routerLinks", {}).values()]}
    found["network_mask"] = str(IPv4Network(f"0.0.0.0/{int(lsa['networkMask'])}").netmask)
    if kind == "network":
        return found | {"neighbor_router_ids": [str(each) for each in lsa.get("attachedRouters", {})]}
    found["metric"] = int(lsa["metric"] if "metric" in lsa else lsa["tos0Metric"])
    if "metricType" in lsa:
        found["metric_type"] = 1 if str(lsa["metricType"]).startswith("E1") else 2
    if kind == "nssa-external":
        found["forwarding_address"] = str(lsa.get("nssaForwardAddress", "0.0.0.0"))
    return found


def _link(link: Mapping[str, Any]) -> Document:
    kind = re.sub(r"^(another Router \(|a )", "", str(link["linkType"]))
    names = {"point_to_point": "neighborRouterId", "transit": "designatedRouterAddress", "stub": "networkAddress"}
    found = _LINKS[kind[0]]
    data = "networkMask" if found == "stub" else "routerInterfaceAddress"
    return {
        "type": found,
        "id": str(link[names.get(found, "neighborRouterId")]),
        "data": str(link[data]),
        "metric": int(link["tos0Metric"]),
    }
