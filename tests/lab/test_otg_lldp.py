"""LLDP agents of a script, spoken by lldpd, and what is at the other end: another lldpd, a capture, damaged frames."""

from __future__ import annotations

import os
import random
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import snappi
from scapy.contrib.lldp import LLDPDUChassisID, LLDPDUPortID, LLDPDUSystemName, LLDPDUTimeToLive
from scapy.layers.l2 import Ether
from support.command_line import device_of
from support.lab_passages import needs
from support.otg_bgp import protocols
from support.otg_killed import KilledTester
from support.otg_lldp import await_neighbours, far_agent, lldp_agent, lldp_metrics, neighbours
from support.otg_server import otg_client, set_traffic, two_ports, udp_flow, until_stopped

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.ground.host.namespace import FOLDER, run_in_namespace
from keisoku.ground.lab.tester_agents import PROGRAMS

pytestmark = [pytest.mark.lab, needs(*PROGRAMS)]
_LLDP = 0x88CC
_TO = bytes.fromhex("0180c200000e")
_PORT_MAC = "02:6b:73:00:00:01"
"""Of the tester's own interface at port 1."""


def _dut(process: int) -> Path:
    """The namespace of the lab's device; its interface at port 1 is d1."""
    return FOLDER / device_of(process)


class _Tap:
    """What an interface has sent and received of LLDP, by their source addresses."""

    def __init__(self, wire: socket.socket) -> None:
        self.wire, self.sent, self.received = wire, Counter[str](), Counter[str]()
        self.frames: list[bytes] = []
        self.others: list[bytes] = []
        """What it received of other protocols."""

    def look(self) -> None:
        while True:
            try:
                frame, (_, kind, way, *_) = self.wire.recvfrom(2048)
            except BlockingIOError:
                return
            if kind == _LLDP:
                counts = self.sent if way == socket.PACKET_OUTGOING else self.received
                counts[frame[6:12].hex(":")] += 1
                self.frames.append(frame)
            elif way != socket.PACKET_OUTGOING:
                self.others.append(frame)


@contextmanager
def _tap(namespace: Path, interface: str) -> Iterator[_Tap]:
    with run_in_namespace(namespace, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))) as wire:
        wire.bind((interface, 3))
        wire.setblocking(False)
        yield _Tap(wire)


def _texts(entry: Any) -> dict[str, Any]:
    """What a far agent knows of a neighbour."""
    chassis, port = entry["chassis"][0], entry["port"][0]
    tlvs = [tlv for part in entry.get("unknown-tlvs", ()) for tlv in part["unknown-tlv"]]
    return {
        "chassis": (chassis["id"][0]["type"], chassis["id"][0]["value"]),
        "port": (port["id"][0]["type"], port["id"][0]["value"]),
        "name": chassis["name"][0]["value"],
        "ttl": port["ttl"][0]["value"],
        "tlvs": [(tlv["oui"], tlv["subtype"], tlv.get("value", "")) for tlv in tlvs],
    }


