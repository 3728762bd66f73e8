"""Leaves of gNMI's models for BGP, IS-IS, OSPFv2 and LLDP from OTG's documents: their paths and their JSON."""

from __future__ import annotations

import json
from typing import Any

from keisoku.faces.otg.leaf import Path, Value, rfc7951
from keisoku.faces.otg.serving.gnmi_path import subtrees, tree
from keisoku.faces.otg.telemetry import Telemetry

_BGP = dict.fromkeys(
    [
        *("session_flap_count", "routes_received", "routes_advertised", "end_of_rib_received"),
        *(f"{name}_{way}" for name in ("updates", "opens", "keepalives") for way in ("sent", "received")),
        *("notifications_sent", "notifications_received"),
    ],
    7,
) | {"name": "p1", "fsm_state": "openconfirm"}
_PREFIX = {
    "ipv4_address": "30.0.0.0",
    "prefix_length": 8,
    "origin": "igp",
    "ipv4_next_hop": "198.18.1.1",
    "multi_exit_discriminator": 5,
    "as_path": {"segments": [{"type": "as_seq", "as_numbers": [65000, 9]}]},
    "communities": [{"type": "manual_as_number", "as_number": 65001, "as_custom": 7}, {"type": "no_export"}],
}
_LSP = {
    "lsp_id": "640100000002-00-00",
    "pdu_type": "level_2",
    "remaining_lifetime": 1195,
    "sequence_number": 10,
    "pdu_length": 129,
    "flags": {"partition_repair": False, "attached_default": True, "overload": False},
    "tlvs": {
        "hostname_tlvs": [{"hostname": "far"}],
        "extended_is_reachability_tlvs": [{"neighbors": [{"system_id": "640100000001"}]}],
        "extended_ipv4_reachability_tlvs": [
            {"prefixes": [{"ipv4_address": "20.2.0.0", "prefix_length": 24, "redistribution_type": "up", "metric": 77}]}
        ],
    },
}


def json_at(found: dict[Path, Value], *names: str) -> Any:
    """JSON of a container at the top, as a client reads it."""
    ((_, leaves),) = subtrees(tuple((name, ()) for name in names), found).items()
    return json.loads(json.dumps(tree(leaves, rfc7951)))


def test_a_peer_and_what_it_learned() -> None:
    found = Telemetry(
        protocols={"bgp": [_BGP], "prefixes": [{"bgp_peer_name": "p1", "ipv4_unicast_prefixes": [_PREFIX]}]}
    ).leaves()
    (peer,) = json_at(found, "bgp-peers")["bgp-peer"]
    assert peer["state"]["session-state"] == "OPEN_CONFIRM"
    assert peer["state"]["counters"]["in-routes"] == "7", "numbers of 64 bits are text"
    (prefix,) = peer["unicast-ipv4-prefixes"]["unicast-ipv4-prefix"]
    keys = {"address": "30.0.0.0", "prefix-length": 8, "origin": "IGP", "path-id": 0}
    assert {name: prefix[name] for name in keys} == keys
    assert prefix["state"] == keys | {
        "next-hop-ipv4-address": "198.18.1.1",
        "multi-exit-discriminator": 5,
        "as-path": [{"segment-type": "AS_SEQUENCE", "as_numbers": [65000, 9]}],
        "community": [
            {"community-type": "MANUAL_AS_NUMBER", "custom-as-number": 65001, "custom-as-value": 7},
            {"community-type": "NO_EXPORT"},
        ],
    }


def test_a_router_with_its_database_and_neighbours() -> None:
    adjacency = {"level_type": "level_2", "hold_timer": 5, "restarting_status": {"state": "running"}}
    states = [
        {"neighbor_system_id": "640100000002", "interface_name": "e1"}
        | {"local_state": adjacency, "neighbor_state": adjacency}
    ]
    found = Telemetry(
        protocols={
            "lsps": [{"isis_router_name": "r1", "lsps": [_LSP]}],
            "adjacencies": [{"isis_router_name": "r1", "adjacency_states": states}],
        }
    ).leaves()
    (router,) = json_at(found, "isis-routers")["isis-router"]
    (lsp,) = router["state"]["link-state-database"]["lsp-states"]["lsps"]
    assert (lsp["lsp-id"], lsp["pdu-type"]) == ("640100000002-00-00", "LEVEL_2")
    assert (lsp["state"]["sequence-number"], lsp["state"]["flags"]) == (10, ["ATTACHED_DEFAULT"])
    assert lsp["tlvs"]["hostnames"]["state"]["hostname"] == ["far"]
    (prefix,) = lsp["tlvs"]["extended-ipv4-reachability"]["prefixes"]["prefix"]
    assert prefix["state"] == {"prefix": "20.2.0.0", "prefix-length": 24, "metric": 77, "redistribution-type": "UP"}
    (neighbour,) = router["state"]["adjacencies"]["state"]["adjacency"]
    assert neighbour["state"]["local-state"]["state"]["local-restarting-status"]["state"]["current-state"] == "RUNNING"


