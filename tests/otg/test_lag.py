"""LAGs of a script without Open vSwitch: what is understood and refused, and static ones in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import snappi
from hypothesis import given
from hypothesis import strategies as st
from support.otg_lag import lag_metric, lag_of, three_ports
from support.otg_server import otg_client, set_traffic, udp_flow, until_stopped

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import Configuration, configuration
from keisoku.faces.otg.lacp.states import lacp_metric, member_states
from keisoku.faces.otg.reading.conformance import checked

_SWITCH = "name = 'a learning switch'\nports = 3\n[address_table]\nentries = 100\n"


def understood(config: Any, rate: float | None = None) -> Configuration:
    document = json.loads(config.serialize("json"))
    return configuration(checked(document), document, lambda _: rate, lambda _: None)


def one_lag(change: Callable[[Any], Any] = lambda lag: None, location: str = "sim:gs908e") -> Any:
    """A configuration with a LAG of p1 and p2, and p3."""
    config = three_ports(location)
    change(lag_of(config))
    return config


def static(lag: Any) -> None:
    lag.protocol.static.lag_id = 3


def numbered(lag: Any) -> None:
    lacp = lag.protocol.lacp
    lacp.actor_system_id, lacp.actor_system_priority, lacp.actor_key = "02:00:00:00:AA:77", 7, 5
    for number, member in enumerate(lag.ports, 11):
        member.lacp.actor_port_number, member.lacp.actor_port_priority = number, 9
        member.lacp.actor_activity, member.lacp.lacpdu_timeout = "passive", 3


def test_a_lag_with_lacp_is_understood() -> None:
    (lag,) = understood(one_lag(numbered)).lags
    assert lag.lacp is not None
    assert (lag.ports, [(one.number, one.priority) for one in lag.members]) == ((0, 1), [(11, 9), (12, 9)])
    assert (lag.lacp.system_id, lag.lacp.system_priority, lag.lacp.key) == ("02:00:00:00:aa:77", 7, 5)
    assert (lag.lacp.active, lag.lacp.fast) == (False, True)
    (own,) = understood(one_lag()).lags
    assert own.lacp is not None and (own.lacp.system_id, own.lacp.active, own.lacp.fast) == (None, True, False)
    assert understood(one_lag(static)).lags[0].lacp is None


def _member(number: int, name: str, value: Any) -> Callable[[Any], Any]:
    return lambda lag: setattr(lag.ports[number].lacp, name, value)


REFUSED: list[tuple[str, Callable[[Any], Any]]] = [
    ("lags[0].name", lambda lag: setattr(lag, "name", "p3")),
    ("lags[0].ports[1].port_name", lambda lag: setattr(lag.ports[1], "port_name", "p9")),
    ("lags[0].ports[2].port_name", lambda lag: lag.ports.port(port_name="p1")[-1].ethernet.__setattr__("name", "m3")),
    ("lags[0].ports[0].lacp.actor_activity", _member(1, "actor_activity", "passive")),
    ("lags[0].ports[0].lacp.lacpdu_timeout", _member(1, "lacpdu_timeout", 3)),
    ("lags[0].ports[1].lacp.lacpdu_timeout", _member(1, "lacpdu_timeout", 30)),
    ("lags[0].ports[1].lacp.actor_port_priority", _member(1, "actor_port_priority", 0)),
]


@pytest.mark.parametrize(("path", "change"), REFUSED, ids=[f"{at} {path}" for at, (path, _) in enumerate(REFUSED)])
def test_what_cannot_be_carried_out_is_refused_with_its_path(path: str, change: Callable[[Any], Any]) -> None:
    with pytest.raises(PlanError) as caught:
        understood(one_lag(change))
    assert caught.value.field == path


def test_a_lag_without_a_port_is_down_and_nothing_is_there() -> None:
    with otg_client() as api:
        config = three_ports("sim:gs908e")
        config.lags.lag(name="static lag")[-1].protocol.static.lag_id = 1
        config.lags.lag(name="lacp lag")[-1].protocol.lacp.actor_key = 1
        api.set_config(config)
        request = snappi.MetricsRequest()
        request.lag.lag_names = []
        found = api.get_metrics(request).lag_metrics
        assert [(lag.name, lag.oper_status, lag.member_ports_up, lag.frames_tx) for lag in found] == [
            (f"{kind} lag", "down", 0, 0) for kind in ("static", "lacp")
        ]
        request = snappi.MetricsRequest()
        request.lacp.lag_names = ["lacp lag"]
        assert len(api.get_metrics(request).lacp_metrics) == 0
    udp_flow(config, tx="lacp lag", rx="p3")
    with pytest.raises(PlanError, match="the LAG lacp lag has no port") as caught:
        understood(config)
    assert caught.value.field == "flows[0].tx_rx.port.tx_name"
    config.flows.clear()
    ethernet = config.devices.device(name="d")[-1].ethernets.add(name="e", mac="02:00:00:00:00:09")
    ethernet.connection.lag_name = "static lag"
    with pytest.raises(PlanError, match="the LAG static lag has no port"):
        understood(config)


def test_a_device_is_at_a_lag_and_not_at_its_member() -> None:
    config = one_lag()
    ethernet = config.devices.device(name="d")[-1].ethernets.add(name="e", mac="02:00:00:00:0a:01")
    ethernet.connection.lag_name = "lag"
    (interface,) = understood(config).interfaces
    assert interface.lag is not None and interface.lag.name == "lag"
    ethernet.connection.lag_name = "other"
    with pytest.raises(PlanError, match="no LAG other"):
        understood(config)
    ethernet.connection.port_name = "lag"
    (interface,) = understood(config).interfaces
    assert interface.lag is not None and interface.lag.name == "lag"
    ethernet.connection.port_name = "p2"
    with pytest.raises(PlanError, match="member of the LAG lag") as caught:
        understood(config)
    assert caught.value.field == "devices[0].ethernets[0].connection.port_name"


def test_a_lag_with_lacp_needs_interfaces() -> None:
    with otg_client() as api, pytest.raises(Exception, match="LAGs are spoken at interfaces"):
        api.set_config(one_lag())


def test_a_percentage_of_a_lag_is_of_all_its_lines() -> None:
    config = one_lag()
    flow = udp_flow(config, tx="lag", rx="p3")
    flow.rate.percentage = 10
    (whole,) = understood(config, 1e9).flows
    flow.tx_rx.port.tx_name = "p1"
    (one,) = understood(config, 1e9).flows
    assert whole.timing.frames_per_second == pytest.approx(2 * one.timing.frames_per_second)


@given(st.integers(1, 40), st.integers(2, 4), st.lists(st.sampled_from([64, 128, 256]), min_size=1, max_size=3))
def test_a_conversation_has_one_member_and_all_members_are_used(count: int, step: int, sizes: list[int]) -> None:
    config = one_lag(static)
    flow = udp_flow(config, tx="lag", rx="p3")
    udp = flow.packet[2]
    udp.src_port.increment.start, udp.src_port.increment.count = 5000, count
    udp.dst_port.values = [*range(7000, 7000 + step), 7000]
    flow.size.weight_pairs.custom.clear()
    for size in sizes:
        flow.size.weight_pairs.custom.custom(size=size, weight=1)
    (found,) = understood(config).flows
    seen: dict[int, set[tuple[int, int]]] = {}
    ports = [*range(7000, 7000 + step), 7000]
    for part in found.tagged:
        for place in part.places:
            seen.setdefault(part.lane, set()).add((5000 + place % count, ports[place % len(ports)]))
    assert sum(part.frames_of(1000) for part in found.tagged) == 1000
    assert len(set().union(*seen.values())) == sum(map(len, seen.values())), "no conversation is at two members"
    assert set(seen) == set(range(min(2, len(set().union(*seen.values())))))


@pytest.fixture
def switch(tmp_path: Path) -> str:
    """A simulated device that sends frames to addresses that it does not know to all ports."""
    file = tmp_path / "switch.toml"
    file.write_text(_SWITCH)
    return f"sim:{file}"


def test_frames_of_a_static_lag_count_at_each_member_and_for_the_lag(switch: str) -> None:
    config = one_lag(static, switch)
    away = udp_flow(config, "away", tx="lag", rx="p3", packets=105)
    away.packet[2].src_port.increment.start, away.packet[2].src_port.increment.count = 5000, 10
    back = udp_flow(config, "back", tx="p3", rx="lag", packets=40)
    back.packet[0].src.value, back.packet[0].dst.value = "02:00:00:00:00:03", "02:00:00:00:00:04"
    back.metrics.predefined_metric_tags.rx_name = True
    with otg_client() as api:
        api.set_config(config)
        before = lag_metric(api)
        set_traffic(api, "start")
        there, here = until_stopped(api)
        request = snappi.MetricsRequest()
        request.port.port_names = []
        ports = api.get_metrics(request).port_metrics
        after = lag_metric(api)
    assert (before.name, before.oper_status, before.member_ports_up, before.frames_tx) == ("lag", "up", 2, 0)
    assert (there.port_tx, there.port_rx, there.frames_tx, there.loss) == ("lag", "p3", 105, 0)
    # Ten conversations take turns: five frames are over after ten rounds, three of them for the first member.
    assert [port.frames_tx for port in ports] == [53, 52, 40]
    # The switch knows no host with that address, so each frame arrives at both members.
    assert (here.port_tx, here.port_rx, here.frames_tx, here.frames_rx, here.loss) == ("p3", "lag", 40, 80, 0)
    assert [(each.tags[0].value.str, each.frames_rx) for each in here.tagged_metrics] == [("lag", 80)]
    assert (after.frames_tx, after.bytes_tx) == (105, 105 * 128)
    assert after.frames_rx == ports[0].frames_rx + ports[1].frames_rx
    assert after.bytes_rx == ports[0].bytes_rx + ports[1].bytes_rx


_SHOWN = """---- lag1-all ----
  status: active negotiated
  sys_id: 02:00:00:00:00:77
  lacp_time: fast

