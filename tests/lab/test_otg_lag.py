"""LAGs of a script, spoken by Open vSwitch, and what is at the other side: another Open vSwitch, and a capture."""

from __future__ import annotations

import os
from typing import Any

import pytest
import snappi
from scapy.contrib.lacp import LACP
from scapy.layers.l2 import Ether
from support.command_line import device_of, namespaces_of
from support.lab_passages import needs
from support.otg_bgp import await_peers, protocols
from support.otg_killed import KilledTester
from support.otg_lag import FarSwitch, await_members, lacp_metrics, lag_metric, lag_of, tap, three_ports
from support.otg_server import set_traffic, udp_flow, until_stopped
from support.otg_vlan import IN_SERVICE, PLAIN, Tags, flow_of, observed, tag, tags_of

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.ground.lab.device.vswitch import PROGRAMS
from keisoku.ground.lab.frr import PROGRAMS as FRR

pytestmark = [pytest.mark.lab, needs(*PROGRAMS)]
_SYSTEM = "02:00:22:00:00:77"
_TO_LAG, _FROM_LAG = 6000, 7000


def _host(config: Any, number: int, **connection: str) -> None:
    """A device whose gateway is the other one."""
    ethernet = config.devices.device(name=f"d{number}")[-1].ethernets.add(name=f"e{number}", mac=_mac(number))
    for name, value in connection.items():
        setattr(ethernet.connection, name, value)
    address, gateway = (f"198.18.9.{place}" for place in (number, 3 - number))
    ethernet.ipv4_addresses.add(name=f"ip{number}", address=address, gateway=gateway)


def _mac(number: int) -> str:
    return f"02:00:22:00:0a:0{number}"


def _config() -> Any:
    """A LAG of p1 and p2 with a host, another host at p3, and a flow each way of 64 conversations."""
    config = three_ports("lab:ovs")
    lag = lag_of(config)
    lag.protocol.lacp.actor_system_id, lag.protocol.lacp.actor_system_priority = _SYSTEM, 7
    for number, member in enumerate(lag.ports, 11):
        member.lacp.actor_port_number, member.lacp.lacpdu_timeout = number, 3
    _host(config, 1, lag_name="lag")
    _host(config, 2, port_name="p3")
    there = config.flows.flow(name="to lag")[-1]
    there.tx_rx.device.tx_names, there.tx_rx.device.rx_names = ["ip2"], ["ip1"]
    udp = there.packet.ethernet().ipv4().udp()[-1]
    udp.dst_port.value = _TO_LAG
    udp_flow(config, "from lag", tx="lag", rx="p3")
    for flow in config.flows:
        flow.size.fixed, flow.rate.pps, flow.metrics.enable, flow.metrics.loss = 128, 2000, True, True
        flow.duration.fixed_packets.packets = 640
        ports = flow.packet[2].src_port.increment
        ports.start, ports.step, ports.count = 5000, 7, 64
    back = config.flows[1]
    back.packet[0].src.value, back.packet[0].dst.value = _mac(1), _mac(2)
    back.packet[2].dst_port.value = _FROM_LAG
    return config


def _traffic(api: Any) -> tuple[Any, Any]:
    set_traffic(api, "start")
    there, back = until_stopped(api)
    return there, back


def _ports(api: Any) -> list[Any]:
    request = snappi.MetricsRequest()
    request.port.port_names = []
    return list(api.get_metrics(request).port_metrics)


def _sent(metrics: dict[str, Any]) -> list[int]:
    return [metric.lacp_packets_tx for metric in metrics.values()]


def _set_member(api: Any, state: str, name: str) -> None:
    control = snappi.ControlState()
    control.protocol.lacp.admin.lag_member_names, control.protocol.lacp.admin.state = [name], state
    api.set_control_state(control)