def test_agents_and_another_lldpd_find_each_other_and_a_capture_has_their_frames() -> None:
    pygnmi = pytest.importorskip("pygnmi.client", reason="pygnmi is not installed")
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    one = lldp_agent(config, 1)
    one.chassis_id.mac_address_subtype.value = "02:00:22:01:01:01"
    one.port_id.interface_name_subtype.value, one.system_name.value = "test-port", 'a "tester" \\é'
    one.org_infos.add(oui="00AB0C", subtype=77).information.info = "0aFF"
    one.org_infos.add(oui="0080C2", subtype=127)
    other = lldp_agent(config, 1, "other")
    other.chassis_id.local_subtype, other.port_id.mac_address_subtype = "some chassis", "02:00:22:01:01:02"
    other.hold_time = 65535
    far_words = [
        "configure lldp status rx-only",
        "configure lldp tx-interval 1",
        "configure lldp tx-hold 100",
        "configure system hostname far",
        'configure system chassisid "far chassis"',
        "configure system ip management pattern 198.18.0.9",
        "configure lldp custom-tlv add oui 00,ab,0d subtype 5 oui-info 01,fe",
    ]
    controller = Controller()
    with Server(Listening(http_port=0, grpc_port=None, gnmi_port=0), controller) as server:
        api = snappi.api(location=server.url)
        api.set_config(config)
        assert neighbours(api) == [] and lldp_metrics(api)["other"].frames_tx == 0
        dut = _dut(os.getpid())
        with _tap(dut, "d1") as tap, far_agent(dut, "d1", far_words) as far:
            protocols(api, "start")
            far.tell("configure", "lldp", "status", "rx-and-tx")
            found = await_neighbours(api, lambda found: len(found) == 2)
            while len(known := far.neighbours()) < 2:
                pass
            # Both ends say the same of each other.
            assert {entry["chassis"][0]["id"][0]["value"]: _texts(entry) for entry in known} == {
                "02:00:22:01:01:01": {
                    "chassis": ("mac", "02:00:22:01:01:01"),
                    "port": ("ifname", "test-port"),
                    "name": 'a "tester" \\é',
                    "ttl": "20",
                    "tlvs": [("00,AB,0C", "77", "0A,FF"), ("00,80,C2", "127", "")],
                },
                "some chassis": {
                    "chassis": ("local", "some chassis"),
                    "port": ("mac", "02:00:22:01:01:02"),
                    "name": "other",
                    "ttl": "65535",
                    "tlvs": [],
                },
            }
            assert {state.lldp_name for state in found} == {"lldp1", "other"}
            for state in found:
                assert (state.chassis_id, state.chassis_id_type, state.ttl) == ("far chassis", "local", 100)
                assert (state.system_name, state.port_id_type) == ("far", "mac_address")
                assert state.neighbor_id == f"far chassis/{state.port_id}"
                assert (state.management_address, state.management_address_type) == ("198.18.0.9", "ipv4")
                (tlv,) = state.custom_tlvs
                assert (tlv.custom_type, tlv.oui, tlv.oui_subtype, tlv.information) == (127, "00ab0d", 5, "01fe")
                assert [each.capability_name for each in state.capabilities if each.capability_enabled] != []
            # Nobody sends any more at the far side, so what was received there is constant.
            far.tell("configure", "lldp", "status", "rx-only")
            while True:
                before = lldp_metrics(api)
                tap.look()
                if before == lldp_metrics(api):
                    break
            (sent,) = tap.sent.values()
            assert {metric.frames_rx for metric in before.values()} == {sent}
            addresses = tap.received.keys()
            assert "02:00:22:01:01:02" in addresses and len(addresses) == 2
            assert before["other"].frames_tx == tap.received["02:00:22:01:01:02"] >= 1
            assert sum(metric.frames_tx for metric in before.values()) == tap.received.total()
            # The port's own interface may just have told the bridge of its IPv6 groups.
            others = [frame for frame in tap.others if frame[6:12].hex(":") != _PORT_MAC]
            assert others == [], "an agent says nothing but LLDP"
            # Scapy, which shares no code with either end, reads the same.
            (read, *_) = (Ether(frame) for frame in tap.frames if frame[6:12].hex(":") == "02:00:22:01:01:02")
            assert (read.dst, read[LLDPDUChassisID].subtype, read[LLDPDUChassisID].id) == (
                "01:80:c2:00:00:0e",
                LLDPDUChassisID.SUBTYPE_LOCALLY_ASSIGNED,
                b"some chassis",
            )
            assert (read[LLDPDUPortID].subtype, read[LLDPDUPortID].id) == (
                LLDPDUPortID.SUBTYPE_MAC_ADDRESS,
                "02:00:22:01:01:02",
            )
            assert (read[LLDPDUTimeToLive].ttl, read[LLDPDUSystemName].system_name) == (65535, b"other")
            assert {metric.tlvs_unknown for metric in before.values()} == {1}, "of frames that say something new"
            assert all(metric.frames_discard == metric.frames_error_rx == 0 for metric in before.values())
            host, _, port = str(server.gnmi_location).rpartition(":")
            paths = ["/lldps/lldp-interface[name=lldp1]", "/lldps/lldp-interface[name=other]/state/counters/frame-in"]
            with pygnmi.gNMIclient(target=(host, port), insecure=True, skip_gnmi_connectivity=True) as client:
                answer = client.get(path=paths, encoding="json")["notification"]
            agent, frames = (each["update"][0]["val"] for each in answer)
            assert frames == str(sent)
            (entry,) = agent["state"]["lldp-neighbor-database"]["lldp-neighbors"]["lldp-neighbor"]
            assert (entry["state"]["chassis-id"], entry["state"]["chassis-id-type"]) == ("far chassis", "LOCAL")
            assert [each["state"]["oui"] for each in entry["custom-tlv"]] == ["00ab0d"]
            protocols(api, "stop")
            assert far.neighbours() == [], "they said that they end"
            tap.look()
            assert neighbours(api) == [] and far.counts()["rx"] == tap.received.total()


def test_traffic_is_whole_beside_agents_and_a_link_that_is_down_ends_what_is_known() -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    lldp_agent(config, 1)
    udp_flow(config, tx="p2", rx="p1", packets=1500)
    control = snappi.ControlState()
    control.port.link.port_names = ["p1"]
    with otg_client() as api:
        api.set_config(config)
        dut = _dut(os.getpid())
        with far_agent(dut, "d1", ["configure lldp tx-interval 1"]):
            protocols(api, "start")
            await_neighbours(api, lambda found: len(found) == 1)
            set_traffic(api, "start")
            (flow,) = until_stopped(api)
            assert flow.frames_rx == flow.frames_tx > 0
            before = lldp_metrics(api)["lldp1"]
            control.port.link.state = "down"
            api.set_control_state(control)
            await_neighbours(api, lambda found: not found)
            control.port.link.state = "up"
            api.set_control_state(control)
            await_neighbours(api, lambda found: len(found) == 1)
            after = lldp_metrics(api)["lldp1"]
            assert after.frames_rx > before.frames_rx and after.frames_tx > before.frames_tx


