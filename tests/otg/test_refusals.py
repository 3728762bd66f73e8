"""What keisoku does not do exactly as a script writes it is refused with the path of the field, never ignored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.otg_document import holds
from support.otg_server import two_ports, udp_flow

from keisoku.errors import PlanError
from keisoku.faces.otg.control.controller import Controller


def document() -> Any:
    config = two_ports()
    udp_flow(config)
    return json.loads(config.serialize("json"))


def refusal(changed: Any) -> PlanError:
    controller = Controller()
    try:
        with pytest.raises(PlanError) as caught:
            controller.set_config(changed)
        return caught.value
    finally:
        controller.close()


def _device(*vlans: dict[str, Any]) -> dict[str, Any]:
    tags = [{"name": f"v{place}", **vlan} for place, vlan in enumerate(vlans)]
    connection = {"choice": "port_name", "port_name": "p1"}
    ethernet = {"name": "e", "mac": "02:00:00:00:00:09", "connection": connection, "vlans": tags}
    return {"name": "d", "ethernets": [ethernet]}


def _many_ports(count: int) -> Any:
    """With 37 sources as many combinations as no sender holds."""
    ports = {"src_port": (0, 37), "dst_port": (0, count)}
    return {
        name: {"choice": "increment", "increment": {"start": start, "step": 1, "count": own}}
        for name, (start, own) in ports.items()
    }


CASES: list[tuple[str, Any, str]] = [
    ("flows[0].packet[1].ipv4.src", {"choice": "auto", "auto": {"choice": "dhcp"}}, "flows[0].packet[1].ipv4.src"),
    ("flows[0].packet[1].ipv4.options", [{"choice": "router_alert"}], "flows[0].packet[1].ipv4.options"),
    ("flows[0].packet[1].ipv4.sorce", {"choice": "value"}, "flows[0].packet[1].ipv4.sorce"),
    ("flows[0].packet[2]", {"choice": "igmpv1", "igmpv1": {}}, "flows[0].packet[2].igmpv1"),
    ("flows[0].packet[0]", {"choice": "vlan", "vlan": {}}, "flows[0].packet[0]"),
    ("flows[0].size", {"choice": "fixed", "fixed": 60}, "flows[0].size"),
    ("flows[0].size", {"choice": "fixed", "fixed": 9000000}, "flows[0].size"),
    ("flows[0].payload", {"choice": "increment_byte"}, "flows[0].payload"),
    ("flows[0].packet[2].udp", _many_ports(65521), "flows[0].packet"),
    ("flows[0].tx_rx.port.rx_names", ["p1"], "flows[0].tx_rx"),
    ("flows[0].tx_rx.port.rx_names", ["p3"], "flows[0].tx_rx.port.rx_names"),
    ("flows[0].egress_packet", [{"choice": "arp", "arp": {}}], "flows[0].egress_packet[0].arp"),
    ("ports[1].location", "sim:gs908e#1", "ports[1].location"),
    ("ports[1].location", "lab:bridge#2", "ports[1].location"),
    ("ports", [{"name": "p1", "location": "sim:nothing#1"}], "ports[0].location"),
    ("ports", [{"name": "p1", "location": "sim:gs908e#99"}], "ports[0].location"),
    ("ports[0].location", "eth1/2", "ports[0].location"),
    ("devices", [_device({"id": 7}, {"id": 8}, {"id": 9})], "devices[0].ethernets[0].vlans"),
    ("devices", [_device({"id": 7}, {"id": 8})], "devices[0].ethernets[0].vlans"),
    ("devices", [_device({"id": 7, "priority": 3})], "devices[0].ethernets[0].vlans"),
    ("devices", [_device({"id": 7, "tpid": "x9100"})], "devices[0].ethernets[0].vlans[0].tpid"),
    ("devices", [_device({"id": 0})], "devices[0].ethernets[0].vlans[0].id"),
    ("layer1", [{"name": "l", "port_names": ["p1"], "speed": "speed_10_gbps"}], "layer1[0].speed"),
    ("captures", [{"name": "c", "port_names": ["p1"]}], "captures"),
]


@pytest.mark.parametrize(
    ("place", "value", "path"), CASES, ids=[f"{place}-{n}" for n, (place, _, _) in enumerate(CASES)]
)
def test_the_path_of_what_is_not_supported(place: str, value: Any, path: str) -> None:
    changed = document()
    _put(changed, place, value)
    assert refusal(changed).field == path
    assert holds(changed, path)


@pytest.mark.parametrize(
    ("place", "value", "path"),
    [
        ("flows[0].rate", {"choice": "pps", "pps": "x"}, "flows[0].rate.pps"),
        ("flows[0].packet[1].ipv4.src", {"choice": "value", "value": "300.1.1.1"}, "flows[0].packet[1].ipv4.src.value"),
        ("flows[0].size", 5, "flows[0].size"),
        ("flows", {}, "flows"),
        ("ports[0]", 3, "ports[0]"),
        ("flows[0].tx_rx.port.rx_names", "p2", "flows[0].tx_rx.port.rx_names"),
        ("flows[0].packet[0].choice", "nonsense", "flows[0].packet[0].choice"),
        ("layer1", [{"name": "l"}], "layer1[0].port_names"),
        ("flows[0].name", None, "flows[0].name"),
    ],
)
def test_the_path_of_what_does_not_conform(place: str, value: Any, path: str) -> None:
    """snappi's own sentence was once all that a client got: 'invalid literal for int() with base 10'."""
    changed = document()
    _put(changed, place, value)
    assert refusal(changed).field == path


