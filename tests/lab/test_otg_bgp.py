"""BGP peers of OTG's devices, spoken by FRR, against FRR in the lab's router: sessions, routes, and traffic by them."""

from __future__ import annotations

import json
import os
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import snappi
from support.command_line import device_of
from support.lab_passages import needs
from support.neighbours import known_neighbours
from support.otg_bgp import await_peers, bgp_device, protocols, routes
from support.otg_killed import KilledTester
from support.otg_server import flow_metrics, otg_client, set_traffic, two_ports, until, until_stopped

from keisoku.ground.lab.frr import PROGRAMS, VTYSH

pytestmark = [pytest.mark.lab, needs(*PROGRAMS)]
_CONNECTED = 2
"""Networks of the router's own ports, which it tells every peer of each version."""
_ROUTES = 300


def _between(config: Any, name: str, one: str, other: str, version: int) -> None:
    flow = config.flows.flow(name=name)[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [one], [other]
    ethernet = flow.packet.ethernet()
    (ethernet.ipv4() if version == 4 else ethernet.ipv6()).udp()
    flow.size.fixed, flow.rate.pps = 128, 5000
    flow.duration.fixed_packets.packets = 600
    flow.metrics.enable = flow.metrics.loss = True


def _of_router(command: str) -> Any:
    """What the router says."""
    dut = device_of(os.getpid())
    (socket,) = (Path("/run") / dut).glob("*/bgpd.vty")
    return json.loads(VTYSH.run("--vty_socket", str(socket.parent), "-c", f"{command} json"))


def _path_identifier(prefix: str) -> int:
    """That with which the router learned a route; 0: without one."""
    return int(_of_router(f"show bgp ipv4 unicast {prefix}")["paths"][0].get("addpathRxId", 0))


def _await_installed(*ranges: str, count: int = _ROUTES) -> None:
    """Until the router's kernel has so many routes in each: its daemon tells peers of them, and of their end, before
    that."""
    for each in ranges:
        command = f"show {'ipv6' if ':' in each else 'ip'} route bgp"
        while sum("installed" in paths[0] for paths in _within(_of_router(command), each)) != count:
            pass


def _within(routes: dict[str, Any], whole: str) -> list[Any]:
    network: Any = ip_network(whole)
    own = {ip_network(prefix): paths for prefix, paths in routes.items()}
    return [paths for prefix, paths in own.items() if prefix.version == network.version and prefix.subnet_of(network)]


def test_traffic_follows_routes_until_they_are_withdrawn() -> None:
    config = two_ports("lab:bgp#1", "lab:bgp#2")
    for port in (1, 2):
        peer = bgp_device(config, port)
        peer.learned_information_filter.unicast_ipv4_prefix = True
        peer.v4_routes.add(name=f"r4-{port}").addresses.add(address=f"{20 + port}.0.0.0", prefix=24, count=_ROUTES)
        routes6 = peer.v6_routes.add(name=f"r6-{port}")
        routes6.addresses.add(address=f"2001:db8:{port}::", prefix=64, count=_ROUTES)
    advertised = config.devices[1].bgp.ipv4_interfaces[0].peers[0].v4_routes[0]
    advertised.communities.add(type="manual_as_number", as_number=65001, as_custom=7)
    advertised.as_path.as_set_mode = "include_as_seq"
    advertised.as_path.segments.add(type="as_seq", as_numbers=[64999])
    hidden = config.devices[1].bgp.ipv4_interfaces[0].peers[0].v4_routes.add(name="hidden")
    hidden.addresses.add(address="30.0.0.0", prefix=24)
    hidden.as_path.as_set_mode = "do_not_include_local_as"
    hidden.as_path.segments.add(type="as_seq", as_numbers=[64998])
    identified = config.devices[0].bgp.ipv4_interfaces[0].peers[0]
    identified.capability.ipv4_unicast_add_path, identified.v4_routes[0].add_path.path_id = True, 1
    _between(config, "four", "r4-1", "r4-2", 4)
    _between(config, "six", "r6-1", "r6-2", 6)
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        # The route without the peer's AS comes back to that, too.
        learned = 2 * (_ROUTES + _CONNECTED) + 1
        found = await_peers(api, lambda peers: all(peer.routes_received == learned for peer in peers.values()))
        assert {peer.session_state for peer in found.values()} == {"up"}
        assert [found[name].routes_advertised for name in ("peer1", "peer2")] == [2 * _ROUTES, 2 * _ROUTES + 1]
        request = snappi.StatesRequest()
        request.bgp_prefixes.bgp_peer_names = ["peer1"]
        (state,) = api.get_states(request).bgp_prefixes
        prefixes = {each.ipv4_address: each for each in state.ipv4_unicast_prefixes}
        assert list(prefixes["30.0.0.0"].as_path.segments[0].as_numbers) == [65000, 64998]
        prefix = prefixes["22.0.0.0"]
        assert list(prefix.as_path.segments[0].as_numbers) == [65000, 65002, 64999]
        assert [(each.as_number, each.as_custom) for each in prefix.communities] == [(65001, 7)]
        assert prefix.ipv4_next_hop == "198.18.1.1"
        assert _path_identifier("21.0.0.0/24") > 0 == _path_identifier("22.0.0.0/24")
        _await_installed("21.0.0.0/8", "22.0.0.0/8", "2001:db8:1::/48", "2001:db8:2::/48")
        # FRR tells the link-local addresses as next hops of IPv6, and only IPv4 was spoken until now: the router
        # dropped the first frames until it had asked for them.
        known = known_neighbours()
        assert [known.get(f"fe80::ff:fe00:{port}4d") for port in (1, 2)] == [
            f"02:00:00:00:0{port}:4d" for port in (1, 2)
        ]
        set_traffic(api, "start")
        assert [(flow.name, flow.frames_rx) for flow in until_stopped(api)] == [("four", 600), ("six", 600)]
        routes(api, "withdraw", "r4-2")
        await_peers(api, lambda peers: peers["peer1"].routes_received == learned - _ROUTES)
        _await_installed("22.0.0.0/8", count=0)
        set_traffic(api, "start")
        assert [(flow.name, flow.frames_rx) for flow in until_stopped(api)] == [("four", 0), ("six", 600)]
        protocols(api, "stop")
        assert {peer.session_state for peer in await_peers(api, lambda peers: True).values()} == {"down"}


def test_a_withdrawn_range_that_comes_back_is_an_interruption_that_is_known_while_traffic_runs() -> None:
    """SONiC's tests measure convergence after routes in running traffic: there was no metric, and no such event."""
    config = two_ports("lab:bgp#1", "lab:bgp#2")
    for port in (1, 2):
        bgp_device(config, port).v4_routes.add(name=f"r{port}").addresses.add(address=f"{20 + port}.0.0.0")
    flow = config.flows.flow(name="four")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["v4-1"], ["r2"]
    # It names no headers, as flows of sonic-mgmt do: keisoku gives it those that the router forwards.
    flow.size.fixed, flow.rate.pps, flow.duration.choice = 128, 2000, "continuous"
    flow.metrics.enable = True
    config.events.cp_events.enable = config.events.dp_events.enable = True
    request = snappi.MetricsRequest()
    request.convergence.flow_names = []
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        await_peers(api, lambda peers: all(peer.session_state == "up" for peer in peers.values()))
        _await_installed("22.0.0.0/8", count=1)
        set_traffic(api, "start")
        until(api, lambda found: found[0].frames_rx > 200)
        routes(api, "withdraw", "r2")
        _await_installed("22.0.0.0/8", count=0)
        (now,) = flow_metrics(api)
        until(api, lambda found: found[0].frames_tx > now.frames_tx + 400)
        routes(api, "advertise", "r2")
        (now,) = flow_metrics(api)
        until(api, lambda found: found[0].frames_rx > now.frames_rx + 400)
        (running,) = api.get_metrics(request).convergence_metrics
        set_traffic(api, "stop")
        (ended,) = api.get_metrics(request).convergence_metrics
    times = {event.type: event for event in running.events}
    gone, back = times["route_withdraw"], times["route_advertise"]
    below, above = times["flow_rx_rate_below_threshold"], times["flow_rx_rate_above_threshold"]
    assert gone.source == back.source == "r2"
    order = [event.begin_timestamp_ns for event in (gone, below, back, above)]
    assert order == sorted(order)
    assert running.control_plane_data_plane_convergence_us == pytest.approx(
        (above.begin_timestamp_ns - back.begin_timestamp_ns) / 1e3
    )
    assert running.serialize("dict") == ended.serialize("dict")


def test_ipv4_routes_of_an_ipv6_session_have_its_address_as_next_hop() -> None:
    config = two_ports("lab:cable#1", "lab:cable#2")
    for port in (1, 2):
        device = config.devices.device(name=f"d{port}")[-1]
        ethernet = device.ethernets.add(name=f"e{port}", mac=f"02:00:00:00:00:0{port}")
        ethernet.connection.port_name = f"p{port}"
        far = f"2001:db8::{3 - port}"
        ethernet.ipv6_addresses.add(name=f"six{port}", address=f"2001:db8::{port}", gateway=far)
        device.bgp.router_id = f"10.0.0.{port}"
        peers = device.bgp.ipv6_interfaces.add(ipv6_name=f"six{port}").peers
        peer = peers.add(name=f"peer{port}", peer_address=far, as_type="ebgp", as_number=65000 + port)
        peer.capability.extended_next_hop_encoding = True
        peer.learned_information_filter.unicast_ipv4_prefix = True
        peer.v4_routes.add(name=f"r{port}").addresses.add(address=f"{20 + port}.0.0.0", count=3)
        # Of this range that one is a part.
        peer.v4_routes.add(name=f"s{port}").addresses.add(address=f"{20 + port}.0.0.0", count=5)
        given = peer.v4_routes.add(name=f"g{port}", next_hop_mode="manual", next_hop_address_type="ipv6")
        given.next_hop_ipv6_address = "2001:db8::77"
        given.addresses.add(address=f"{30 + port}.0.0.0")
    request = snappi.StatesRequest()
    request.bgp_prefixes.bgp_peer_names = ["peer1"]
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        await_peers(api, lambda peers: [peer.routes_received for peer in peers.values()] == [6, 6])
        (state,) = api.get_states(request).bgp_prefixes
        hops = {each.ipv4_address: each.ipv6_next_hop for each in state.ipv4_unicast_prefixes}
        assert hops == {f"22.0.{third}.0": "2001:db8::2" for third in range(5)} | {"32.0.0.0": "2001:db8::77"}
        routes(api, "withdraw", "s2", "g2")
        await_peers(api, lambda peers: peers["peer1"].routes_received == 3)
        routes(api, "withdraw", "r2")
        await_peers(api, lambda peers: peers["peer1"].routes_received == 0)
        routes(api, "advertise", "s2")
        await_peers(api, lambda peers: peers["peer1"].routes_received == 5)


def test_the_bandwidth_of_a_link_reaches_a_peer_of_the_same_as() -> None:
    config = two_ports("lab:cable#1", "lab:cable#2")
    for port in (1, 2):
        peer, four = bgp_device(config, port), config.devices[-1].ethernets[0].ipv4_addresses[0]
        four.address, four.gateway = f"198.18.1.{port}", f"198.18.1.{3 - port}"
        peer.peer_address, peer.as_type, peer.as_number = four.gateway, "ibgp", 65001
    sent = config.devices[0].bgp.ipv4_interfaces[0].peers[0].v4_routes.add(name="r1")
    sent.addresses.add(address="21.0.0.0")
    bandwidth = sent.extended_communities.add().non_transitive_2octet_as_type.link_bandwidth_subtype
    bandwidth.global_2byte_as, bandwidth.bandwidth = 65001, 12_500_000
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        await_peers(api, lambda peers: peers["peer2"].routes_received == 1)
        (socket,) = Path("/run").glob(f"keisoku-{os.getpid()}-*-router2/**/bgpd.vty")
        show = "show bgp ipv4 unicast 21.0.0.0/24 json"
        (path,) = json.loads(VTYSH.run("--vty_socket", str(socket.parent), "-c", show))["paths"]
    assert path["extendedCommunity"]["string"] == "LB:65001:12500000 (100.000 Mbps)"


def test_devices_of_a_script_are_peers_of_each_other_and_one_waits() -> None:
    config = two_ports("lab:cable#1", "lab:cable#2")
    for port in (1, 2):
        peer, device = bgp_device(config, port), config.devices[-1]
        four, six = device.ethernets[0].ipv4_addresses[0], device.ethernets[0].ipv6_addresses[0]
        four.address, four.gateway = f"198.18.1.{port}", f"198.18.1.{3 - port}"
        six.address, six.gateway = f"2001:2:0:1::{port}", f"2001:2:0:1::{3 - port}"
        other = device.bgp.ipv6_interfaces.add(ipv6_name=six.name).peers.add(name=f"six{port}")
        other.as_type, other.as_number = peer.as_type, peer.as_number
        peer.peer_address, other.peer_address = four.gateway, six.gateway
        range4 = peer.v4_routes.add(name=f"r4-{port}")
        range4.addresses.add(address=f"{20 + port}.0.0.0", count=3)
        # As in TestEbgpRoutePrefix: the learner's own AS is in the path, which a router takes for a loop.
        range4.as_path.as_set_mode = "include_as_set"
        range4.as_path.segments.add(type="as_seq", as_numbers=[65000 + 3 - port])
        other.v6_routes.add(name=f"r6-{port}").addresses.add(address=f"2001:db8:{port}::", prefix=64, count=2)
        for each in (peer, other):
            each.learned_information_filter.unicast_ipv4_prefix = True
            each.learned_information_filter.unicast_ipv6_prefix = True
            each.advanced.passive_mode = port == 1
            each.advanced.listen_port, each.advanced.neighbor_port = (1790, 179) if port == 1 else (179, 1790)
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        wanted = {"peer1": 3, "peer2": 3, "six1": 2, "six2": 2}
        await_peers(api, lambda peers: {name: peer.routes_received for name, peer in peers.items()} == wanted)
        request = snappi.StatesRequest()
        request.bgp_prefixes.bgp_peer_names = ["peer1", "six1"]
        one, six = api.get_states(request).bgp_prefixes
        assert [each.ipv4_address for each in one.ipv4_unicast_prefixes] == ["22.0.0.0", "22.0.1.0", "22.0.2.0"]
        assert list(one.ipv4_unicast_prefixes[0].as_path.segments[0].as_numbers) == [65002, 65001]
        assert (len(one.ipv6_unicast_prefixes), len(six.ipv4_unicast_prefixes)) == (0, 0)
        assert [each.ipv6_address for each in six.ipv6_unicast_prefixes] == ["2001:db8:2::", "2001:db8:2:1::"]
        routes(api, "withdraw", "r4-2")
        found = await_peers(api, lambda peers: peers["peer1"].routes_received == 0)
        assert found["six1"].routes_received == 2


def test_a_link_that_is_set_down_ends_the_session_until_it_is_up() -> None:
    config = two_ports("lab:bgp#1", "lab:bgp#2")
    for port in (1, 2):
        bgp_device(config, port).advanced.md5_key = None
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        await_peers(api, lambda peers: all(peer.session_state == "up" for peer in peers.values()))
        control = snappi.ControlState()
        control.port.link.port_names, control.port.link.state = ["p1"], "down"
        api.set_control_state(control)
        found = await_peers(api, lambda peers: peers["peer1"].session_state == "down")
        assert found["peer2"].session_state == "up"
        control.port.link.state = "up"
        api.set_control_state(control)
        await_peers(api, lambda peers: peers["peer1"].session_state == "up")


def test_what_a_killed_tester_left_is_removed() -> None:
    config = two_ports("lab:bgp#1", "lab:bgp#2")
    bgp_device(config, 1)
    killed = KilledTester(config)
    assert any(name.endswith("router1") for name in killed.namespaces)
    with otg_client() as api:
        api.set_config(two_ports("lab:bridge#1", "lab:bridge#2"))
        killed.await_nothing_left()
