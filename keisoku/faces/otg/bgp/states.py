"""What FRR says of BGP peers, in the words of OTG: metrics of sessions, and learned prefixes. Asks nobody.

FRR does not count withdrawn routes, so those two counters of OTG are absent. Adds no field that OTG does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keisoku.faces.otg.bgp.peers import BgpPeer

Document = dict[str, Any]
_FAMILIES = {4: "ipv4Unicast", 6: "ipv6Unicast"}
_STATES = {"Idle", "Connect", "Active", "OpenSent", "OpenConfirm", "Established"}
_MESSAGES = {"updates": "updates", "opens": "opens", "keepalives": "keepalives", "notifications": "notifications"}
_KNOWN = {
    "noExport": "no_export",
    "no-export": "no_export",
    "noAdvertise": "no_advertised",
    "no-advertise": "no_advertised",
    "localAs": "no_export_subconfed",
    "local-AS": "no_export_subconfed",
    "llgrStale": "llgr_stale",
    "llgr-stale": "llgr_stale",
    "noLlgr": "no_llgr",
    "no-llgr": "no_llgr",
}
_SEGMENTS = {
    "as-sequence": "as_seq",
    "as-set": "as_set",
    "as-confed-sequence": "as_confed_seq",
    "as-confed-set": "as_confed_set",
}


def bgp_metric(peer: BgpPeer, told: Mapping[str, Any]) -> Document:
    """A metric of a peer; `told` is FRR's account of its neighbour, empty before the protocols are started."""
    messages = told.get("messageStats", {})
    families = told.get("addressFamilyInfo", {})
    state = str(told.get("bgpState", "Idle"))
    metric: Document = {
        "name": peer.name,
        "session_state": "up" if state == "Established" else "down",
        "session_flap_count": int(told.get("connectionsDropped", 0)),
        "routes_advertised": sum(int(family.get("sentPrefixCounter", 0)) for family in families.values()),
        "routes_received": sum(int(family.get("acceptedPrefixCounter", 0)) for family in families.values()),
    }
    for name, key in _MESSAGES.items():
        metric[f"{name}_sent"] = int(messages.get(f"{key}Sent", 0))
        metric[f"{name}_received"] = int(messages.get(f"{key}Recv", 0))
    # FRR has states beside those of RFC 4271, in which a session is being cleared up.
    metric["fsm_state"] = state.lower() if state in _STATES else "idle"
    ends = told.get("gracefulRestartInfo", {}).get("endOfRibRecv", {})
    metric["end_of_rib_received"] = sum(bool(ends.get(family)) for family in _FAMILIES.values())
    return metric


def prefix_state(peer: BgpPeer, tables: Mapping[int, Mapping[str, Any]], wanted: Sequence[int]) -> Document:
    """The prefixes that a peer learned, of the versions that a script wants; `tables` are FRR's, by version."""
    found: Document = {"bgp_peer_name": peer.name}
    for version in wanted:
        routes = tables.get(version, {}).get("routes", {})
        found[f"ipv{version}_unicast_prefixes"] = [
            _prefix(version, network, path) for network, paths in routes.items() for path in _learned(paths)
        ]
    return found


def _learned(paths: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    # The first entry of a list is about the network; routes of the peer's own are "sourced".
    return (path for path in paths if "aspath" in path and not path.get("sourced"))


def _prefix(version: int, network: str, path: Mapping[str, Any]) -> Document:
    address, _, length = network.partition("/")
    found: Document = {
        f"ipv{version}_address": address,
        "prefix_length": int(length),
        "origin": str(path.get("origin", "incomplete")).lower(),
        "as_path": {
            "segments": [
                {"type": _SEGMENTS.get(segment["type"], "as_seq"), "as_numbers": [int(n) for n in segment["list"]]}
                for segment in path["aspath"].get("segments", [])
            ]
        },
    }
    for hop in path.get("nexthops", []):
        if hop.get("scope") != "link-local":
            found[f"{hop.get('afi', f'ipv{version}')}_next_hop"] = hop["ip"]
    if path.get("addpathRxId"):
        found["path_id"] = int(path["addpathRxId"])
    if "locPrf" in path:
        found["local_preference"] = int(path["locPrf"])
    if "metric" in path:
        found["multi_exit_discriminator"] = int(path["metric"])
    communities = path.get("community", {}).get("list", [])
    if communities:
        found["communities"] = [_community(text) for text in communities]
    return found


def _community(text: str) -> Document:
    if text in _KNOWN:
        return {"type": _KNOWN[text]}
    number, _, custom = text.partition(":")
    return {"type": "manual_as_number", "as_number": int(number), "as_custom": int(custom)}
