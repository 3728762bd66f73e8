"""ICMP errors of both kinds of IP, as bytes made by Scapy."""

from __future__ import annotations

import pytest
from scapy.compat import raw
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoRequest,
    ICMPv6PacketTooBig,
    ICMPv6TimeExceeded,
    IPv6,
)
from scapy.packet import Packet

from keisoku.subjects.path.one_packet.probing.icmp_error import QuotedProbe, headers, of_ipv4, of_ipv6

PROBE_IPV6 = IPv6(src="fd00::1", dst="fd00::9") / UDP(sport=4000, dport=33435) / bytes(100)
PROBE_IPV4 = IP(src="192.0.2.1", dst="192.0.2.9") / UDP(sport=4000, dport=33435) / bytes(100)


@pytest.mark.parametrize(
    ("message", "kind", "next_mtu"),
    [
        (ICMPv6TimeExceeded(code=0), (11, 0), 0),
        (ICMPv6DestUnreach(code=4), (3, 3), 0),
        (ICMPv6DestUnreach(code=1), (3, 13), 0),
        (ICMPv6DestUnreach(code=0), (3, 0), 0),
        (ICMPv6PacketTooBig(mtu=1280), (3, 4), 1280),
    ],
)
def test_errors_of_ipv6_are_told_as_those_of_ipv4(message: Packet, kind: tuple[int, int], next_mtu: int) -> None:
    data = raw(message / PROBE_IPV6)
    assert of_ipv6(data) == QuotedProbe("fd00::9", 4000, 33435, 148, *kind, next_mtu, b"")
    assert of_ipv6(data[: 8 + headers(of_ipv6=True)]) == of_ipv6(data)
    assert of_ipv6(data[:20]) is None


def test_what_is_no_error_about_a_probe_is_none() -> None:
    assert of_ipv6(raw(ICMPv6EchoRequest(data=bytes(100)))) is None
    assert of_ipv6(b"") is None
    assert of_ipv4(raw(IP() / ICMP(type=8) / bytes(100))) is None
    assert of_ipv4(b"") is None


def test_errors_of_ipv4_are_read_with_their_header() -> None:
    data = raw(IP(src="192.0.2.5") / ICMP(type=3, code=4, nexthopmtu=1400) / PROBE_IPV4)
    assert of_ipv4(data) == QuotedProbe("192.0.2.9", 4000, 33435, 128, 3, 4, 1400, b"")
    assert of_ipv4(data[:-100]) == of_ipv4(data)
    assert of_ipv4(data[:-101]) is None


def test_the_mark_of_a_probe_is_read_as_far_as_it_is_quoted() -> None:
    probe = IP(dst="192.0.2.9") / UDP(sport=4000, dport=33435) / b"mark and more"
    data = raw(IP(src="192.0.2.5") / ICMP(type=11) / probe)
    for end, mark in ((len(data), b"mark"), (-len(b"rk and more"), b"ma"), (-len(b"mark and more"), b"")):
        found = of_ipv4(data[:end])
        assert found is not None and found.mark == mark
    padded = of_ipv4(data[: -len(b"mark and more")] + bytes(100))
    assert padded is not None and padded.mark == b"", "RFC 4884's padding is no mark"
