"""BGP peers of a script in the words of FRR, without FRR: what is asked of it, and what is refused with its path."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import ip_network
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.otg_bgp import bgp_device
from support.otg_server import two_ports

from keisoku.errors import PlanError
from keisoku.faces.otg.bgp.frr import BgpText
from keisoku.faces.otg.bgp.peers import listening
from keisoku.faces.otg.bgp.states import bgp_metric, prefix_state
from keisoku.faces.otg.configuration import Configuration, configuration
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.device.route_range import MOST_HOSTS, Prefixes, hosts, may_meet
from keisoku.faces.otg.reading.conformance import checked


def script(change: Callable[[Any, Any], None] = lambda peer, routes: None) -> Any:
    """A peer with a range of IPv4 routes, changed as a test wants."""
    config = two_ports()
    peer = bgp_device(config, 1)
    routes = peer.v4_routes.add(name="r1")
    routes.addresses.add(address="20.0.0.0", prefix=24, count=3, step=2)
    change(peer, routes)
    return config


def understood(config: Any) -> Configuration:
    document = json.loads(config.serialize("json"))
    return configuration(checked(document), document, lambda _: None, lambda _: None)


def told(config: Any) -> BgpText:
    return BgpText(understood(config).bgp, {"e1": "e0", "e2": "e1"})


def test_a_peer_is_a_view_with_its_routes() -> None:
    lines = told(script()).whole().splitlines()
    assert "router bgp 65001 view p0" in lines
    for line in (
        "bgp router-id 10.0.0.1",
        "neighbor 198.18.1.1 remote-as external",
        "neighbor 198.18.1.1 interface e0",
        "neighbor 198.18.1.1 update-source 198.18.1.77",
        "neighbor 198.18.1.1 timers 30 90",
        "neighbor 198.18.1.1 ebgp-multihop 64",
        *(f"network 20.0.{third}.0/24 route-map TAG1" for third in (0, 2, 4)),
    ):
        assert lines.count(line) == 1, line


def test_attributes_are_set_where_routes_leave() -> None:
    def attributes(peer: Any, routes: Any) -> None:
        routes.as_path.as_set_mode = "include_as_seq"
        routes.as_path.segments.add(type="as_seq", as_numbers=[100, 200])
        routes.communities.add(type="manual_as_number", as_number=65001, as_custom=7)
        routes.communities.add(type="no_export")
        routes.advanced.origin, routes.advanced.multi_exit_discriminator = "egp", 5
        routes.next_hop_mode, routes.next_hop_ipv4_address = "manual", "198.18.1.78"
        target = routes.extended_communities.add().transitive_2octet_as_type.route_target_subtype
        target.global_2byte_as, target.local_4byte_admin = 65001, 9

    text = told(script(attributes)).whole()
    rules = text.partition("route-map OUT1 permit 1\n")[2].partition("exit")[0].splitlines()
    assert rules == [
        "match tag 1",
        "set origin egp",
        "set metric 5",
        "set as-path prepend 100 200",
        "set community 65001:7 no-export",
        "set extcommunity rt 65001:9",
        "set ip next-hop 198.18.1.78",
    ]


@pytest.mark.parametrize(
    ("kind", "number", "own", "bytes_per_second", "refused"),
    [
        ("ibgp", 65001, 65001, 12_500_000, None),
        ("ibgp", 70001, 23456, 12_500_000, None),
        ("ebgp", 65001, 65001, 12_500_000, ""),
        ("ibgp", 65001, 65002, 12_500_000, ".global_2byte_as"),
        ("ibgp", 65001, 65001, 1000, ".bandwidth"),
        ("ibgp", 65001, 65001, 0, ".bandwidth"),
        ("ibgp", 65001, 65001, 3_200_125_000, ".bandwidth"),
    ],
)
def test_the_bandwidth_of_a_link_is_what_frr_can_send(
    kind: str, number: int, own: int, bytes_per_second: int, refused: str | None
) -> None:
    def bandwidth(peer: Any, routes: Any) -> None:
        peer.as_type, peer.as_number = kind, number
        link = routes.extended_communities.add().non_transitive_2octet_as_type.link_bandwidth_subtype
        link.global_2byte_as, link.bandwidth = own, bytes_per_second

    if refused is None:
        assert "set extcommunity bandwidth 100 non-transitive\n" in told(script(bandwidth)).whole()
        return
    with pytest.raises(PlanError) as caught:
        told(script(bandwidth))
    at = "extended_communities[0].non_transitive_2octet_as_type.link_bandwidth_subtype"
    assert caught.value.field.endswith(at + refused)


def test_a_path_without_the_own_as_is_one_that_begins_with_it() -> None:
    def path(*numbers: int) -> Callable[[Any, Any], None]:
        return lambda _, routes: routes.as_path.segments.add(type="as_seq", as_numbers=list(numbers))

    text = told(script(path(65001, 7))).whole()
    assert "set as-path prepend 7\n" in text and "unchanged" not in text


def test_a_path_without_the_own_as_is_sent_as_it_is_and_those_with_it_are_given_whole() -> None:
    """FRR would put its own AS first, and does so for a peer as a whole or not at all."""

    def paths(peer: Any, routes: Any) -> None:
        routes.as_path.segments.add(type="as_seq", as_numbers=[7, 8])
        other = peer.v4_routes.add(name="other")
        other.addresses.add(address="30.0.0.0")
        other.as_path.as_set_mode = "include_as_seq"
        other.as_path.segments.add(type="as_seq", as_numbers=[9])

    lines = [line.strip() for line in told(script(paths)).whole().splitlines()]
    assert list(dict.fromkeys(line for line in lines if "as-path" in line)) == [
        "set as-path prepend 7 8",
        "set as-path prepend 65001 9",
        "neighbor 198.18.1.1 attribute-unchanged as-path",
    ]


def test_paths_are_numbered_by_frr_where_a_script_has_several() -> None:
    def numbered(peer: Any, routes: Any) -> None:
        peer.capability.ipv4_unicast_add_path, routes.add_path.path_id = True, 7

    assert "addpath" not in told(script()).whole()
    assert told(script(numbered)).whole().count("neighbor 198.18.1.1 addpath-tx-all-paths\n") == 1
    (warning,) = [text for text in understood(script(numbered)).warnings if "add_path" in text]
    assert "FRR numbers its paths itself" in warning


def test_a_range_without_addresses_advertises_nothing_and_leads_no_flow() -> None:
    """A test of aggregates that are not viable has one, and was refused."""

    def empty(peer: Any, routes: Any) -> None:
        peer.v4_routes.add(name="none")

    found = understood(script(empty))
    assert [text for text in found.warnings if "v4_routes[1]: advertises nothing" in text]
    lines = told(script(empty)).whole().splitlines()
    assert not any("TAG2" in line for line in lines)
    config = script(empty)
    flow = config.flows.flow(name="f")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["r1"], ["none"]
    with pytest.raises(PlanError, match="the range none has no addresses") as caught:
        understood(config)
    assert caught.value.field == "flows[0].tx_rx.device.rx_names"


def _listening(change: Callable[[Any], Any] = lambda other: None) -> Any:
    """A device with two peers, of which the first one waits."""
    config = script(lambda peer, _: setattr(peer.advanced, "passive_mode", True))
    other = (
        config.devices[0]
        .bgp.ipv6_interfaces.add(ipv6_name="v6-1")
        .peers.add(name="six", peer_address="2001:2:0:1::1", as_type="ebgp", as_number=65001)
    )
    other.v6_routes.add(name="r6").addresses.add(address="2001:db8::", prefix=64)
    change(other)
    return config


def test_peers_of_a_device_that_listens_share_a_table_and_each_sends_its_own_ranges() -> None:
    found = understood(_listening())
    assert listening(found.bgp, found.interfaces) == {"devices[0]": 179}
    assert listening(understood(script()).bgp, understood(script()).interfaces) == {}
    text = BgpText(found.bgp, {"e1": "k1"}, listens=True)
    whole = text.whole()
    assert " view " not in whole and whole.count("router bgp 65001\n") == 2 and "neighbor 198.18.1.1 passive\n" in whole
    ranges = len(found.bgp[0].routes)
    assert f"network 2001:db8::/64 route-map TAG{ranges + 1}\n" in whole
    assert f"route-map OUT2 permit 1\nmatch tag {ranges + 1}\n" in whole
    assert f"match tag {ranges + 1}" in text.withdraw({1: frozenset({0})})


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("advanced.listen_port", lambda other: setattr(other.advanced, "listen_port", 1790)),
        ("as_number", lambda other: setattr(other, "as_number", 65009)),
        ("v4_routes[0].addresses", lambda other: other.v4_routes.add(name="r").addresses.add(address="20.0.0.0")),
    ],
)
def test_what_peers_of_one_table_cannot_have_is_refused(path: str, change: Callable[[Any], Any]) -> None:
    found = understood(_listening(change))
    with pytest.raises(PlanError, match="listens for BGP sessions") as caught:
        listening(found.bgp, found.interfaces)
    assert caught.value.field == f"devices[0].bgp.ipv6_interfaces[0].peers[0].{path}"


def test_ranges_are_withdrawn_and_advertised_by_filters_that_peers_share() -> None:
    config = script()
    bgp_device(config, 2).v4_routes.add(name="r2").addresses.add(address="30.0.0.0")
    text = told(config)
    assert text.whole().count("route-map OUT1 permit 1") == 1
    commands = text.withdraw({0: frozenset({0})})
    assert commands[:3] == ["route-map OUT2 deny 1", "match tag 1", "exit"]
    assert commands.count("neighbor 198.18.1.1 route-map OUT2 out") == 2
    assert not text.withdraw({0: frozenset({0})})
    assert "neighbor 198.18.1.1 route-map OUT1 out" in text.withdraw({0: frozenset()})
    assert not any(line.startswith("route-map") for line in text.withdraw({1: frozenset({0})}))


def test_a_prefix_of_two_ranges_is_advertised_as_long_as_one_of_them_is() -> None:
    """Scripts that try a limit of prefixes advertise one of several ranges, each of which contains the others."""

    def more(peer: Any, routes: Any) -> None:
        peer.v4_routes.add(name="more").addresses.add(address="20.0.2.0", prefix=24, count=2, step=1)

    text = told(script(more))
    lines = [line.strip() for line in text.whole().splitlines()]
    assert [line for line in lines if line.startswith("network")] == [
        "network 20.0.0.0/24 route-map TAG1",
        "network 20.0.4.0/24 route-map TAG1",
        "network 20.0.2.0/24 route-map TAG2",
        "network 20.0.3.0/24 route-map TAG3",
    ]

    def denied(*gone: int) -> list[str]:
        commands = text.withdraw({0: frozenset(gone)})
        return [other for one, other in pairwise(commands) if " deny " in one]

    assert denied(0) == ["match tag 1"]
    assert denied(1) == ["match tag 3"]
    assert denied(0, 1) == ["match tag 1", "match tag 2", "match tag 3"]


def test_ipv4_routes_have_the_address_of_an_ipv6_session_where_both_sides_know_rfc_8950() -> None:
    def peer_of(**settings: Any) -> Any:
        config = two_ports()
        device = config.devices.device(name="d1")[-1]
        ethernet = device.ethernets.add(name="e1", mac="02:00:00:00:01:4d")
        ethernet.connection.port_name = "p1"
        ethernet.ipv6_addresses.add(name="six", address="2001:db8::2", gateway="2001:db8::1")
        device.bgp.router_id = "10.0.0.1"
        peers = device.bgp.ipv6_interfaces.add(ipv6_name="six").peers
        peer = peers.add(name="peer", peer_address="2001:db8::1", as_type="ebgp", as_number=65001)
        peer.capability.extended_next_hop_encoding = settings.get("extended", True)
        routes = peer.v4_routes.add(name="r", next_hop_address_type=settings.get("kind", "ipv4"))
        routes.addresses.add(address="20.0.0.0")
        return config

    for kind in ("ipv4", "ipv6"):
        text = told(peer_of(kind=kind)).whole()
        assert "capability extended-nexthop" in text and "next-hop" not in text.replace("extended-nexthop", "")
        with pytest.raises(PlanError, match="next hop"):
            understood(peer_of(kind=kind, extended=False))


def test_what_conformance_tests_ask_for_and_frr_sends_otherwise_is_said() -> None:
    """TestEbgpRoutePrefix and scripts with AS numbers of two bytes were refused."""

    def change(peer: Any, routes: Any) -> None:
        peer.as_number_width = "two"
        routes.as_path.as_set_mode = "include_as_set"
        routes.as_path.segments.add(type="as_seq", as_numbers=[peer.as_number, 7])

    found = understood(script(change))
    assert [text.partition(": ")[0].rpartition(".")[2] for text in found.warnings] == ["as_number_width", "as_set_mode"]
    lines = told(script(change)).whole().splitlines()
    assert lines.count("set as-path prepend 65001 7") == 1
    assert lines.count("neighbor 198.18.1.1 allowas-in 10") == 2  # of each version


def test_a_peer_takes_its_own_routes_for_a_loop_unless_a_script_has_its_as_in_a_path() -> None:
    """Behind a router all peers learned their own routes as well, and a test that counted them never ended."""
    assert not any("allowas-in" in line for line in told(script()).whole().splitlines())


def other_way(peer: Any) -> None:
    """A range with a prefix of the first one and another origin."""
    other = peer.v4_routes.add(name="other")
    other.addresses.add(address="20.0.0.0", prefix=24)
    other.advanced.origin = "egp"


REFUSED: list[tuple[str, Callable[[Any, Any], None]]] = [
    ("peers[0].advanced.hold_time_interval", lambda peer, _: setattr(peer.advanced, "hold_time_interval", 2)),
    ("peers[0].advanced.md5_key", lambda peer, _: setattr(peer.advanced, "md5_key", "a\nno router bgp")),
    ("peers[0].as_number_width", lambda peer, _: peer.set(as_number_width="two", as_number=65536)),
    ("peers[0].capability.vpls", lambda peer, _: setattr(peer.capability, "vpls", True)),
    ("peers[0].capability.route_refresh", lambda peer, _: setattr(peer.capability, "route_refresh", False)),
    ("peers[0].v4_routes[0]", lambda peer, _: setattr(peer.capability, "ipv4_unicast", False)),
    ("peers[0].evpn_ethernet_segments", lambda peer, _: peer.evpn_ethernet_segments.add()),
    ("peers[0].v4_routes[0].next_hop_address_type", lambda _, r: setattr(r, "next_hop_address_type", "ipv6")),
    ("peers[0].v4_routes[0].addresses[0].count", lambda _, r: setattr(r.addresses[0], "count", 3_000_001)),
    ("peers[0].v4_routes[0].addresses", lambda _, r: r.addresses.add(address="20.0.2.0", prefix=24)),
    ("peers[0].v4_routes[1].addresses", lambda peer, _: other_way(peer)),
    ("peers[0].v4_routes[0].communities[0].type", lambda _, routes: routes.communities.add()),
    ("peers[0].name", lambda peer, _: setattr(peer, "name", "e1")),
    ("peers[0].v4_routes[0].name", lambda _, routes: setattr(routes, "name", "peer1")),
]


@pytest.mark.parametrize(("path", "change"), REFUSED, ids=[path for path, _ in REFUSED])
def test_what_frr_cannot_do_is_refused_with_its_path(path: str, change: Callable[[Any, Any], None]) -> None:
    config = script(change)
    with pytest.raises(PlanError) as caught:
        understood(config)
    assert caught.value.field == f"devices[0].bgp.ipv4_interfaces[0].{path}"


def test_a_port_without_an_interface_cannot_speak() -> None:
    controller = Controller()
    try:
        with pytest.raises(PlanError, match=r"devices\[0\].bgp.ipv4_interfaces\[0\].peers\[0\]: there is no interface"):
            controller.set_config(json.loads(script().serialize("json")))
    finally:
        controller.close()


@pytest.mark.parametrize("headers", [True, False])
def test_a_flow_to_a_range_goes_to_an_address_in_each_prefix(headers: bool) -> None:
    """Also one that names no headers, as flows of sonic-mgmt between ranges do: it was sent without an IP header."""
    config = script()
    bgp_device(config, 2).v4_routes.add(name="r2").addresses.add(address="30.0.0.0", prefix=32, count=2)
    flow = config.flows.flow(name="f")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["r1"], ["r2"]
    if headers:
        flow.packet.ethernet().ipv4()
    ((one, other),) = understood(config).flows[0].ways
    assert (one.port, one.ips) == (0, ("20.0.0.1", "20.0.2.1", "20.0.4.1"))
    assert (other.port, other.ips) == (1, ("30.0.0.0", "30.0.0.1"))
    packet = understood(config).flows[0].packet.filled("02:00:00:00:00:01", None, one.ips, other.ips)
    assert packet.modify == (
        "IP.src=increment(20.0.0.1, count=3, step=512)",
        "IP.dst=increment(30.0.0.0, count=2, step=1)",
    )


@given(
    version=st.sampled_from((4, 6)),
    base=st.integers(0, 2**24),
    length=st.integers(8, 32),
    count=st.integers(1, 2000),
    step=st.integers(1, 9),
)
def test_addresses_of_a_range_are_in_its_prefixes(version: int, base: int, length: int, count: int, step: int) -> None:
    bits = 32 if version == 4 else 128
    first = base << (bits - 24) >> (bits - length) << (bits - length)
    if first + (count * step << (bits - length)) >= 1 << bits:
        return
    found = hosts((Prefixes(version, first, length, count, step),))
    networks = [ip_network(text) for text in Prefixes(version, first, length, count, step).texts()]
    assert len(networks) == len(set(networks)) == count
    assert len(set(found)) == min(count, MOST_HOSTS)
    inside = {network.network_address: network for network in networks}
    for address in found:
        assert ip_network(f"{address}/{length}", strict=False).network_address in inside
    assert ip_network(f"{found[0]}/{length}", strict=False) == networks[0]
    assert count == 1 or ip_network(f"{found[-1]}/{length}", strict=False) == networks[-1]


_RANGE = st.tuples(st.integers(0, 40), st.integers(24, 26), st.integers(1, 5), st.integers(0, 3))


@given(st.lists(_RANGE, max_size=4))
def test_ranges_that_cannot_meet_have_no_prefix_in_common(drawn: list[tuple[int, int, int, int]]) -> None:
    ranges = [Prefixes(4, place << (32 - length), length, count, step) for place, length, count, step in drawn]
    texts = [text for one in ranges for text in one.texts()]
    assert may_meet(ranges) or len(set(texts)) == len(texts)
    # Ranges without gaps meet only if they have a prefix in common.
    if all(step == 1 for *_, step in drawn):
        assert may_meet(ranges) == (len(set(texts)) < len(texts))


def test_what_frr_says_in_the_words_of_otg() -> None:
    (peer,) = understood(
        script(lambda peer, _: setattr(peer.learned_information_filter, "unicast_ipv4_prefix", True))
    ).bgp
    assert bgp_metric(peer, {})["fsm_state"] == "idle"
    said = {
        "bgpState": "Established",
        "connectionsDropped": 2,
        "messageStats": {"updatesSent": 7, "opensRecv": 3},
        "addressFamilyInfo": {"ipv4Unicast": {"sentPrefixCounter": 3, "acceptedPrefixCounter": 4}},
        "gracefulRestartInfo": {"endOfRibRecv": {"ipv4Unicast": True, "ipv6Unicast": False}},
    }
    metric = bgp_metric(peer, said)
    assert (metric["session_state"], metric["session_flap_count"], metric["end_of_rib_received"]) == ("up", 2, 1)
    assert (metric["updates_sent"], metric["opens_received"]) == (7, 3)
    assert (metric["routes_advertised"], metric["routes_received"]) == (3, 4)
    table = {
        "routes": {
            "20.0.0.0/24": [{"prefix": "20.0.0.0/24"}, {"aspath": {"segments": []}, "sourced": True}],
            "30.0.0.0/8": [
                {"prefix": "30.0.0.0/8"},
                {
                    "aspath": {"segments": [{"type": "as-sequence", "list": [65000, 9]}]},
                    "origin": "IGP",
                    "metric": 5,
                    "community": {"list": ["65001:7", "noExport"]},
                    "nexthops": [{"ip": "198.18.1.1", "afi": "ipv4"}],
                },
            ],
        }
    }
    assert prefix_state(peer, {4: table}, [4]) == {
        "bgp_peer_name": "peer1",
        "ipv4_unicast_prefixes": [
            {
                "ipv4_address": "30.0.0.0",
                "prefix_length": 8,
                "origin": "igp",
                "as_path": {"segments": [{"type": "as_seq", "as_numbers": [65000, 9]}]},
                "ipv4_next_hop": "198.18.1.1",
                "multi_exit_discriminator": 5,
                "communities": [
                    {"type": "manual_as_number", "as_number": 65001, "as_custom": 7},
                    {"type": "no_export"},
                ],
            }
        ],
    }
