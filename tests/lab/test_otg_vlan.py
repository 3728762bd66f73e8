"""Protocols of OTG's devices in a VLAN, spoken by FRR, between two devices of the tester over a bridge."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any

import pytest
from support.command_line import namespaces_of
from support.lab_passages import needs
from support.otg_bgp import await_peers, protocols
from support.otg_isis import await_isis, learned
from support.otg_ospf import await_ospf, learned_lsas, ospf_device
from support.otg_server import otg_client, set_traffic, two_ports, until_stopped

from keisoku.host.namespace import FOLDER, within
from keisoku.lab.device.kernel_part import VLAN, absence
from keisoku.lab.frr import PROGRAMS

pytestmark = [pytest.mark.lab, needs(*PROGRAMS)]
_VLAN = 7
_AUXILIARY, _SOL_PACKET, _HAS_TAG = 8, 263, 1 << 4
"""PACKET_AUXDATA and TP_STATUS_VLAN_VALID: the kernel tells a tag beside the frame."""


def _speaker(config: Any, port: int) -> None:
    """A device in the VLAN with a router of each protocol, and a range of routes of each."""
    ospf = ospf_device(config, port)
    ospf.v4_routes.add(name=f"ospf-range{port}").addresses.add(address=f"{20 + port}.0.0.0", prefix=24)
    device = config.devices[-1]
    device.ethernets[0].vlans.add(name=f"vlan{port}", id=_VLAN)
    isis = device.isis
    isis.name, isis.system_id, isis.basic.learned_lsp_filter = f"isis{port}", f"64010000000{port}", True
    at = isis.interfaces.add(name=f"isis-i{port}", eth_name=f"e{port}", network_type="point_to_point")
    at.l2_settings.hello_interval, at.l2_settings.dead_interval = 1, 5
    device.bgp.router_id = f"10.0.0.{port}"
    peers = device.bgp.ipv4_interfaces.add(ipv4_name=f"v4-{port}").peers
    far = f"198.18.1.{3 - port}"
    peer = peers.add(name=f"peer{port}", peer_address=far, as_type="ebgp", as_number=65000 + port)
    peer.advanced.passive_mode = port == 1
    peer.v4_routes.add(name=f"bgp-range{port}").addresses.add(address=f"{30 + port}.0.0.0", prefix=24, count=5)


def _tags(wire: socket.socket) -> set[int | None]:
    """Of the tester's frames that came in: the number of the VLAN; None: without a tag."""
    found: set[int | None] = set()
    while True:
        try:
            frame, beside, _, sender = wire.recvmsg(64, 256)
        except BlockingIOError:
            return found
        if sender[2] != socket.PACKET_OUTGOING and frame[6:12].startswith(bytes.fromhex("0200000004")):
            status, *_, tag, _ = struct.unpack("=IIIHHHH", beside[0][2][:20])
            found.add(tag & 0xFFF if status & _HAS_TAG else None)


def test_bgp_isis_ospf_and_traffic_by_their_routes_in_a_vlan() -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    for port in (1, 2):
        _speaker(config, port)
    if absence(VLAN):
        with (
            otg_client() as api,
            pytest.raises(Exception, match=r"devices\[0\].ethernets\[0\].vlans: this kernel has no"),
        ):
            api.set_config(config)
        pytest.skip(f"needs the kernel module {VLAN.module} ({VLAN.option})")
    flow = config.flows.flow(name="routed")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["bgp-range1"], ["bgp-range2"]
    _, vlan, _, _ = flow.packet.ethernet().vlan().ipv4().udp()
    vlan.id.value = _VLAN
    flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = 128, 200, 200
    flow.metrics.enable = flow.metrics.loss = True
    with otg_client() as api:
        api.set_config(config)
        (dut,) = [name for name in namespaces_of(os.getpid()) if name.endswith("dut")]
        with within(FOLDER / dut, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))) as wire:
            wire.setsockopt(_SOL_PACKET, _AUXILIARY, 1)
            wire.bind(("d1", 3))
            wire.setblocking(False)
            protocols(api, "start")
            await_peers(api, lambda peers: all(peer.routes_received == 5 for peer in peers.values()))
            await_ospf(api, lambda routers: all(router.full_state_count == 1 for router in routers.values()))
            await_isis(api, lambda routers: all(router.l2_sessions_up == 1 for router in routers.values()))
            while "22.0.0.0" not in {lsa.header.lsa_id for lsa in learned_lsas(api, "ospf1").external_as_lsas}:
                pass
            while "640100000002-00-00" not in learned(api, "isis1"):
                pass
            assert _tags(wire) == {_VLAN}
        set_traffic(api, "start")
        (metric,) = until_stopped(api)
        assert (metric.frames_tx, metric.frames_rx) == (200, 200)
        protocols(api, "stop")