def test_a_flow_of_a_protocol_that_is_not_spoken_hides_no_refusal_of_it() -> None:
    """Of OSPFv3 a client was told that its flow names no route range, as if a name were wrong."""
    config = two_ports()
    device = config.devices.device(name="d")[-1]
    ethernet = device.ethernets.add(name="e", mac="02:00:00:00:00:09")
    ethernet.connection.port_name = "p1"
    ethernet.ipv6_addresses.add(name="v6", address="2001:db8::1", gateway="2001:db8::2")
    router = device.ospfv3.instances.add(name="r")
    router.interfaces.add(name="i", ipv6_name="v6")
    router.v6_routes.add(name="range").addresses.add(address="2001:db8:9::")
    flow = config.flows.flow(name="f")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["v6"], ["range"]
    assert refusal(json.loads(config.serialize("json"))).field == "devices[0].ospfv3"


def test_a_configuration_that_is_refused_leaves_the_last_one() -> None:
    controller = Controller()
    good = document()
    controller.set_config(good)
    bad = document()
    bad["flows"][0]["payload"] = {"choice": "increment_byte"}
    with pytest.raises(PlanError):
        controller.set_config(bad)
    assert controller.get_config() == good
    controller.close()


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 70000) | st.text(max_size=6) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["choice", "value", "name"]), inner),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(
    place=st.sampled_from(
        [
            *("ports", "ports[0]", "flows", "flows[0].packet", "flows[0].packet[1].ipv4.src", "flows[0].size"),
            *("flows[0].rate", "flows[0].duration", "flows[0].tx_rx", "devices", "layer1", "flows[0].metrics"),
            *("options", "captures"),
        ]
    ),
    value=_values,
)
def test_anything_at_all_is_understood_or_refused(place: str, value: Any) -> None:
    changed = document()
    _put(changed, place, value)
    controller = Controller()
    try:
        controller.set_config(changed)
    except PlanError as error:
        assert holds(changed, error.field), error
    finally:
        controller.close()


def _put(document: Any, place: str, value: Any) -> None:
    steps = place.replace("[", ".").replace("]", "").split(".")
    for step in steps[:-1]:
        document = document[int(step)] if step.isdecimal() else document.setdefault(step, {})
    last = steps[-1]
    document[int(last) if last.isdecimal() else last] = value