def _tlv(kind: int, content: bytes) -> bytes:
    return (kind << 9 | len(content)).to_bytes(2) + content


_CHASSIS, _PORT, _TTL, _END = _tlv(1, b"\7far"), _tlv(2, b"\5eth7"), _tlv(3, b"\0\x78"), bytes(2)
_NAMED = _CHASSIS + _PORT + _TTL
DAMAGED = {
    "no time to live": _CHASSIS + _PORT + _tlv(5, b"far") + _END,
    "no end": _NAMED + _tlv(5, b"far"),
    "wrong order": _PORT + _CHASSIS + _TTL + _END,
    "a TLV that is longer than the frame": _NAMED + (5 << 9 | 400).to_bytes(2) + b"far",
    "capabilities of three octets": _NAMED + _tlv(7, b"\0\0\0") + _END,
}
UNKNOWN = {
    "reserved types": (_NAMED + _tlv(9, b"a") + _tlv(126, b"b") + _END, 2),
    "a TLV of an organization": (_NAMED + _tlv(127, b"\0\xab\x0c\5ab") + _END, 1),
}


def test_frames_with_faults_are_counted_and_odd_neighbours_are_shown() -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    lldp_agent(config, 1)
    odd = {
        b'\xff"\n\x1f\x01': _tlv(1, b"\7odd") + _PORT + _TTL + _tlv(5, b'\xff"\n\x1f\x01') + _END,
        b"component": _tlv(1, b"\1abc") + _tlv(2, b"\2def") + _TTL + _tlv(5, b"component") + _END,
        b"address": _tlv(1, b"\5\1\xc6\x12\0\7") + _PORT + _TTL + _tlv(5, b"address") + _END,
    }
    drawn = random.Random(20)
    fuzz = [_NAMED[: drawn.randrange(len(_NAMED))] + drawn.randbytes(drawn.randrange(20, 200)) for _ in range(200)]
    with otg_client() as api:
        api.set_config(config)
        dut = _dut(os.getpid())
        protocols(api, "start")
        with _tap(dut, "d1") as tap:

            def send(*pdus: bytes) -> None:
                for pdu in pdus:
                    tap.wire.send(_TO + bytes.fromhex("020000000707") + _LLDP.to_bytes(2) + pdu)

            def received(count: int) -> Any:
                while (metric := lldp_metrics(api)["lldp1"]).frames_rx < count:
                    pass
                return metric

            send(*DAMAGED.values())
            metric = received(len(DAMAGED))
            assert metric.frames_discard == metric.frames_error_rx == len(DAMAGED) and metric.tlvs_unknown == 0
            assert neighbours(api) == []
            send(*(pdu for pdu, _ in UNKNOWN.values()))
            metric = received(len(DAMAGED) + len(UNKNOWN))
            assert metric.tlvs_unknown == sum(count for _, count in UNKNOWN.values())
            assert metric.frames_discard == len(DAMAGED)
            (state,) = neighbours(api)
            assert (state.neighbor_id, state.ttl) == ("far/eth7", 120)
            send(*odd.values())
            received(len(DAMAGED) + len(UNKNOWN) + len(odd))
            by_name = {state.system_name: state for state in neighbours(api)}
            assert by_name['\ufffd"\n\x1f\x01'].chassis_id == "odd"
            assert by_name["component"].chassis_id is None
            assert (by_name["address"].chassis_id, by_name["address"].chassis_id_type) == (
                "198.18.0.7",
                "network_address",
            )
            send(*fuzz)
            metric = received(len(DAMAGED) + len(UNKNOWN) + len(odd) + len(fuzz))
            assert metric.frames_rx == len(DAMAGED) + len(UNKNOWN) + len(odd) + len(fuzz)
            assert len(neighbours(api)) >= len(odd) + 1


def test_what_a_killed_tester_left_of_its_agents_is_removed() -> None:
    config = two_ports("lab:bridge#1", "lab:bridge#2")
    lldp_agent(config, 1)
    lldp_agent(config, 2)
    there = Path("/run/lldpd").exists()
    killed = KilledTester(config)
    assert [name.rpartition("-")[2] for name in sorted(killed.namespaces) if "agent" in name] == ["agent1", "agent2"]
    with otg_client() as api:
        api.set_config(two_ports("lab:bridge#1", "lab:bridge#2"))
        killed.await_nothing_left()
        assert Path("/run/lldpd").exists() == there