def test_a_lag_agrees_with_another_switch_and_carries_hosts_and_flows() -> None:
    pygnmi = pytest.importorskip("pygnmi.client", reason="pygnmi is not installed")
    with Server(Listening(http_port=0, grpc_port=None, gnmi_port=0), Controller()) as server:
        api = snappi.api(location=server.url)
        api.set_config(_config())
        name = device_of(os.getpid())
        far = FarSwitch(name)
        far.join("other_config:lacp-time=fast")
        assert (lag_metric(api).oper_status, lag_metric(api).member_ports_up) == ("down", 0)
        with pytest.raises(Exception, match="the LAG lag is down"):
            set_traffic(api, "start", ["from lag"])
        with tap(far.place, "d1") as one, tap(far.place, "d2") as other:
            protocols(api, "start")
            assert await_members(api, 2).oper_status == "up"
            while not far.has_joined():
                pass
            before = lacp_metrics(api)
            while True:
                seen = [len(each.lacp(True)) for each in (one, other)]
                if _sent(before) == _sent(before := lacp_metrics(api)):
                    break  # nothing was sent while the capture was read
            assert _sent(before) == seen
            for number, (port, each) in enumerate((("p1", one), ("p2", other)), 11):
                (said, answered), metric = (Ether(each.lacp(way)[-1])[LACP] for way in (True, False)), before[port]
                assert (said.actor_system, said.actor_system_priority, said.actor_key) == (_SYSTEM, 7, 5)
                assert (said.actor_port_number, said.actor_port_priority) == (number, 1)
                assert (metric.system_id, metric.oper_key, metric.port_num) == (_SYSTEM, 5, number)
                partner = answered.actor_system, answered.actor_key, answered.actor_port_number
                assert (metric.partner_id, metric.partner_key, metric.partner_port_num) == partner
                assert (metric.activity, metric.timeout, metric.synchronization) == ("active", "short", "in_sync")
                assert metric.collecting and metric.distributing and metric.aggregatable
            states = snappi.StatesRequest()
            states.ipv4_neighbors.ethernet_names = []
            found = {each.ethernet_name: each.link_layer_address for each in api.get_states(states).ipv4_neighbors}
            assert found == {"e1": _mac(2), "e2": _mac(1)}
            there, back = _traffic(api)
            assert (there.frames_tx, there.port_rx, back.frames_tx, back.port_tx) == (640, "lag", 640, "lag")
            assert 0 < there.frames_rx <= 640 and 0 < back.frames_rx <= 640
            # The capture has each frame at the member at which the tester counts it. Which member that is, the switch
            # decides: the first member that came up may keep all conversations until the switch balances them again.
            sent = [each.of(_FROM_LAG, True) for each in (one, other)]
            arrived = [each.of(_TO_LAG, False) for each in (one, other)]
            ports = _ports(api)
            assert sent == [320, 320] == [port.frames_tx for port in ports[:2]]
            assert sum(arrived) == there.frames_rx
            assert [port.bytes_rx for port in ports[:2]] == [128 * frames for frames in arrived]
            whole = lag_metric(api)
            assert (whole.frames_tx, whole.bytes_rx) == (640, 128 * sum(arrived))
            host, _, port = str(server.gnmi_location).rpartition(":")
            paths = ["/lags/lag[name=lag]/state", "/lacp/lag-members/lag-member[name=p2]/state/port-num"]
            with pygnmi.gNMIclient(target=(host, port), insecure=True, skip_gnmi_connectivity=True) as client:
                told = client.get(path=paths, encoding="json")["notification"]
            state, number = (each["update"][0]["val"] for each in told)
            assert (state["oper-status"], state["counters"]["member-ports-up"], number) == ("UP", "2", 12)
            assert state["counters"]["out-frames"] == "640"
            # A member that takes no part has no frames any more.
            _set_member(api, "down", "p1")
            await_members(api, 1)
            assert not lacp_metrics(api)["p1"].distributing
            while far.has_joined():
                pass
            there, _ = _traffic(api)
            assert [port.frames_tx for port in _ports(api)[:2]] == [0, 640]
            assert [port.bytes_rx for port in _ports(api)[:2]] == [0, 128 * there.frames_rx] and there.frames_rx > 0
            _set_member(api, "up", "p1")
            await_members(api, 2)
            protocols(api, "stop")
            assert lag_metric(api).oper_status == "down"
            assert [name for name in namespaces_of(os.getpid()) if "lags" in name or "router" in name] == []


def test_hosts_and_flows_at_a_static_lag() -> None:
    config = _config()
    config.lags[0].protocol.static.lag_id = 1
    with Server(Listening(http_port=0, grpc_port=None), Controller()) as server:
        api = snappi.api(location=server.url)
        api.set_config(config)
        name = device_of(os.getpid())
        far = FarSwitch(name)
        far.join_statically()
        assert (lag_metric(api).oper_status, lacp_metrics(api)) == ("up", {})
        protocols(api, "start")
        with tap(far.place, "d1") as one, tap(far.place, "d2") as other:
            there, back = _traffic(api)
            arrived = [each.of(_TO_LAG, False) for each in (one, other)]
            assert [each.of(_FROM_LAG, True) for each in (one, other)] == [320, 320]
        assert there.frames_tx == back.frames_tx == 640 and back.frames_rx > 0
        assert sum(arrived) == there.frames_rx and min(arrived) > 0
        assert [port.bytes_rx for port in _ports(api)[:2]] == [128 * frames for frames in arrived]


@pytest.mark.parametrize("tags", [PLAIN, IN_SERVICE], ids=["802.1Q", "802.1Q in 802.1ad"])
@needs(*FRR)
def test_a_device_of_a_lag_speaks_bgp_in_its_vlan(tags: Tags) -> None:
    config = _config()
    config.lags[0].protocol.static.lag_id = 1
    config.flows.clear()
    for number, device in enumerate(config.devices, 1):
        tag(device.ethernets[0], tags)
        device.bgp.router_id = f"10.0.0.{number}"
        peers = device.bgp.ipv4_interfaces.add(ipv4_name=f"ip{number}").peers
        far = f"198.18.9.{3 - number}"
        peer = peers.add(name=f"peer{number}", peer_address=far, as_type="ebgp", as_number=65000 + number)
        peer.advanced.passive_mode = number == 1
        peer.v4_routes.add(name=f"range{number}").addresses.add(address=f"{30 + number}.0.0.0", prefix=24, count=5)
    flow_of(config, ("range1", "range2"), tags)
    flow_of(config, ("range2", "range1"), tags)
    with Server(Listening(http_port=0, grpc_port=None), Controller()) as server:
        api = snappi.api(location=server.url)
        api.set_config(config)
        name = device_of(os.getpid())
        FarSwitch(name).join_statically()
        with observed() as wire:
            protocols(api, "start")
            await_peers(api, lambda peers: all(peer.routes_received == 5 for peer in peers.values()))
            there, back = _traffic(api)
            assert {own for own in tags_of(wire, _mac(1)) if own} == {tags}
        assert (there.frames_tx, there.frames_rx, there.port_tx) == (200, 200, "lag")
        assert (back.frames_tx, back.frames_rx, back.port_rx) == (200, 200, "lag")


def test_what_a_killed_tester_left_of_its_lags_is_removed() -> None:
    killed = KilledTester(_config())
    assert any(name.endswith("-lags") for name in killed.namespaces)
    with Server(Listening(http_port=0, grpc_port=None), Controller()) as server:
        snappi.api(location=server.url).set_config(three_ports("lab:bridge"))
        killed.await_nothing_left()
