"""sFlow 5, by datagrams that are written as its specification draws them."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from keisoku.ground.telemetry.exported import InterfaceCount, NoExportError
from keisoku.ground.telemetry.flow_key import FlowKey
from keisoku.ground.telemetry.sflow import sflow


def datagram(*samples: bytes, sequence: int = 4) -> bytes:
    return pack("!II4sIIII", 5, 1, bytes([10, 0, 0, 9]), 2, sequence, 1000, len(samples)) + b"".join(samples)


def part(kind: int, content: bytes) -> bytes:
    return pack("!II", kind, len(content)) + content + bytes(-len(content) % 4)


def raw(frame: bytes, length: int, protocol: int = 1) -> bytes:
    return part(1, pack("!IIII", protocol, length, 4, len(frame)) + frame)


def flow_sample(*records: bytes) -> bytes:
    return part(1, pack("!8I", 1, 7, 64, 640, 0, 7, 8, len(records)) + b"".join(records))


def wide_sample(*records: bytes) -> bytes:
    return part(3, pack("!11I", 1, 0, 7, 64, 640, 0, 0, 70_000, 0, 8, len(records)) + b"".join(records))


UDP_FRAME = bytes(
    Ether() / Dot1Q(vlan=5) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=5000, dport=53) / (b"x" * 30)
)
KEY = FlowKey(bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), 17, 5000, 53)


@pytest.mark.parametrize(("sample", "interface"), [(flow_sample, 7), (wide_sample, 70_000)])
def test_a_sampled_frame_is_of_its_flow(sample: object, interface: int) -> None:
    assert callable(sample)
    # A record of another kind comes first.
    said = sflow(datagram(sample(part(1001, bytes(16)), raw(UDP_FRAME, 518))))
    assert (said.protocol, said.domain, said.sequence, said.counted) == ("sFlow 5", 2, 4, 1)
    (flow,) = said.flows
    assert (flow.key, flow.frames, flow.bytes_, flow.interface, flow.one_in) == (KEY, 1, 518, interface, 64)


def test_an_agent_with_an_ipv6_address_and_frames_of_ipv6_are_read() -> None:
    frame = bytes(Ether() / IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=1, dport=2))
    whole = pack("!II16sIIII", 5, 2, bytes(16), 0, 0, 0, 1) + flow_sample(raw(frame, 100))
    (flow,) = sflow(whole).flows
    assert flow.key is not None and len(flow.key.source) == 16 and flow.key.source_port == 1


def test_frames_without_ip_and_other_protocols_are_of_no_flow() -> None:
    arp = bytes(Ether(type=0x806)) + bytes(28)
    said = sflow(datagram(flow_sample(raw(arp, 64)), flow_sample(raw(UDP_FRAME, 100, protocol=11)), flow_sample()))
    assert [flow.key for flow in said.flows] == [None, None, None]


def test_counters_of_an_interface_are_read() -> None:
    numbers = pack("!IIQIIQ6IQ6I", 7, 6, 10**9, 1, 3, 5000, 40, 2, 1, 0, 0, 0, 9000, 80, 0, 3, 0, 0, 0)
    said = sflow(datagram(part(2, pack("!3I", 1, 7, 1) + part(1, numbers)), part(99, b"abc")))
    assert said.interfaces == [InterfaceCount(7, in_frames=43, in_bytes=5000, out_frames=83, out_bytes=9000)]
    wide = part(4, pack("!4I", 1, 0, 7, 2) + part(1005, bytes(12)) + part(1, numbers))
    assert sflow(datagram(wide)).interfaces == said.interfaces


@pytest.mark.parametrize("text", [b"", pack("!II", 4, 1), datagram(flow_sample(raw(UDP_FRAME, 518)))[:-8]])
def test_what_is_no_datagram_is_refused(text: bytes) -> None:
    with pytest.raises(NoExportError):
        sflow(text)


@given(st.binary(max_size=300), st.integers(0, 5))
def test_no_bytes_do_anything_but_be_read_or_refused(text: bytes, kind: int) -> None:
    for whole in (text, datagram(part(kind, text)), datagram(flow_sample(raw(text, 100)))):
        try:
            assert sflow(whole).counted == 1
        except NoExportError:
            continue