member: lag1-1: current attached
  port_id: 11
  port_priority: 1
  may_enable: true

  actor sys_id: 02:00:00:00:00:77
  actor port_id: 11
  actor key: 5
  actor state: activity timeout aggregation synchronized collecting distributing

  partner sys_id: ba:82:b7:13:54:47
  partner port_id: 2
  partner key: 1
  partner state: activity aggregation synchronized collecting distributing

member: lag1-2: expired attached
  port_id: 12
  may_enable: false

  actor sys_id: 02:00:00:00:00:77
  actor port_id: 12
  actor key: 5
  actor state: activity timeout aggregation synchronized collecting distributing expired

  partner sys_id: ba:82:b7:13:54:47
  partner port_id: 1
  partner key: 1
  partner state: activity
"""
_COUNTED = """---- lag1-all statistics ----

member: lag1-1:
  TX PDUs: 4
  RX PDUs: 3
  RX Bad PDUs: 1
  RX Marker Request PDUs: 0

member: lag1-2:
  TX PDUs: 2
  RX PDUs: 0
  RX Bad PDUs: 0
"""


def test_a_member_that_lost_its_link_carries_nothing_although_it_last_said_so() -> None:
    (lag,) = understood(one_lag(numbered)).lags
    states = member_states(_SHOWN, _COUNTED)
    one, other = (lacp_metric(lag, "p", states[name]) for name in ("lag1-1", "lag1-2"))
    assert one == {
        "lag_name": "lag",
        "lag_member_port_name": "p",
        "lacp_packets_rx": 3,
        "lacp_packets_tx": 4,
        "lacp_rx_errors": 1,
        "activity": "passive",
        "timeout": "short",
        "synchronization": "in_sync",
        "aggregatable": True,
        "collecting": True,
        "distributing": True,
        "system_id": "02:00:00:00:00:77",
        "oper_key": 5,
        "port_num": 11,
        "partner_id": "ba:82:b7:13:54:47",
        "partner_key": 1,
        "partner_port_num": 2,
    }
    assert (other["synchronization"], other["collecting"], other["distributing"]) == ("out_sync", False, False)
    assert (other["lacp_packets_tx"], other["lacp_packets_rx"]) == (2, 0)
