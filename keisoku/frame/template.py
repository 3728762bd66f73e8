"""Test frames as bytes: headers by Scapy, a filler, and 18 zero bytes where the tester signs.

The filler is chosen so that the payload sums to zero in ones' complement. The signature does so by
itself (docs/signature), hence the UDP checksum computed here stays right for every frame sent.
Nothing here sends, and Scapy is loaded only when a frame is built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Any, Literal, get_args

from keisoku.errors import PlanError

Kind = Literal["ethernet", "ipv4", "ipv6"]
KINDS: tuple[Kind, ...] = get_args(Kind)

SIGNATURE_BYTES = 18
FCS_BYTES = 4
LOCAL_EXPERIMENTAL = 0x88B5
"""EtherType that IEEE 802 leaves to experiments of one's own."""

SOURCE_IPV4, DESTINATION_IPV4 = "198.18.0.1", "198.19.0.1"
"""From 198.18.0.0/15, which is set aside for benchmarks (RFC 2544 appendix C.2.2)."""
SOURCE_IPV6, DESTINATION_IPV6 = "2001:2:0:1::1", "2001:2:0:2::1"
"""From 2001:2::/48, which is set aside for benchmarks (RFC 5180 §8)."""

_ETHERNET_MIN_BYTES = 64
_IP_MAX_BYTES = 65_535
_HEADER_BYTES: dict[Kind, int] = {"ethernet": 14, "ipv4": 14 + 20 + 8, "ipv6": 14 + 40 + 8}
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)
# RFC 2544 appendix C.2.6.4: test frames come from this port and go to echo; time to live 10.
_SOURCE_PORT, _ECHO_PORT, _HOPS = 0xC020, 7, 10


@dataclass(frozen=True)
class Template:
    """A frame without FCS, its last 18 bytes zero until it is signed."""

    bytes_: bytes
    checked_from: int
    """Where the payload starts: from here to the end a sent frame sums to zero."""
    kind: Kind


def least_frame_bytes(kind: Kind) -> int:
    """The smallest frame of a kind that holds a signature, FCS included."""
    return max(_ETHERNET_MIN_BYTES, _HEADER_BYTES[kind] + SIGNATURE_BYTES + FCS_BYTES)


def build(
    kind: Kind,
    frame_bytes: int,
    source_mac: str,
    destination_mac: str,
    source_ip: str | None = None,
    destination_ip: str | None = None,
) -> Template:
    """A frame of `frame_bytes`, FCS included. IP addresses have no use in kind 'ethernet'.

    Raises PlanError for a size that the kind cannot have, or for a wrong address.
    """
    least = least_frame_bytes(kind)
    if frame_bytes < least:
        raise PlanError(
            "frame size",
            f"{frame_bytes} byte are too few for headers and signature of kind '{kind}'",
            f"use at least {least}",
        )
    most = 14 + _IP_MAX_BYTES + FCS_BYTES
    if frame_bytes > most:
        raise PlanError("frame size", f"{frame_bytes} byte are too many", f"use at most {most}")
    for field, mac in (("source MAC", source_mac), ("destination MAC", destination_mac)):
        if not _MAC.fullmatch(mac):
            raise PlanError(field, f"'{mac}' is not a MAC address", "write it as 02:00:00:00:00:01")
    start = _HEADER_BYTES[kind]
    payload = _payload(frame_bytes - FCS_BYTES - start)
    ethernet = _ethernet(source_mac, destination_mac)
    frame = bytes(_stack(kind, ethernet, source_ip, destination_ip, payload))
    return Template(frame, start, kind)


def _payload(length: int) -> bytes:
    """Counting bytes, of which the last two make the sum zero, and room for the signature."""
    fill = length - SIGNATURE_BYTES
    if fill < 2:
        return bytes(length)
    payload = bytearray(index & 0xFF for index in range(fill - 2)) + bytes(2 + SIGNATURE_BYTES)
    missing = (0xFFFF - _ones_complement_sum(payload)).to_bytes(2, "big")
    # At an odd place the two bytes belong to two words, each in the other's half.
    payload[fill - 2 : fill] = missing if fill % 2 == 0 else missing[::-1]
    return bytes(payload)


def _ones_complement_sum(region: bytes | bytearray) -> int:
    """Sum of the 16-bit words, an odd last byte padded with zero (RFC 1071)."""
    padded = bytes(region) + bytes(len(region) % 2)
    # 2^16 is 1 modulo 0xFFFF, so the whole region is one number with that remainder.
    number = int.from_bytes(padded, "big")
    return number % 0xFFFF or (0xFFFF if number else 0)


def _ethernet(source: str, destination: str) -> Any:
    from scapy.layers.l2 import Ether

    return Ether(src=source, dst=destination)


def _stack(kind: Kind, ethernet: Any, source: str | None, destination: str | None, payload: bytes) -> Any:
    if kind == "ethernet":
        ethernet.type = LOCAL_EXPERIMENTAL
        return ethernet / payload
    from scapy.layers.inet import IP, UDP

    udp = UDP(sport=_SOURCE_PORT, dport=_ECHO_PORT)
    if kind == "ipv4":
        source = _address(IPv4Address, "source IP", source or SOURCE_IPV4)
        destination = _address(IPv4Address, "destination IP", destination or DESTINATION_IPV4)
        return ethernet / IP(src=source, dst=destination, id=0, ttl=_HOPS) / udp / payload
    from scapy.layers.inet6 import IPv6

    source = _address(IPv6Address, "source IP", source or SOURCE_IPV6)
    destination = _address(IPv6Address, "destination IP", destination or DESTINATION_IPV6)
    return ethernet / IPv6(src=source, dst=destination, hlim=_HOPS) / udp / payload


def _address(version: type[IPv4Address] | type[IPv6Address], field: str, text: str) -> str:
    try:
        return str(version(text))
    except AddressValueError as error:
        example = SOURCE_IPV4 if version is IPv4Address else SOURCE_IPV6
        name = "IPv4" if version is IPv4Address else "IPv6"
        raise PlanError(field, f"'{text}' is not an {name} address", f"write it as {example}") from error
