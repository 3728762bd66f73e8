"""IS-IS routers of a script in the words of FRR, without FRR: what is asked of it, and what is refused, and where."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.otg_isis import isis_device
from support.otg_server import two_ports

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import Configuration, configuration
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.isis.frr import IsisText
from keisoku.faces.otg.isis.routers import IsisRouter
from keisoku.faces.otg.isis.states import adjacency_state, isis_metric, lsp_state
from keisoku.faces.otg.reading.conformance import checked

_DATABASE = """Area tester:
IS-IS Level-2 link-state database:
LSP ID                  PduLen  SeqNumber   Chksum  Holdtime  ATT/P/OL
6401.0000.0001.00-00 *    129   0x00000003  0x3edb    1145    0/0/0
  Hostname: one

far.00-00                 129   0x0000000a  0x937e    1195    1/0/0
  Protocols Supported: IPv4, IPv6
  Hostname: far
  Extended Reachability: 6401.0000.0001.00 (Metric: 10)
  Extended IP Reachability: 20.2.0.0/24 (Metric: 77)
  Extended IP Reachability: 20.3.0.0/24 (Metric: 7) Down
  IPv6 Reachability: 2001:db8:2::/64 (Metric: 34) External

far.02-00                  27   0x00000003  0xb9d6     (41)   0/0/0

    3 LSPs
"""
_HOSTNAMES = """vrf     : default
Level  System ID      Dynamic Hostname
2      6401.0000.0002 far
     * 6401.0000.0001 one
