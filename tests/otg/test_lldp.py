"""LLDP agents of a script in the words of lldpd, without lldpd: what it is told, what is refused, and where."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.otg_lldp import lldp_agent
from support.otg_server import two_ports

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import Configuration, configuration
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.lldp.agents import commands
from keisoku.faces.otg.lldp.states import lldp_metric, neighbour_states
from keisoku.faces.otg.reading.conformance import checked


def understood(change: Callable[[Any], Any] = lambda agent: None) -> Configuration:
    config = two_ports()
    change(lldp_agent(config, 1))
    document = json.loads(config.serialize("json"))
    return configuration(checked(document), document, lambda _: None, lambda _: None)


def told(change: Callable[[Any], Any]) -> list[str]:
    return commands(understood(change).lldp[0], "t1")


def test_an_agent_with_otgs_defaults_names_its_interface_and_its_address() -> None:
    def default(agent: Any) -> None:
        agent.advertisement_interval, agent.hold_time = 30, 120

    (agent,) = understood(default).lldp
    assert (agent.chassis_mac, agent.chassis, agent.mac, agent.label, agent.interface) == (None,) * 5
    lines = commands(agent, "t1")
    for line in (
        "configure lldp tx-interval 30",
        "configure lldp tx-hold 4",
        'configure system hostname "lldp1"',
        "configure lldp portidsubtype ifname",
    ):
        assert lines.count(line) == 1, line
    assert not any("chassisid" in line or "custom-tlv" in line for line in lines)


def test_an_agent_in_the_words_of_lldpd() -> None:
    def all_own(agent: Any) -> None:
        agent.hold_time = 65535
        agent.chassis_id.local_subtype = 'a "b" \\c'
        agent.port_id.local_subtype = "Ethernet1/2"
        agent.system_name.value = "far #1"
        agent.org_infos.add(oui="00120F", subtype=9).information.info = "aB01"
        agent.org_infos.add()

    lines = told(all_own)
    for line in (
        "configure lldp tx-hold 13107",
        'configure system chassisid "a \\"b\\" \\\\c"',
        'configure ports t1 lldp portidsubtype local "Ethernet1/2"',
        'configure system hostname "far #1"',
        "configure ports t1 lldp custom-tlv add oui 00,12,0f subtype 9 oui-info ab,01",
        "configure ports t1 lldp custom-tlv add oui 00,80,c2 subtype 1",
    ):
        assert lines.count(line) == 1, line


def test_addresses_are_those_of_interfaces() -> None:
    def addresses(agent: Any) -> None:
        agent.chassis_id.mac_address_subtype.value = "02:00:00:00:AA:01"
        agent.port_id.mac_address_subtype = "02:00:00:00:AA:02"

    (agent,) = understood(addresses).lldp
    assert (agent.chassis_mac, agent.mac) == ("02:00:00:00:aa:01", "02:00:00:00:aa:02")
    assert "configure lldp portidsubtype macaddress" in commands(agent, "t1")


def _large(agent: Any) -> None:
    for _ in range(3):
        agent.org_infos.add().information.info = "ab" * 507


def _interface(name: str) -> Callable[[Any], Any]:
    return lambda agent: setattr(agent.port_id.interface_name_subtype, "value", name)


def _oui(oui: str) -> Callable[[Any], Any]:
    return lambda agent: agent.org_infos.add(oui=oui)


REFUSED: list[tuple[str, Callable[[Any], Any]]] = [
    ("connection.port_name", lambda agent: setattr(agent.connection, "port_name", "p3")),
    ("hold_time", lambda agent: setattr(agent, "hold_time", 21)),
    ("hold_time", lambda agent: setattr(agent, "advertisement_interval", 30)),
    ("chassis_id.interface_name_subtype", lambda agent: setattr(agent.chassis_id, "interface_name_subtype", "eth1")),
    ("chassis_id.local_subtype", lambda agent: setattr(agent.chassis_id, "local_subtype", "é" * 128)),
    ("chassis_id.local_subtype", lambda agent: setattr(agent.chassis_id, "local_subtype", "a\nb")),
    (
        "chassis_id.mac_address_subtype.value",
        lambda agent: setattr(agent.chassis_id.mac_address_subtype, "value", "01:00:5e:00:00:01"),
    ),
    ("port_id.mac_address_subtype", lambda agent: setattr(agent.port_id, "mac_address_subtype", "sample")),
    ("port_id.interface_name_subtype.value", _interface("Ethernet1/1/1")),
    ("port_id.interface_name_subtype.value", _interface("sixteen-letters-")),
    ("port_id.interface_name_subtype.value", _interface("lo")),
    ("port_id.local_subtype", lambda agent: setattr(agent.port_id, "local_subtype", "")),
    ("org_infos", _large),
    ("org_infos[0].oui", _oui("0x00C2")),
    ("org_infos[0].information.info", lambda agent: setattr(agent.org_infos.add().information, "info", "abc")),
    ("name", lambda agent: setattr(agent, "name", "lldp1")),
]


@pytest.mark.parametrize(("path", "change"), REFUSED, ids=[f"{at} {path}" for at, (path, _) in enumerate(REFUSED)])
def test_what_lldpd_cannot_do_is_refused_with_its_path(path: str, change: Callable[[Any], Any]) -> None:
    config = two_ports()
    lldp_agent(config, 1)
    change(lldp_agent(config, 2))
    document = json.loads(config.serialize("json"))
    with pytest.raises(PlanError) as caught:
        configuration(checked(document), document, lambda _: None, lambda _: None)
    assert caught.value.field == f"lldp[1].{path}"


def test_two_agents_of_a_port_cannot_have_one_address() -> None:
    config = two_ports()
    for name in ("one", "other"):
        lldp_agent(config, 1, name).port_id.mac_address_subtype = "02:00:00:00:AA:02"
    document = json.loads(config.serialize("json"))
    with pytest.raises(PlanError) as caught:
        configuration(checked(document), document, lambda _: None, lambda _: None)
    assert caught.value.field == "lldp[1].port_id.mac_address_subtype"


def test_an_agent_cannot_be_at_a_simulated_port() -> None:
    config = two_ports()
    lldp_agent(config, 2)
    controller = Controller()
    try:
        with pytest.raises(PlanError, match="no interface of this host at the port") as caught:
            controller.set_config(json.loads(config.serialize("json")))
    finally:
        controller.close()
    assert caught.value.field == "lldp[0]"


_NEIGHBOUR = {
    "name": "t1",
    "rid": "3",
    "age": "1 day, 02:03:04",
    "chassis": [
        {
            "id": [{"type": "mac", "value": "02:00:00:00:00:07"}],
            "name": [{"value": "far"}],
            "descr": [{"value": "a switch"}],
            "mgmt-ip": [{"value": "198.18.0.7"}, {"value": "2001:db8::7"}],
            "capability": [{"type": "Bridge", "enabled": True}, {"type": "Tel", "enabled": False}],
        }
    ],
    "port": [{"id": [{"type": "ifname", "value": "Ethernet7"}], "descr": [{"value": "up"}], "ttl": [{"value": "120"}]}],
    "unknown-tlvs": [
        {
            "unknown-tlv": [
                {"oui": "00,80,C3", "subtype": "9", "len": "2", "value": "0A,FF"},
                {"oui": "00,80,C3", "subtype": "10", "len": "0"},
            ]
        }
    ],
}


def test_what_lldpd_says_in_the_words_of_otg() -> None:
    (agent,) = understood().lldp
    assert set(lldp_metric(agent, {}).values()) == {"lldp1", 0}
    counts = {name: [{name: str(count)}] for count, name in enumerate(("tx", "rx", "rx_discarded_cnt"), 4)}
    metric = lldp_metric(agent, counts | {"rx_unrecognized_cnt": [{"rx_unrecognized_cnt": "9"}]})
    assert metric == {
        "name": "lldp1",
        "frames_tx": 4,
        "frames_rx": 5,
        "frames_discard": 6,
        "frames_error_rx": 6,
        "tlvs_discard": 0,
        "tlvs_unknown": 9,
    }
    (state,) = neighbour_states(agent, [_NEIGHBOUR])
    assert state == {
        "lldp_name": "lldp1",
        "neighbor_id": "02:00:00:00:00:07/Ethernet7",
        "chassis_id": "02:00:00:00:00:07",
        "chassis_id_type": "mac_address",
        "port_id": "Ethernet7",
        "port_id_type": "interface_name",
        "system_name": "far",
        "system_description": "a switch",
        "port_description": "up",
        "management_address": "198.18.0.7",
        "management_address_type": "ipv4",
        "age": 93784,
        "ttl": 120,
        "custom_tlvs": [
            {"custom_type": 127, "oui": "0080c3", "oui_subtype": 9, "information": "0aff"},
            {"custom_type": 127, "oui": "0080c3", "oui_subtype": 10, "information": ""},
        ],
        "capabilities": [
            {"capability_name": "mac_bridge", "capability_enabled": True},
            {"capability_name": "telephone", "capability_enabled": False},
        ],
    }


def test_identifiers_of_kinds_that_lldpd_does_not_show_are_absent() -> None:
    (agent,) = understood().lldp
    chassis, port = {"id": [{"type": "unhandled"}]}, {"id": [{"type": "unhandled"}], "ttl": [{"value": "7"}]}
    said = {"name": "t1", "rid": "2", "age": "0 day, 00:00:00", "chassis": [chassis], "port": [port]}
    (state,) = neighbour_states(agent, [said])
    assert state["neighbor_id"] == "unhandled 2/unhandled 2" and state["ttl"] == 7
    assert not {"chassis_id", "chassis_id_type", "port_id", "port_id_type", "system_name"} & set(state)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300))
def test_any_text_is_told_as_one_word_or_refused(text: str) -> None:
    try:
        lines = told(lambda agent: setattr(agent.system_name, "value", text))
    except PlanError as error:
        assert error.field == "lldp[0].system_name.value"
        assert not text.isprintable() or len(text.encode()) > 255
        return
    (line,) = [line for line in lines if "hostname" in line]
    _, _, said = line.partition("hostname ")
    assert said[0] == said[-1] == '"' and "\n" not in said
    # As lldpcli reads it: a backslash keeps the next character.
    inner, read = iter(said[1:-1]), ""
    for character in inner:
        assert character != '"'
        read += next(inner) if character == "\\" else character
    assert read == text