def test_an_ospf_router_with_its_database() -> None:
    counts = dict.fromkeys(
        [
            *("full_state_count", "down_state_count", "sessions_flap"),
            *(f"{name}_{way}" for name in ("hellos", "dbd", "ls_request", "ls_update") for way in ("sent", "received")),
            *("ls_ack_sent", "ls_ack_received"),
        ],
        3,
    )
    head = {"lsa_id": "22.0.0.0", "advertising_router_id": "198.18.1.2", "sequence_number": 2147483651, "age": 4}
    link = {"type": "stub", "id": "24.0.0.0", "data": "255.255.255.0", "metric": 74}
    states = {
        "router_name": "r1",
        "external_as_lsas": [{"header": head, "network_mask": "255.255.255.0", "metric": 72, "metric_type": 2}],
        "router_lsas": [{"header": head | {"lsa_id": "198.18.1.2"}, "links": [link]}],
    }
    found = Telemetry(protocols={"ospfv2": [{"name": "r1"} | counts], "lsas": [states]}).leaves()
    (router,) = json_at(found, "ospfv2-routers")["ospfv2-router"]
    assert (router["state"]["counters"]["sessions-up"], router["state"]["counters"]["in-dbds"]) == ("3", "3")
    lsas = router["state"]["link-state-database"]["lsa-states"]
    assert lsas["external-as-lsa"][0]["state"] == {
        "link-state-id": "22.0.0.0",
        "advertising-router": "198.18.1.2",
        "sequence-number": 2147483651,
        "age": 4,
        "network-mask": "255.255.255.0",
        "metric": 72,
        "metric-type": 2,
    }
    (own,) = lsas["router-lsa"][0]["state"]["link"]
    assert own["state"] == {"type": "STUB", "id": "24.0.0.0", "data": "255.255.255.0", "metric": 74}


def test_an_lldp_agent_with_its_neighbours() -> None:
    counts = dict.fromkeys(("frames_rx", "frames_tx", "frames_error_rx", "frames_discard", "tlvs_discard"), 3)
    neighbour = {
        "lldp_name": "a1",
        "neighbor_id": "far/eth7",
        "chassis_id": "far",
        "chassis_id_type": "local",
        "port_id": "eth7",
        "port_id_type": "interface_name",
        "system_name": "switch",
        "age": 4,
        "ttl": 120,
        "custom_tlvs": [{"custom_type": 127, "oui": "0080c3", "oui_subtype": 9, "information": "0aff"}],
        "capabilities": [{"capability_name": "mac_bridge", "capability_enabled": True}],
    }
    found = Telemetry(
        protocols={"lldp": [{"name": "a1", "tlvs_unknown": 5} | counts], "lldp_neighbours": [neighbour]}
    ).leaves()
    (agent,) = json_at(found, "lldps")["lldp-interface"]
    assert (agent["name"], agent["state"]["name"]) == ("a1", "a1")
    assert (agent["state"]["counters"]["frame-in"], agent["state"]["counters"]["tlv-unknown"]) == ("3", "5")
    (entry,) = agent["state"]["lldp-neighbor-database"]["lldp-neighbors"]["lldp-neighbor"]
    assert entry["neighbor_id"] == "far/eth7"
    assert entry["state"] == {
        "neighbor_id": "far/eth7",
        "system-name": "switch",
        "chassis-id": "far",
        "chassis-id-type": "LOCAL",
        "port-id": "eth7",
        "port-id-type": "INTERFACE_NAME",
        "age": 4,
        "ttl": 120,
    }
    keys = {"custom-type": 127, "oui": "0080c3", "oui-subtype": 9}
    assert entry["custom-tlv"] == [keys | {"state": keys}]
    assert entry["capabilities"] == [{"name": "MAC_BRIDGE", "state": {"name": "MAC_BRIDGE", "enabled": True}}]
