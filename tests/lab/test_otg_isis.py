"""IS-IS routers of OTG's devices, spoken by FRR: two that meet through a bridge, and one beside a BGP peer."""

from __future__ import annotations

import os
from typing import Any

import pytest
import snappi
from support.command_line import namespaces_of
from support.lab_passages import needs
from support.otg_bgp import await_peers, bgp_device, protocols, routes
from support.otg_isis import await_isis, isis_device, learned
from support.otg_server import otg_client, two_ports

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.ground.lab.frr import PROGRAMS, VTYSH

pytestmark = [pytest.mark.lab, needs(*PROGRAMS)]
_OTHER = "640100000002-00-00"


def _prefixes(api: Any, kind: str) -> dict[str, int]:
    """What router 1 learned of router 2: metrics by prefix."""
    lsp = learned(api, "isis1").get(_OTHER)
    version = "ipv4" if "ipv4" in kind else "ipv6"
    entries = [entry for tlv in getattr(lsp.tlvs, kind) for entry in tlv.prefixes] if lsp is not None else []
    return {f"{getattr(each, f'{version}_address')}/{each.prefix_length}": each.metric for each in entries}


def _database(place: str) -> str:
    """What the FRR of a router of the tester has learned."""
    (name,) = [name for name in namespaces_of(os.getpid()) if name.endswith(place)]
    return VTYSH.run("--vty_socket", f"/run/{name}/tester", "-c", "show isis database detail")


def test_routers_may_be_counted_from_zero() -> None:
    """Tests of featureprofiles write system identifiers as short numbers; they were refused."""
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    for port in (1, 2):
        isis_device(config, port).system_id = str(port - 1)
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        await_isis(api, lambda routers: all(router.l2_sessions_up == 1 for router in routers.values()))
        request = snappi.StatesRequest()
        request.isis_adjacencies.isis_router_names = ["isis1"]
        (state,) = api.get_states(request).isis_adjacencies
        assert [each.neighbor_system_id for each in state.adjacency_states] == ["000000000001"]


def test_routers_learn_ranges_until_they_are_withdrawn_and_lose_a_link() -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    for port in (1, 2):
        router = isis_device(config, port)
        router.router_auth.domain_auth.auth_type, router.router_auth.domain_auth.md5 = "md5", "word"
        router.v4_routes.add(name=f"four{port}", link_metric=33).addresses.add(address=f"{20 + port}.0.0.0", count=2)
        six = router.v6_routes.add(name=f"six{port}", link_metric=34)
        six.addresses.add(address=f"2001:db8:{port}::", prefix=64)
    config.devices[1].ipv4_loopbacks.add(name="loop", eth_name="e2", address="10.9.9.9")
    link = config.devices[1].isis.interfaces[0].traffic_engineering.add()
    link.metric_level, link.max_bandwith, link.priority_bandwidths.pb3 = 77, 200_000_000, 5000
    network = {"198.18.1.0/24": 10, "10.9.9.9/32": 10}
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        await_isis(api, lambda routers: all(router.l2_sessions_up == 1 for router in routers.values()))
        while _prefixes(api, "extended_ipv4_reachability_tlvs") != network | {"22.0.0.0/24": 33, "22.0.1.0/24": 33}:
            pass
        while _prefixes(api, "ipv6_reachability_tlvs").get("2001:db8:2::/64") != 34:
            pass
        said = [line.strip() for line in _database("router1").splitlines()]
        for line in ("Traffic Engineering Metric: 77", "Maximum Bandwidth: 2e+08 (Bytes/sec)"):
            assert said.count(line) == 1, "of router 2 alone"
        assert any(line.endswith("[3]: 5000 (Bytes/sec)") for line in said)
        routes(api, "withdraw", "four2")
        while _prefixes(api, "extended_ipv4_reachability_tlvs") != network:
            pass
        assert "2001:db8:2::/64" in _prefixes(api, "ipv6_reachability_tlvs")
        request = snappi.StatesRequest()
        request.isis_adjacencies.isis_router_names = ["isis1"]
        (state,) = api.get_states(request).isis_adjacencies
        assert [(each.neighbor_system_id, each.interface_name) for each in state.adjacency_states] == [
            ("640100000002", "e1")
        ]
        control = snappi.ControlState()
        control.port.link.port_names, control.port.link.state = ["p1"], "down"
        api.set_control_state(control)
        found = await_isis(api, lambda routers: routers["isis1"].l2_sessions_up == 0)
        assert found["isis1"].l2_session_flap == 1
        control.port.link.state = "up"
        api.set_control_state(control)
        found = await_isis(api, lambda routers: routers["isis1"].l2_sessions_up == 1)
        assert (found["isis1"].l2_database_size, found["isis1"].l1_sessions_up) == (2, 0)
        assert found["isis1"].l2_point_to_point_hellos_received > 0 and found["isis1"].l2_lsp_received > 0


