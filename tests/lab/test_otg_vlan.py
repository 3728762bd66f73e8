"""OTG's devices in VLANs, with protocols that FRR speaks and without, between two ports of the tester over a bridge."""

from __future__ import annotations

from typing import Any

import pytest
from support.lab_passages import needs
from support.otg_bgp import await_peers, protocols
from support.otg_isis import await_isis, learned
from support.otg_ospf import await_ospf, learned_lsas, ospf_device
from support.otg_server import otg_client, set_traffic, two_ports, until_stopped
from support.otg_vlan import IN_SERVICE, PLAIN, Tags, flow_of, observed, tag, tags_of

from keisoku.ground.lab.frr import PROGRAMS

pytestmark = [pytest.mark.lab, needs(*PROGRAMS)]


def speaker(config: Any, port: int, tags: Tags) -> None:
    """A device with a router of each protocol, and a range of routes of each."""
    ospf = ospf_device(config, port)
    ospf.v4_routes.add(name=f"ospf-range{port}").addresses.add(address=f"{20 + port}.0.0.0", prefix=24)
    device = config.devices[-1]
    tag(device.ethernets[0], tags)
    isis = device.isis
    isis.name, isis.system_id, isis.basic.learned_lsp_filter = f"isis{port}", f"64010000000{port}", True
    at = isis.interfaces.add(name=f"isis-i{port}", eth_name=f"e{port}", network_type="point_to_point")
    at.l2_settings.hello_interval, at.l2_settings.dead_interval = 1, 5
    device.bgp.router_id = f"10.0.0.{port}"
    peers = device.bgp.ipv4_interfaces.add(ipv4_name=f"v4-{port}").peers
    far = f"198.18.1.{3 - port}"
    peer = peers.add(name=f"peer{port}", peer_address=far, as_type="ebgp", as_number=65000 + port)
    peer.advanced.passive_mode = port == 1
    peer.v4_routes.add(name=f"bgp-range{port}").addresses.add(address=f"{30 + port}.0.0.0", prefix=24, count=5)


@pytest.mark.parametrize("tags", [PLAIN, IN_SERVICE], ids=["802.1Q", "802.1Q in 802.1ad"])
def test_bgp_isis_ospf_and_traffic_by_their_routes_in_a_vlan(tags: Tags) -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    for port in (1, 2):
        speaker(config, port, tags)
    flow_of(config, ("bgp-range1", "bgp-range2"), tags)
    with otg_client() as api:
        api.set_config(config)
        with observed() as wire:
            protocols(api, "start")
            await_peers(api, lambda peers: all(peer.routes_received == 5 for peer in peers.values()))
            await_ospf(api, lambda routers: all(router.full_state_count == 1 for router in routers.values()))
            await_isis(api, lambda routers: all(router.l2_sessions_up == 1 for router in routers.values()))
            while "22.0.0.0" not in {lsa.header.lsa_id for lsa in learned_lsas(api, "ospf1").network_summary_lsas}:
                pass
            while "640100000002-00-00" not in learned(api, "isis1"):
                pass
            assert tags_of(wire, "02:00:00:00:04") == {tags}
        set_traffic(api, "start")
        (metric,) = until_stopped(api)
        assert (metric.frames_tx, metric.frames_rx) == (200, 200)
        protocols(api, "stop")


def host(config: Any, port: int, tags: Tags) -> None:
    """A device whose gateway is that at the other port."""
    ethernet = config.devices.device(name=f"d{port}")[-1].ethernets.add(name=f"e{port}", mac=f"02:00:00:00:04:0{port}")
    ethernet.connection.port_name = f"p{port}"
    ethernet.ipv4_addresses.add(name=f"v4-{port}", address=f"198.18.1.{port}", gateway=f"198.18.1.{3 - port}")
    tag(ethernet, tags)


@pytest.mark.parametrize("other", [IN_SERVICE, ((0x88A8, 100), (0x8100, 8))], ids=["of one VLAN", "of two VLANs"])
def test_hosts_with_two_tags_reach_their_gateway_in_their_own_vlan_only(other: Tags) -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    host(config, 1, IN_SERVICE)
    host(config, 2, other)
    flow_of(config, ("v4-1", "v4-2"), IN_SERVICE)
    with otg_client() as api:
        api.set_config(config)
        with observed() as wire:
            protocols(api, "start")
            if other == IN_SERVICE:
                set_traffic(api, "start")
                (metric,) = until_stopped(api)
                assert (metric.frames_tx, metric.frames_rx) == (200, 200)
            else:
                with pytest.raises(Exception, match=r"198\.18\.1\.2"):
                    set_traffic(api, "start")
            assert {tags[:2] for tags in tags_of(wire, "02:00:00:00:04") if tags} == {IN_SERVICE}
