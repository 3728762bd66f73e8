"""Tunnel ends of the kernel: VXLAN and SRv6 take only what is theirs and answer for their addresses."""

from __future__ import annotations

import pytest
from scapy.layers.inet import UDP
from scapy.layers.l2 import ARP, Ether
from support.lab_passages import MakeTap, assert_like, dropped, needs, payload, stack

from keisoku.ground.lab.device.catalogue import find_device
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.testbed.host_port import resolve_mac

pytestmark = pytest.mark.lab

VXLANS = [pytest.param(name, marks=needs(*find_device(name).programs)) for name in ("vxlan", "ovs-vxlan")]


@pytest.mark.parametrize("name", VXLANS)
def test_broadcasts_and_any_ethertype_go_through(name: str, tap: MakeTap) -> None:
    with Lab(name) as lab:
        a, b = lab.ports
        taps = tap(a), tap(b)
        outer = lab.passage(1, 2).arrives["ethernet"].rsplit("/", 1)[0]
        for inner in (
            Ether(src=a.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(psrc=a.ipv4, pdst="198.18.1.9"),
            Ether(src=a.mac, dst="01:00:5e:00:00:05", type=0x88B5) / payload(),
            Ether(src=a.mac, dst=b.mac, type=0x8100) / (b"\x00\x05\x88\xb5" + payload()),
        ):
            taps[0].send(bytes(inner))
            arrived = taps[1].receive()
            assert_like(arrived, outer)
            assert arrived[50:] == bytes(inner)


@pytest.mark.parametrize("name", VXLANS)
def test_flows_have_source_ports_of_their_own(name: str, tap: MakeTap) -> None:
    """RFC 7348 §5: the outer source port is made of the inner headers, the same for the same flow."""
    with Lab(name) as lab:
        taps = tap(lab.ports[0]), tap(lab.ports[1])
        sent = lab.passage(1, 2).sent["ipv4"]
        ports = []
        for port in (5000, 5000, 5001, 5002, 5003, 5004):
            taps[0].send(bytes(stack(sent.replace("49184", str(port))) / payload()))
            ports.append(Ether(taps[1].receive())[UDP].sport)
        assert ports[0] == ports[1]
        assert len(set(ports)) > 1


@pytest.mark.parametrize("name", VXLANS)
@pytest.mark.parametrize(("old", "new"), [("vni=7", "vni=8"), ("dport=4789", "dport=4790")])
def test_a_tunnel_end_takes_only_what_is_its_own(name: str, old: str, new: str, tap: MakeTap) -> None:
    with Lab(name) as lab:
        sent = lab.passage(2, 1).sent["ipv4"]
        assert old in sent
        assert dropped(lab, tap, bytes(stack(sent.replace(old, new)) / payload()), 2, 1)


@pytest.mark.parametrize("name", VXLANS)
def test_a_tunnel_end_answers_for_its_address(name: str) -> None:
    with Lab(name) as lab:
        far = lab.ports[1]
        assert (lab.ports[0].dut_ipv4, far.dut_ipv4, far.dut_ipv6) == (None, "198.18.2.1", None)
        assert resolve_mac(far.interface, far.namespace_path, str(far.dut_ipv4)) == far.dut_mac


def test_a_segment_that_is_nobodys_is_dropped(tap: MakeTap) -> None:
    with Lab("srv6") as lab:
        sent = lab.passage(2, 1).sent["ipv4"]
        other = sent.replace("2001:2:0:101::4", "2001:2:0:101::5")
        assert other != sent
        assert dropped(lab, tap, bytes(stack(other) / payload()), 2, 1)


def test_ports_say_how_much_larger_their_frames_may_be() -> None:
    with Lab("vxlan", mtu=9000) as lab:
        assert [port.mtu_bytes for port in lab.ports] == [9000, 9050]
