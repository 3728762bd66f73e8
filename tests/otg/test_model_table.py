"""The table of OTG's whole model in docs/otg.md: each property does what its column says, those in none are done."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import snappi.snappi as model
from support.otg_document import holds
from support.otg_server import two_ports, udp_flow

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import configuration
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.reading.conformance import checked

PAGE = Path(__file__).parents[2] / "docs/otg.md"
PLACES = {
    "Config": "",
    "Port": "ports[0]",
    "Layer1": "layer1[0]",
    "Capture": "captures[0]",
    "Device": "devices[0]",
    "DeviceEthernet": "devices[0].ethernets[0]",
    "EthernetConnection": "devices[0].ethernets[0].connection",
    "DeviceIpv4": "devices[0].ethernets[0].ipv4_addresses[0]",
    "DeviceIpv6": "devices[0].ethernets[0].ipv6_addresses[0]",
    "Lag": "lags[0]",
    "LagProtocol": "lags[0].protocol",
    "LagProtocolLacp": "lags[0].protocol.lacp",
    "LagPort": "lags[0].ports[0]",
    "LagPortLacp": "lags[0].ports[0].lacp",
    "DeviceEthernetBase": "lags[0].ports[0].ethernet",
    "Lldp": "lldp[0]",
    "LldpChassisId": "lldp[0].chassis_id",
    "LldpPortId": "lldp[0].port_id",
    "Flow": "flows[0]",
    "FlowTxRx": "flows[0].tx_rx",
    "FlowPort": "flows[0].tx_rx.port",
    "FlowRouter": "flows[1].tx_rx.device",
    "FlowHeader": "flows[0].packet[3]",
    "FlowSize": "flows[0].size",
    "FlowRate": "flows[0].rate",
    "FlowDuration": "flows[0].duration",
    "FlowMetrics": "flows[0].metrics",
    "FlowPredefinedTags": "flows[0].metrics.predefined_metric_tags",
    "Event": "events",
    "ConfigOptions": "options",
    "PortOptions": "options.port_options",
    "FlowOptions": "options.flow_options",
}
"""Objects of a configuration."""
REQUESTS = ("ControlState", "StatePort", "StateProtocol", "StateTraffic", "MetricsRequest", "StatesRequest")
DONE, NO_EFFECT, REFUSED = range(3)


@cache
def rows() -> dict[str, list[list[str]]]:
    """By object, the properties that are done, that have no effect, and that are refused."""
    text = PAGE.read_text()
    whole = text.partition("and all properties of ")[2].partition(". Objects")[0]
    found: dict[str, list[list[str]]] = {name: [[], []] for name in re.findall(r"`([A-Z]\w+)`", whole)}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`[A-Z]\w+`", cells[0]):
            found[cells[0].strip("`")] = [re.findall(r"`(\w+)`", cell) for cell in cells[1:]]
    return {kind: [_done(kind, {*none, *refused}), none, refused] for kind, (none, refused) in found.items()}


def _done(kind: str, named: set[str]) -> list[str]:
    return sorted(set(getattr(model, kind)._TYPES) - {"choice"} - named)


def cases() -> Iterator[Any]:
    for kind, columns in rows().items():
        for column, names in enumerate(columns):
            yield from (pytest.param(kind, name, column, id=f"{kind}.{name}") for name in names)


def test_every_object_is_named_and_every_property_is_in_one_column() -> None:
    assert set(rows()) == {*PLACES, *REQUESTS}
    for kind, columns in rows().items():
        names = [name for column in columns for name in column]
        assert sorted(names) == sorted(set(getattr(model, kind)._TYPES) - {"choice"}), kind


@pytest.mark.parametrize(("kind", "name", "column"), list(cases()))
def test_it_does_what_its_column_says(controller: Controller, kind: str, name: str, column: int) -> None:
    answer = answer_of(controller, kind, name)
    refusal = answer if isinstance(answer, PlanError) else None
    path = f"{PLACES.get(kind, '')}.{name}".lstrip(".")
    assert refusal is None or kind in REQUESTS or holds(document_with(kind, name), refusal.field), refusal
    if column == REFUSED:
        assert refusal is not None, f"{path} is accepted"
        assert path.startswith(refusal.field) or refusal.field.startswith(path) or kind in REQUESTS
    else:
        # What a sample value lacks may be refused, the property itself is not.
        assert refusal is None or "not supported" not in refusal.problem, refusal
        assert column == DONE or (
            not isinstance(answer, PlanError) and any("has no effect" in each for each in answer)
        ), refusal


@pytest.fixture(scope="module")
def controller() -> Iterator[Controller]:
    found = Controller(seed=1)
    found.set_config(document_with("Port", "name"))
    yield found
    found.close()


def answer_of(controller: Controller, kind: str, name: str) -> list[str] | PlanError:
    """The warnings of the answer to a document with a sample of the property, or the refusal."""
    try:
        if kind in PLACES:
            document = document_with(kind, name)
            return list(configuration(checked(document), document, lambda port: 1e9, lambda port: 1500).warnings)
        get, states = controller.get_metrics, controller.get_states
        call = {"MetricsRequest": get, "StatesRequest": states}.get(kind, controller.set_control_state)
        return list(call(request_with(kind, name)).get("warnings", []))
    except PlanError as error:
        return error


def document_with(kind: str, name: str) -> Any:
    config = two_ports()
    udp_flow(config, "f1")
    udp_flow(config, "f2")
    document = json.loads(config.serialize("json"))
    document["flows"][0]["packet"].append({})
    document["flows"][1]["tx_rx"] = {"choice": "device", "device": {"tx_names": ["i1"], "rx_names": ["i2"]}}
    document["layer1"] = [{"name": "l", "port_names": ["p1"]}]
    for place in (1, 2):
        four = {"name": f"i{place}", "address": f"198.18.{place}.2", "gateway": f"198.18.{place}.1"}
        six = {"name": f"s{place}", "address": f"2001:2:0:{place}::2", "gateway": f"2001:2:0:{place}::1"}
        ethernet = {
            "name": f"e{place}",
            "mac": f"02:00:00:00:01:0{place}",
            "connection": {"choice": "port_name", "port_name": f"p{place}"},
            "ipv4_addresses": [four],
            "ipv6_addresses": [six],
        }
        document.setdefault("devices", []).append({"name": f"d{place}", "ethernets": [ethernet]})
    if kind == "Capture":
        document["captures"] = [{"name": "c", "port_names": ["p1"]}]
    if kind.startswith("Lag") or kind == "DeviceEthernetBase":
        document["lags"] = [{"name": "a", "ports": [{"port_name": "p3", "ethernet": {"name": "m"}}]}]
        document["ports"].append({"name": "p3", "location": "sim:gs908e#3"})
    if kind.startswith("Lldp"):
        document["lldp"] = [{"name": "a", "connection": {"choice": "port_name", "port_name": "p1"}}]
    target = document
    for step in PLACES[kind].replace("[", ".").replace("]", "").split("."):
        if step:
            target = target[int(step)] if step.isdigit() else target.setdefault(step, {})
    if "choice" in getattr(model, kind)._TYPES:
        target.clear()
        target["choice"] = name
    if name not in target:
        target[name] = sample(getattr(model, kind), name)
    if kind != "FlowHeader":
        document["flows"][0]["packet"].pop()
    if name in ("pfcpause", "ethernetpause"):  # they bring an Ethernet header of their own
        document["flows"][0]["packet"] = [target]
    return document


def request_with(kind: str, name: str) -> Any:
    document = {"choice": name, name: sample(getattr(model, kind), name)}
    around = {"StatePort": "port", "StateProtocol": "protocol", "StateTraffic": "traffic"}.get(kind)
    return document if around is None else {"choice": around, around: document}


def sample(kind: Any, name: str) -> Any:
    """The least value that the model allows in a field."""
    described = kind._TYPES[name]
    wanted = described["type"]
    if isinstance(wanted, str):
        listed = wanted.endswith("Iter")
        inner = getattr(model, wanted.removesuffix("Iter") if listed else wanted)
        found = {each: sample(inner, each) for each in getattr(inner, "_REQUIRED", ())}
        choice = str(found.get("choice"))
        if choice in inner._TYPES:
            found[choice] = sample(inner, choice)
        return [found] if listed else found
    if "enum" in described:
        return described["enum"][0]
    formats = {"mac": "02:00:00:00:02:09", "ipv4": "198.18.3.2", "ipv6": "2001:2:0:9::2", "hex": "0a0b"}
    text = formats.get(described.get("format", ""), "sample")
    return {bool: True, int: max(1, described.get("minimum", 1)), float: 1.0, list: ["p1"], str: text}[wanted]