def test_four_thousand_routes_are_learned() -> None:
    """More than 1000 were refused, because FRR took minutes to read them one by one."""
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    for port in (1, 2):
        isis_device(config, port)
    router = config.devices[1].isis
    router.v4_routes.add(name="four", link_metric=33).addresses.add(address="22.0.0.0", count=2500)
    router.v6_routes.add(name="six", link_metric=34).addresses.add(address="2001:db8:2::", prefix=64, count=1500)
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        counts = (0, 0)
        while counts != (2500 + 1, 1500 + 1):  # and the network of the link
            lsps = [lsp.tlvs for name, lsp in learned(api, "isis1").items() if name.startswith("640100000002")]
            four = [entry for tlvs in lsps for tlv in tlvs.extended_ipv4_reachability_tlvs for entry in tlv.prefixes]
            six = [entry for tlvs in lsps for tlv in tlvs.ipv6_reachability_tlvs for entry in tlv.prefixes]
            counts = len(four), len(six)


def test_a_device_may_have_a_bgp_peer_beside_its_router_and_gnmi_says_the_same_of_both() -> None:
    pygnmi = pytest.importorskip("pygnmi.client", reason="pygnmi is not installed")
    config = two_ports("lab:bgp#1", "lab:bgp#2")
    bgp_device(config, 1).learned_information_filter.unicast_ipv4_prefix = True
    bgp_device(config, 2).v4_routes.add(name="r2").addresses.add(address="22.0.0.0")
    router = config.devices[0].isis
    router.name, router.system_id = "isis1", "640100000001"
    router.interfaces.add(name="i1", eth_name="e1")
    with Server(Listening(http_port=0, grpc_port=None, gnmi_port=0), Controller()) as server:
        api = snappi.api(location=server.url)
        api.set_config(config)
        protocols(api, "start")
        # The networks of the router's two ports, and the range of the other peer.
        found = await_peers(api, lambda peers: peers["peer1"].routes_received == 3 + 2)
        await_isis(api, lambda routers: routers["isis1"].l2_broadcast_hellos_sent > 0)
        host, _, port = str(server.gnmi_location).rpartition(":")
        paths = ["/bgp-peers/bgp-peer[name=peer1]", "/isis-routers/isis-router[name=isis1]/state/counters/level2"]
        with pygnmi.gNMIclient(target=(host, port), insecure=True, skip_gnmi_connectivity=True) as client:
            peer, level = (each["update"][0]["val"] for each in client.get(path=paths, encoding="json")["notification"])
    assert (peer["state"]["session-state"], peer["state"]["counters"]["in-routes"]) == ("ESTABLISHED", "5")
    assert found["peer1"].session_state == "up"
    learnt = {each["address"]: each["state"] for each in peer["unicast-ipv4-prefixes"]["unicast-ipv4-prefix"]}
    assert learnt["22.0.0.0"]["as-path"] == [{"segment-type": "AS_SEQUENCE", "as_numbers": [65000, 65002]}]
    assert int(level["out-bcast-hellos"]) > 0 and level["sessions-up"] == "0"
