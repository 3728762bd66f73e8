"""OSPFv2 routers of a script in the words of FRR, without FRR: what is asked of it, and what is refused, and where."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import snappi.snappi as model
from support.otg_ospf import ospf_device
from support.otg_server import two_ports

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import Configuration, configuration
from keisoku.faces.otg.ospf.frr import OspfText
from keisoku.faces.otg.ospf.routers import OspfRouter
from keisoku.faces.otg.ospf.states import lsa_state, ospf_metric
from keisoku.faces.otg.reading.conformance import checked

_HEAD = {"advertisingRouter": "198.18.1.2", "lsaSeqNumber": "80000003", "lsaAge": 4}


def script(change: Callable[[Any], Any] = lambda router: None) -> Any:
    """A router with a range of each origin, changed as a test wants."""
    config = two_ports()
    router = ospf_device(config, 1)
    for number, origin in enumerate(("external_type_1", "external_type_2", "inter_area", "intra_area")):
        reached = router.v4_routes.add(name=f"r{number}", metric=70 + number)
        reached.addresses.add(address=f"2{number}.0.0.0", prefix=24, count=2)
        reached.route_origin.choice = origin
    change(router)
    return config


def understood(config: Any) -> Configuration:
    document = json.loads(config.serialize("json"))
    return configuration(checked(document), document, lambda _: None, lambda _: None)


def router_of(config: Any) -> OspfRouter:
    (router,) = understood(config).routers["ospfv2"]
    assert isinstance(router, OspfRouter)
    return router


def told(config: Any) -> OspfText:
    return OspfText(router_of(config), {"e1": "k1"})


def test_a_router_in_the_words_of_frr() -> None:
    text = told(script())
    lines = text.whole().splitlines()
    for line in (
        "ospf router-id 198.18.1.1",
        "ip ospf network point-to-point",
        "ip ospf hello-interval 1",
        "ip ospf dead-interval 4",
        "set metric-type type-1",
        "set metric 70",
        "redistribute static route-map OSPF1",
        "ip ospf cost 73",
    ):
        assert lines.count(line) == 1, line
    assert text.static() == [f"ip route 2{n}.0.{at}.0/24 blackhole tag {10001 + n}" for n in (0, 1) for at in (0, 1)]
    networks = text.networks()
    assert networks["n2"] == ["22.0.0.1/24", "22.0.1.1/24"] and networks["n3"] == ["23.0.0.1/24", "23.0.1.1/24"]


@pytest.mark.parametrize(("area", "other"), [(0, "255.255.255.254"), (7, "0.0.0.0")])
def test_what_is_summarized_is_in_another_area(area: int, other: str) -> None:
    commands = told(script(lambda router: setattr(router.interfaces[0].area, "id", area))).advertise(frozenset())
    assert commands[commands.index("interface n2") + 1] == f"ip ospf area {other}"
    assert commands[commands.index("interface n3") + 1] == f"ip ospf area 0.0.0.{area}"


def test_a_withdrawn_range_has_no_rule_in_another_filter_and_no_area() -> None:
    text = told(script())
    text.whole()
    commands = text.advertise(frozenset({0, 2}))
    assert [line for line in commands if "route-map OSPF2 permit" in line] == ["route-map OSPF2 permit 2"]
    assert commands[commands.index("interface n2") + 1] == "no ip ospf area 255.255.255.254"
    assert commands[commands.index("interface n3") + 1] == "ip ospf area 0.0.0.0"
    assert "route-map OSPF3 deny 1" in text.advertise(frozenset({0, 1}))


def test_a_range_without_a_metric_has_the_least_cost() -> None:
    config = script(lambda router: setattr(router.v4_routes[2], "metric", 0))
    assert router_of(config).routes[2].metric == 1
    warnings = understood(config).warnings
    assert any("v4_routes[2].metric: has no effect" in warning for warning in warnings)


def _keyless(router: Any) -> None:
    router.interfaces[0].authentication.md5s.add(key_id=3)


_LSAS = {(True, 1): 1, (True, 3): 2, (True, 4): 3, (False, 5): 4, (False, 0): 9}


REFUSED: list[tuple[str, Callable[[Any], Any]]] = [
    ("lsa_refresh_time", lambda router: setattr(router, "lsa_refresh_time", 900)),
    ("interfaces[0].ipv4_name", lambda router: setattr(router.interfaces[0], "ipv4_name", "e1")),
    ("interfaces[0].network_type", lambda r: setattr(r.interfaces[0].network_type, "choice", "point_to_multipoint")),
    ("interfaces[0].authentication.md5s[0].key", _keyless),
    ("interfaces[0].authentication.clear_text", lambda r: setattr(r.interfaces[0].authentication, "clear_text", "a b")),
    ("interfaces[0].advanced.hello_interval", lambda r: setattr(r.interfaces[0].advanced, "hello_interval", 0)),
    ("interfaces[0].srlg_values", lambda router: setattr(router.interfaces[0], "srlg_values", [1])),
    ("v4_routes[2].metric", lambda router: setattr(router.v4_routes[2], "metric", 70_000)),
    (
        "v4_routes[2].route_origin.nssa_external",
        lambda r: setattr(r.v4_routes[2].route_origin, "choice", "nssa_external"),
    ),
    ("v4_routes[3].route_origin.intra_area.flags.n_flag", lambda r: _flag(r.v4_routes[3].route_origin.intra_area)),
    ("v4_routes[0].addresses", lambda router: setattr(router.v4_routes[0].addresses[0], "prefix", 0)),
    ("v4_routes[0].name", lambda router: setattr(router.v4_routes[0], "name", "e1")),
    ("segment_routing", lambda router: router.segment_routing.srgb_ranges.add()),
]


def _flag(origin: Any) -> None:
    origin.flags.n_flag = True


@pytest.mark.parametrize(("path", "change"), REFUSED, ids=[path for path, _ in REFUSED])
def test_what_frr_cannot_do_is_refused_with_its_path(path: str, change: Callable[[Any], Any]) -> None:
    config = script(change)
    with pytest.raises(PlanError) as caught:
        understood(config)
    paths = [f"devices[0].ospfv2.{path}"] + [f"devices[0].ospfv2.{path}[0].count"] * path.endswith("addresses")
    assert caught.value.field in paths


def test_what_frr_says_in_the_words_of_otg() -> None:
    router = router_of(script())
    idle = ospf_metric(router, {}, {}, "", {})
    assert (idle["name"], idle["full_state_count"], idle["hellos_sent"]) == ("ospf1", 0, 0)
    neighbours = {"neighbors": {"198.18.1.2": [{"nbrState": "Full/-"}], "198.18.1.3": [{"nbrState": "Init/DROther"}]}}
    log = "OSPF: [X] AdjChg: Nbr 198.18.1.2, NbrIP 198.18.1.2 (default) on e0:198.18.1.1: Full -> Deleted (KillNbr)"
    metric = ospf_metric(router, neighbours, {"k1": {"helloIn": 3, "lsUpdOut": 2}, "k2": {"helloIn": 4}}, log, _LSAS)
    assert (metric["full_state_count"], metric["sessions_flap"]) == (1, 1)
    assert (metric["hellos_received"], metric["ls_update_sent"], metric["dbd_sent"]) == (7, 2, 0)
    assert set(metric) == set(idle) == set(model.Ospfv2Metric._TYPES), "gosnappi looks at every counter"
    counts = "lsa_sent", "lsa_received", "summary_lsa_sent", "external_lsa_received", "lsa_ack_received"
    assert [metric[name] for name in counts] == [6, 4, 5, 4, 9]
    assert set(metric) - set(ospf_metric(router, {}, {}, "", None)) >= {"lsa_sent", "router_lsa_received"}
    links = {
        "link0": {
            "linkType": "another Router (point-to-point)",
            "neighborRouterId": "198.18.1.1",
            "routerInterfaceAddress": "198.18.1.2",
            "tos0Metric": 11,
        },
        "link1": {
            "linkType": "a Transit Network",
            "designatedRouterAddress": "198.18.1.9",
            "routerInterfaceAddress": "198.18.1.2",
            "tos0Metric": 12,
        },
        "link2": {
            "linkType": "Stub Network",
            "networkAddress": "24.0.0.0",
            "networkMask": "255.255.255.0",
            "tos0Metric": 13,
        },
    }
    external = {"networkMask": 24, "metricType": "E2 (Larger than any link state path)", "metric": 72}
    flushed = _HEAD | {"lsaAge": 3600, "linkStateId": "23.0.0.0", "networkMask": 24, "tos0Metric": 5}
    states: dict[str, Any] = {
        "router": {
            "routerLinkStates": {
                "areas": {
                    "0.0.0.0": [_HEAD | {"linkStateId": "198.18.1.2", "routerLinks": links}],
                    "255.255.255.254": [_HEAD | {"linkStateId": "198.18.1.7", "routerLinks": {}}],
                }
            }
        },
        "summary": {"summaryLinkStates": {"areas": {"0.0.0.0": [flushed]}}},
        "external": {
            "asExternalLinkStates": [
                _HEAD | external | {"linkStateId": "22.0.0.0"},
                _HEAD | external | {"linkStateId": "21.0.0.0", "advertisingRouter": "198.18.1.1"},
            ]
        },
    }
    found = lsa_state(router, states)
    assert set(found) == {"router_name", "router_lsas", "external_as_lsas"}
    (own,) = found["router_lsas"]
    assert own["header"] == {
        "lsa_id": "198.18.1.2",
        "advertising_router_id": "198.18.1.2",
        "sequence_number": 0x80000003,
        "age": 4,
    }
    assert [(link["type"], link["id"], link["data"], link["metric"]) for link in own["links"]] == [
        ("point_to_point", "198.18.1.1", "198.18.1.2", 11),
        ("transit", "198.18.1.9", "198.18.1.2", 12),
        ("stub", "24.0.0.0", "255.255.255.0", 13),
    ]
    (far,) = found["external_as_lsas"]
    assert (far["network_mask"], far["metric"], far["metric_type"]) == ("255.255.255.0", 72, 2)
