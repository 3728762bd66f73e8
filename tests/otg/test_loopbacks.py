"""Loopbacks of OTG's devices: behind which interface they are, and what of them is refused with its path."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.otg_bgp import bgp_device
from support.otg_server import two_ports

from keisoku.errors import PlanError
from keisoku.faces.otg.bgp.frr import BgpText
from keisoku.faces.otg.configuration import Configuration, configuration
from keisoku.faces.otg.reading.conformance import checked


def script(change: Callable[[Any], Any] = lambda loopback: None) -> Any:
    """A BGP peer that speaks from a loopback, changed as a test wants."""
    config = two_ports()
    bgp_device(config, 1)
    bgp_device(config, 2)
    loopback = config.devices[0].ipv4_loopbacks.add(name="loop", eth_name="e1", address="10.9.9.9")
    config.devices[0].bgp.ipv4_interfaces[0].ipv4_name = "loop"
    change(loopback)
    return config


def understood(config: Any) -> Configuration:
    document = json.loads(config.serialize("json"))
    return configuration(checked(document), document, lambda _: None, lambda _: None)


def test_a_peer_speaks_from_a_loopback_at_the_interface_before_it() -> None:
    found = understood(script())
    peer = found.bgp[0]
    assert (peer.address.ip, peer.address.prefix, peer.interface.name) == ("10.9.9.9", 32, "e1")
    lines = BgpText([peer], {"e1": "k1"}).whole().splitlines()
    assert "neighbor 198.18.1.1 update-source 10.9.9.9" in lines and "neighbor 198.18.1.1 interface k1" in lines


def test_a_flow_from_a_loopback_goes_to_the_gateway_of_its_interface() -> None:
    config = script()
    flow = config.flows.flow(name="f")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["loop"], ["v4-2"]
    flow.packet.ethernet().ipv4()
    ((one, _),) = understood(config).flows[0].ways
    assert one.address is not None
    assert (one.port, one.ips, one.address.gateway) == (0, ("10.9.9.9",), "198.18.1.1")


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("eth_name", lambda loopback: setattr(loopback, "eth_name", "e2")),
        ("name", lambda loopback: setattr(loopback, "name", "e1")),
    ],
)
def test_what_is_refused_of_a_loopback(field: str, change: Callable[[Any], Any]) -> None:
    config = script(change)
    if field == "name":
        config.devices[0].bgp.ipv4_interfaces[0].ipv4_name = "v4-1"
    with pytest.raises(PlanError) as caught:
        understood(config)
    assert caught.value.field == f"devices[0].ipv4_loopbacks[0].{field}"