"""
_NEIGHBOURS = {
    "areas": [
        {
            "circuits": [
                {
                    "adj": "6401.0000.0002",
                    "interface": {"name": "k1", "state": "Up"},
                    "level": 2,
                    "expires-in": "28s",
                },
                {"circuit": 0},
            ]
        }
    ]
}


def script(change: Callable[[Any], Any] = lambda router: None) -> Any:
    """A router with a range of IPv4 routes, changed as a test wants."""
    config = two_ports()
    router = isis_device(config, 1)
    router.v4_routes.add(name="r1", link_metric=5).addresses.add(address="20.0.0.0", prefix=24, count=2)
    router.v6_routes.add(name="r2").addresses.add(address="2001:db8::", prefix=64)
    change(router)
    return config


def understood(config: Any) -> Configuration:
    document = json.loads(config.serialize("json"))
    return configuration(checked(document), document, lambda _: None, lambda _: None)


def router_of(config: Any) -> IsisRouter:
    (router,) = understood(config).routers["isis"]
    assert isinstance(router, IsisRouter)
    return router


def told(config: Any) -> IsisText:
    return IsisText(router_of(config), {"e1": "k1"})


def test_a_router_in_the_words_of_frr() -> None:
    lines = told(script()).whole().splitlines()
    for line in (
        "net 49.0001.6401.0000.0001.00",
        "is-type level-2-only",
        "metric-style wide",
        "isis network point-to-point",
        "isis hello-interval level-2 1",
        "isis hello-multiplier level-2 5",
        "isis metric level-2 10",
        "ip router isis tester",
        "ipv6 router isis tester",
        "redistribute ipv4 static level-2 route-map OUT1",
        "redistribute ipv6 static level-2 route-map OUT1",
    ):
        assert lines.count(line) == 1, line
    assert told(script()).static() == [
        "ip route 20.0.0.0/24 blackhole tag 1",
        "ip route 20.0.1.0/24 blackhole tag 1",
        "ipv6 route 2001:db8::/64 blackhole tag 2",
    ]


def test_a_withdrawn_range_has_no_rule_in_another_filter() -> None:
    text = told(script())
    text.whole()
    commands = text.advertise(frozenset({0}))
    assert [line for line in commands if "route-map OUT2 permit" in line] == ["route-map OUT2 permit 2"]
    assert "redistribute ipv4 static level-2 route-map OUT2" in commands
    assert "route-map OUT3 deny 1" in text.advertise(frozenset({0, 1}))


def _link(router: Any) -> Any:
    return router.interfaces[0].traffic_engineering.add()


def test_what_is_said_of_a_link_is_told_in_an_order_that_frr_takes() -> None:
    assert told(script()).links() == []

    def change(router: Any) -> None:
        link = _link(router)
        link.administrative_group, link.metric_level, link.priority_bandwidths.pb3 = "0000000A", 77, 5000

    text = told(script(change))
    lines = text.links()
    assert (lines[:2], lines[-2:]) == (["interface k1", "link-params"], ["exit-link-params", "exit"])
    assert {"metric 77", "admin-grp 0xa"} <= set(lines)
    greatest = lines.index("max-bw 125000000")
    assert lines.index("max-rsv-bw 0") < greatest < lines.index("max-rsv-bw 125000000")
    assert lines.index("unrsv-bw 3 0") < greatest < lines.index("unrsv-bw 3 5000")
    assert "mpls-te on" in text.whole().splitlines()


def _areas(*areas: str) -> Callable[[Any], Any]:
    return lambda router: setattr(router.advanced, "area_addresses", list(areas))


def test_areas_and_keys() -> None:
    def change(router: Any) -> None:
        _areas("49", "490001ab02")(router)
        router.router_auth.area_auth.auth_type, router.router_auth.area_auth.password = "password", "word"
        router.interfaces[0].authentication.auth_type, router.interfaces[0].authentication.md5 = "md5", "key"

    lines = told(script(change)).whole().splitlines()
    assert "net 49.6401.0000.0001.00" in lines and "net 49.0001.ab02.6401.0000.0001.00" in lines
    assert "area-password clear word authenticate snp validate" in lines and "isis password md5 key" in lines


REFUSED: list[tuple[str, Callable[[Any], Any]]] = [
    ("system_id", lambda router: setattr(router, "system_id", "6401000000010")),
    ("advanced.area_addresses", _areas("4900")),
    ("advanced.csnp_interval", lambda router: setattr(router.advanced, "csnp_interval", 1500)),
    ("advanced.lsp_lifetime", lambda router: setattr(router.advanced, "lsp_lifetime", 700)),
    ("advanced.max_area_addresses", lambda router: setattr(router.advanced, "max_area_addresses", 5)),
    ("interfaces[0].eth_name", lambda router: setattr(router.interfaces[0], "eth_name", "e9")),
    ("interfaces[0].l2_settings.dead_interval", lambda r: setattr(r.interfaces[0].l2_settings, "hello_interval", 3)),
    ("interfaces[0].srlg_values", lambda router: setattr(router.interfaces[0], "srlg_values", [1])),
    ("interfaces[0].traffic_engineering", lambda router: [_link(router) for _ in range(2)]),
    (
        "interfaces[0].traffic_engineering[0].max_bandwith",
        lambda router: setattr(_link(router).priority_bandwidths, "pb7", 125_000_001),
    ),
    ("interfaces[0].multi_topology_ids[0].mt_id", lambda r: r.interfaces[0].multi_topology_ids.add(mt_id=3)),
    ("v4_routes[0].redistribution_type", lambda router: setattr(router.v4_routes[0], "redistribution_type", "down")),
    ("v4_routes[0].origin_type", lambda router: setattr(router.basic, "enable_wide_metric", False)),
    ("v4_routes[0].addresses", lambda router: setattr(router.v4_routes[0].addresses[0], "prefix", 0)),
    ("v4_routes[0].name", lambda router: setattr(router.v4_routes[0], "name", "e1")),
    ("segment_routing", lambda router: router.segment_routing.router_capability.sr_capability.srgb_ranges.add()),
    ("basic.hostname", lambda router: setattr(router.basic, "hostname", "a\nexit")),
    ("router_auth.domain_auth.md5", lambda r: setattr(r.router_auth.domain_auth, "auth_type", "md5")),
]


@pytest.mark.parametrize(("path", "change"), REFUSED, ids=[path for path, _ in REFUSED])
def test_what_frr_cannot_do_is_refused_with_its_path(path: str, change: Callable[[Any], Any]) -> None:
    config = script(change)
    with pytest.raises(PlanError) as caught:
        understood(config)
    if path.endswith("addresses"):
        assert caught.value.field in (f"devices[0].isis.{path}", f"devices[0].isis.{path}[0].count")
    else:
        assert caught.value.field == f"devices[0].isis.{path}"


def test_what_frr_does_by_itself_is_said_to_have_no_effect() -> None:
    found = understood(script(lambda router: setattr(router.interfaces[0].advanced, "auto_adjust_mtu", True)))
    assert any("auto_adjust_mtu: has no effect" in warning for warning in found.warnings)


def test_a_port_without_an_interface_cannot_speak() -> None:
    controller = Controller()
    try:
        with pytest.raises(PlanError, match=r"devices\[0\].isis: there is no interface of this host"):
            controller.set_config(json.loads(script().serialize("json")))
    finally:
        controller.close()


def test_a_flow_to_a_range_goes_by_the_routers_first_interface() -> None:
    config = script()
    isis_device(config, 2).v4_routes.add(name="far").addresses.add(address="30.0.0.0", prefix=24)
    flow = config.flows.flow(name="f")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["r1"], ["far"]
    flow.packet.ethernet().ipv4()
    ((one, other),) = understood(config).flows[0].ways
    assert (one.port, one.ips) == (0, ("20.0.0.1", "20.0.1.1"))
    assert (other.port, other.ips) == (1, ("30.0.0.1",))


def test_what_frr_says_in_the_words_of_otg() -> None:
    router = router_of(script())
    idle = isis_metric(router, {}, {}, "", "")
    assert (idle["name"], idle["l2_sessions_up"], idle["l2_lsp_sent"], idle["gr_initiated"]) == ("isis1", 0, 0, 0)
    log = "Adjacency to 6401.0000.0002 (k1) for level-2 changed from Up to Down\nfor level-2 changed from Unknown to Up"
    summary = {"areas": [{"tx-pdu-type": {"p2p-iih": 3, "l2-lsp": 2}, "rx-pdu-type": {"l2-csnp": 4}}]}
    metric = isis_metric(router, summary, _NEIGHBOURS, _DATABASE, log)
    assert (metric["l2_sessions_up"], metric["l1_sessions_up"]) == (1, 0)
    assert (metric["l2_session_flap"], metric["l2_database_size"], metric["l2_csnp_received"]) == (1, 3, 4)
    assert (metric["l2_point_to_point_hellos_sent"], metric["l1_point_to_point_hellos_sent"]) == (3, 0)
    (adjacency,) = adjacency_state(router, _NEIGHBOURS, {"k1": "e1"})["adjacency_states"]
    assert (adjacency["neighbor_system_id"], adjacency["interface_name"]) == ("640100000002", "e1")
    assert (adjacency["local_state"]["hold_timer"], adjacency["neighbor_state"]["hold_timer"]) == (5, 28)
    far, pseudonode = lsp_state(router, _DATABASE, _HOSTNAMES)["lsps"]
    assert (far["lsp_id"], far["sequence_number"], far["remaining_lifetime"]) == ("640100000002-00-00", 10, 1195)
    assert far["flags"] == {"partition_repair": False, "attached_default": True, "overload": False}
    assert far["is_type"] == 3, "gosnappi ended with a nil pointer where it was absent"
    assert far["tlvs"]["hostname_tlvs"] == [{"hostname": "far"}]
    assert far["tlvs"]["extended_is_reachability_tlvs"] == [{"neighbors": [{"system_id": "640100000001"}]}]
    (four,) = far["tlvs"]["extended_ipv4_reachability_tlvs"]
    assert [(each["ipv4_address"], each["metric"], each["redistribution_type"]) for each in four["prefixes"]] == [
        ("20.2.0.0", 77, "up"),
        ("20.3.0.0", 7, "down"),
    ]
    (six,) = far["tlvs"]["ipv6_reachability_tlvs"]
    assert (six["prefixes"][0]["ipv6_address"], six["prefixes"][0]["origin_type"]) == ("2001:db8:2::", "external")
    assert (pseudonode["lsp_id"], pseudonode["remaining_lifetime"]) == ("640100000002-02-00", 0)


@given(st.lists(st.sampled_from([*_DATABASE.splitlines(), "", "  Extended Reachability: ", "  IPv6 Reachability: x"])))
def test_whatever_frr_prints_is_read(lines: list[str]) -> None:
    router = router_of(script())
    text, begun = "\n".join(lines), [place for place, line in enumerate(lines) if line.startswith("IS-IS")]
    heads = [line for line in lines[min(begun, default=len(lines)) :] if "  0x" in line]
    assert isis_metric(router, {}, {}, text, text)["l2_database_size"] == len(heads)
    assert len(lsp_state(router, text, "")["lsps"]) == sum(line.startswith("far") for line in heads)
