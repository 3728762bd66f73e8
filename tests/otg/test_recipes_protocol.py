"""docs/recipes.md, "A new protocol of OTG's routers": with a folder's entry and its line, scripts can use it."""

from __future__ import annotations

import json
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from support.otg_server import two_ports
from support.tiny_ospfv3 import OSPF6, OSPF6D

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import Configuration, configuration
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.device.router import RouterProtocol
from keisoku.faces.otg.reading.conformance import checked
from keisoku.faces.otg.routers import ROUTERS
from keisoku.faces.otg.speaking.protocols import Protocols
from keisoku.faces.otg.speaking.speaker import Speaker


def script() -> Any:
    """A router with a range of routes, to which a flow goes."""
    config = two_ports()
    for number in (1, 2):
        device = config.devices.device(name=f"d{number}")[-1]
        ethernet = device.ethernets.add(name=f"e{number}", mac=f"02:00:00:00:04:0{number}")
        ethernet.connection.port_name = f"p{number}"
        ethernet.ipv6_addresses.add(
            name=f"v6-{number}", address=f"2001:db8::{number}", gateway=f"2001:db8::{3 - number}"
        )
    router = device.ospfv3.instances.add(name="r2")
    interface = router.interfaces.add(name="i2", ipv6_name="v6-2")
    interface.area.ip = "0.0.0.0"
    router.v6_routes.add(name="range").addresses.add(address="2001:db8:9::", prefix=64, count=2)
    flow = config.flows.add(name="f")
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["v6-1"], ["range"]
    return config


def understood(config: Any) -> Configuration:
    document = json.loads(config.serialize("json"))
    return configuration(checked(document), document, lambda _: 1e9, lambda _: None)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> RouterProtocol[Any]:
    monkeypatch.setitem(ROUTERS, "ospfv3", OSPF6)
    return OSPF6


def test_without_the_line_it_is_refused_with_its_path() -> None:
    config = script()
    config.flows.clear()
    with pytest.raises(PlanError) as caught:
        understood(config)
    assert caught.value.field == "devices[1].ospfv3"
    with pytest.raises(PlanError, match=r"ask for port.* isis, ospfv2, lldp, lacp"):
        Controller().get_metrics({"choice": "ospfv3", "ospfv3": {}})


def test_with_the_line_frr_is_told_of_the_router(line: RouterProtocol[Any]) -> None:
    (router,) = understood(script()).routers["ospfv3"]
    (at,) = router.interfaces
    speaker = Speaker({"k0": at.interface}, (), {"ospfv3": router})
    place = speaker.place(lambda interface: ("eth2", Path("/run/netns/x")))
    assert place.texts[OSPF6D].splitlines()[:2] == ["interface k0", "ipv6 ospf6 area 0.0.0.0"]
    assert any("2001:db8:9:1::/64" in text for text in place.texts.values())


def test_its_routes_are_ends_of_flows(line: RouterProtocol[Any]) -> None:
    (flow,) = understood(script()).flows
    ((_, receive),) = flow.ways
    assert [ip_network(f"{ip}/64", strict=False).with_prefixlen for ip in receive.ips] == [
        "2001:db8:9::/64",
        "2001:db8:9:1::/64",
    ]


def test_its_metrics_states_and_control_are_known(line: RouterProtocol[Any]) -> None:
    spoken = Protocols(understood(script()))
    assert spoken.metrics("ospfv3", checked({"ospfv3": {}}, "MetricsRequest")) == [
        {"name": "r2", "full_state_count": 0}
    ]
    asked = checked({"ospfv3_lsas": {}}, "StatesRequest")
    assert spoken.states("ospfv3_lsas", asked) == [{"router_name": "r2"}]
    down = {"choice": "routers", "routers": {"router_names": ["no"], "state": "down"}}
    state = {"choice": "protocol", "protocol": {"choice": "ospfv3", "ospfv3": down}}
    node = checked(state, "ControlState")
    with pytest.raises(PlanError, match=r"protocol\.ospfv3\.routers\.router_names: there is no OSPFv3 router no"):
        spoken.set_state(node.child(str(node.choice())), node)
