"""Gateways of the tester's hosts are asked for together, and without the controller's lock."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import snappi
from support.otg_server import otg_clients, two_ports

from keisoku.errors import EngineError
from keisoku.faces.otg.device.device import Address
from keisoku.faces.otg.device.gateways import GatewayQuestion, neighbour_states


def question(number: int, ask: Any) -> GatewayQuestion:
    address = Address(f"ip{number}", f"198.18.1.{number}", "198.18.1.1", 24, None, "")
    return GatewayQuestion(f"e{number}", address, ask)


def test_all_are_asked_before_one_must_have_answered() -> None:
    together = threading.Barrier(40, timeout=20)

    def ask() -> str | None:
        return f"02:00:00:00:00:{together.wait():02x}"

    found = neighbour_states([question(number, ask) for number in range(40)])
    assert [state["ethernet_name"] for state in found] == [f"e{number}" for number in range(40)]
    assert {state["ipv4_address"] for state in found} == {"198.18.1.1"}
    assert len({state["link_layer_address"] for state in found}) == 40


def test_without_an_answer_there_is_no_address() -> None:
    def nobody() -> str | None:
        raise EngineError("nobody answers")

    found = neighbour_states([question(1, nobody), question(2, lambda: None), question(3, None)])
    assert all(set(state) == {"ethernet_name", "ipv4_address"} for state in found) and len(found) == 3
    assert neighbour_states([]) == []


def test_other_requests_are_answered_while_a_gateway_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    config = two_ports()
    ethernet = config.devices.device(name="d")[-1].ethernets.add(name="e", mac="02:00:00:00:00:01")
    ethernet.connection.port_name = "p1"
    ethernet.ipv4_addresses.add(name="ip", address="198.18.1.2", gateway="198.18.1.1")
    states = snappi.StatesRequest()
    states.ipv4_neighbors.ethernet_names = ["e"]
    with otg_clients() as connect:
        connect("http").set_config(config)

        def silent(*_: object) -> str | None:
            # Each of these would wait for ever if the question held the lock.
            for transport in ("http", "grpc"):
                connect(transport).get_config()
            connect("http").set_config(config)
            raise EngineError("nobody answers")

        monkeypatch.setattr("keisoku.faces.otg.control.gateways.next_hop", silent)
        for transport in ("http", "grpc"):
            (found,) = connect(transport).get_states(states).ipv4_neighbors
            assert found.link_layer_address is None
