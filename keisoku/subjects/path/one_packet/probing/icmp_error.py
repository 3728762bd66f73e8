"""ICMP errors about probes, of IPv4 and of IPv6: which packet they quote, and what they say of it.

An error of IPv6 is told as the one of IPv4 that means the same, so that all that follows knows one kind.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import NamedTuple

UDP = 17
IPV4_HEADER, IPV6_HEADER, UDP_HEADER, ICMP_HEADER = 20, 40, 8, 8
UNREACHABLE, EXCEEDED, TOO_LONG = 3, 11, 4
MARK = 4
"""Bytes at the beginning of a payload that tell a probe from the others of its flow."""
_ICMP = 1
_V6_UNREACHABLE, _V6_TOO_BIG, _V6_EXCEEDED = 1, 2, 3
_LIKE_V4 = {0: 0, 1: 13, 2: 0, 3: 1, 4: 3, 5: 13, 6: 1}
"""Codes of 'destination unreachable' (RFC 4443 §3.1) in those of RFC 792 and RFC 1812 §5.2.7.1."""


class QuotedProbe(NamedTuple):
    """What an ICMP error says: of which packet, and what."""

    destination: str
    source_port: int
    port: int
    size_bytes: int
    """Of the quoted IP packet."""
    icmp_type: int
    icmp_code: int
    next_mtu: int
    mark: bytes
    """The first bytes of the probe's payload: `MARK` of them, or fewer where the router quotes no more. No
    mark is all zeros."""


def headers(of_ipv6: bool) -> int:
    """IP and UDP header of a probe in bytes."""
    return (IPV6_HEADER if of_ipv6 else IPV4_HEADER) + UDP_HEADER


def of_ipv4(packet: bytes) -> QuotedProbe | None:
    """The error in an IPv4 packet with its header; None if it is none, or about something else than UDP."""
    if len(packet) < IPV4_HEADER or packet[9] != _ICMP:
        return None
    message = packet[(packet[0] & 15) * 4 :]
    original = message[ICMP_HEADER:]
    if len(original) < IPV4_HEADER + UDP_HEADER or message[0] not in (UNREACHABLE, EXCEEDED) or original[9] != UDP:
        return None
    header = (original[0] & 15) * 4
    if len(original) < header + UDP_HEADER:
        return None
    source, port, length = struct.unpack_from("!HHH", original, header)
    destination = str(ipaddress.IPv4Address(original[16:20]))
    next_mtu = struct.unpack_from("!H", message, 6)[0]
    return QuotedProbe(
        destination, source, port, header + length, message[0], message[1], next_mtu, _mark(original, header)
    )


def of_ipv6(message: bytes) -> QuotedProbe | None:
    """The error in an ICMPv6 message, which comes without its IP header; None as above."""
    original = message[ICMP_HEADER:]
    if len(original) < IPV6_HEADER + UDP_HEADER or original[6] != UDP:
        return None
    kind, code, next_mtu = message[0], message[1], 0
    if kind == _V6_UNREACHABLE:
        like = (UNREACHABLE, _LIKE_V4.get(code, 1))
    elif kind == _V6_TOO_BIG:
        like = (UNREACHABLE, TOO_LONG)
        next_mtu = min(struct.unpack_from("!I", message, 4)[0], 65535)
    elif kind == _V6_EXCEEDED:
        like = (EXCEEDED, code)
    else:
        return None
    source, port, length = struct.unpack_from("!HHH", original, IPV6_HEADER)
    destination = str(ipaddress.IPv6Address(original[24:40]))
    return QuotedProbe(destination, source, port, IPV6_HEADER + length, *like, next_mtu, _mark(original, IPV6_HEADER))


def _mark(original: bytes, header: int) -> bytes:
    """Zeros alone are the padding of a router that quotes less (RFC 4884 §5.1)."""
    found = original[header + UDP_HEADER :][:MARK]
    return found if any(found) else b""
