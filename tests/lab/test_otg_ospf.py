"""OSPFv2 routers of OTG's devices, spoken by FRR: two that meet through a bridge."""

from __future__ import annotations

import os
from typing import Any

import pytest
import snappi
from scapy.contrib.ospf import OSPF_Hdr, OSPF_LSAck, OSPF_LSUpd
from scapy.layers.l2 import Ether
from support.command_line import device_of
from support.lab_passages import needs
from support.otg_bgp import protocols, routes
from support.otg_lag import Tap, tap
from support.otg_ospf import await_ospf, learned_lsas, ospf_device
from support.otg_server import otg_client, two_ports

from keisoku.ground.host.namespace import FOLDER
from keisoku.ground.lab.frr import PROGRAMS

pytestmark = [pytest.mark.lab, needs(*PROGRAMS)]


def _learned(api: Any) -> dict[str, tuple[Any, ...]]:
    """What router 1 learned of router 2: kind and metric by network."""
    state = learned_lsas(api, "ospf1")
    found = {}
    for lsa in state.external_as_lsas:
        found[lsa.header.lsa_id] = (f"external {lsa.metric_type}", lsa.metric)
    for lsa in state.network_summary_lsas:
        found[lsa.header.lsa_id] = ("summary", lsa.metric)
    for lsa in state.router_lsas:
        found |= {link.id: ("stub", link.metric) for link in lsa.links if link.type == "stub"}
    return found


def _counted(api: Any, way: str) -> dict[str, int]:
    """What router 1 says of single LSAs that it sent or received."""
    metric = await_ospf(api, lambda _: True)["ospf1"]
    names = "lsa", "router_lsa", "network_lsa", "summary_lsa", "external_lsa", "lsa_ack"
    return {name: int(getattr(metric, f"{name}_{way}")) for name in names}


def _captured(seen: Tap, from_tester: bool) -> dict[str, int]:
    """The same by Scapy, from a capture at the device."""
    packets = [Ether(frame)[OSPF_Hdr] for way, frame in seen.frames() if way == from_tester and frame[23:24] == b"\x59"]
    updates = [packet[OSPF_LSUpd] for packet in packets if OSPF_LSUpd in packet]
    # What follows the last one is the key's digest.
    types = [lsa.type for update in updates for lsa in update.lsalist[: update.lsacount]]
    return {
        "lsa": len(types),
        "router_lsa": types.count(1),
        "network_lsa": types.count(2),
        "summary_lsa": types.count(3) + types.count(4),
        "external_lsa": types.count(5),
        "lsa_ack": sum(len(packet[OSPF_LSAck].lsaheaders) for packet in packets if OSPF_LSAck in packet),
    }


def test_routers_learn_ranges_of_each_origin_until_they_are_withdrawn_and_lose_a_link() -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    for port in (1, 2):
        router = ospf_device(config, port)
        router.interfaces[0].authentication.md5s.add(key_id=3, key="word")
    for number, origin in enumerate(("external_type_1", "external_type_2", "inter_area", "intra_area"), 1):
        reached = router.v4_routes.add(name=origin, metric=70 + number)
        reached.addresses.add(address=f"2{number}.0.0.0", prefix=24)
        reached.route_origin.choice = origin
    network = {"198.18.1.0": ("stub", 10)}
    everything = network | {
        "21.0.0.0": ("external 1", 71),
        "22.0.0.0": ("external 2", 72),
        "23.0.0.0": ("summary", 73),
        "24.0.0.0": ("stub", 74),
    }
    with otg_client() as api:
        api.set_config(config)
        assert all(value == 0 for value in _counted(api, "sent").values()), "also before the start"
        dut = device_of(os.getpid())
        with tap(FOLDER / dut, "d1") as seen:
            protocols(api, "start")
            while _learned(api) != everything:
                pass
            # The other router may still lack some, and an acknowledgement may come late (RFC 2328, clause 13.5).
            for way, names in (("sent", ("router_lsa", "lsa_ack")), ("received", ("summary_lsa", "external_lsa"))):
                while True:
                    counted = _counted(api, way)
                    if counted == _captured(seen, way == "sent") and all(counted[name] for name in names):
                        break
            assert counted["lsa"] >= counted["summary_lsa"] + counted["external_lsa"]
        found = await_ospf(api, lambda routers: all(router.full_state_count == 1 for router in routers.values()))
        assert found["ospf1"].hellos_sent > 0 and found["ospf1"].dbd_received > 0
        while _learned(api) != everything:
            pass
        routes(api, "withdraw", "external_type_2", "inter_area", "intra_area")
        while _learned(api) != network | {"21.0.0.0": ("external 1", 71)}:
            pass
        routes(api, "advertise", "inter_area", "intra_area", "external_type_2")
        while _learned(api) != everything:
            pass
        control = snappi.ControlState()
        control.port.link.port_names, control.port.link.state = ["p1"], "down"
        api.set_control_state(control)
        found = await_ospf(api, lambda routers: routers["ospf1"].full_state_count == 0)
        assert found["ospf1"].sessions_flap == 1
        control.port.link.state = "up"
        api.set_control_state(control)
        await_ospf(api, lambda routers: routers["ospf1"].full_state_count == 1)
