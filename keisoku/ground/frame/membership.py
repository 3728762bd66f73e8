"""Messages that join and leave multicast groups (IGMPv2, IGMPv3, MLDv1, MLDv2), and test frames to groups.

Header stacks in Scapy's notation. The payload of a test frame with its signature follows the message, which each of
these protocols ignores but includes in its checksum (RFC 2236 §2.9, RFC 3376 §4.2.11, RFC 2710 §3.7, RFC 3810 §5.2.11).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Literal

from keisoku.ground.frame.variants import Frames

Protocol = Literal["igmpv2", "igmpv3", "mldv1", "mldv2"]

FIRST_IPV4, FIRST_IPV6 = IPv4Address("239.1.0.0"), IPv6Address("ff15::1:0")
"""The first group: administratively scoped (RFC 2365), or transient with site scope (RFC 4291 §2.7)."""
MESSAGE_BYTES = 128
"""Size of a frame with a message: enough for all of them."""

_IGMP = "tos=192, ttl=1, options=[IPOption_Router_Alert()]"
_MLD = "hlim=1)/IPv6ExtHdrHopByHop(options=[RouterAlert()])"
_EXCLUDE, _INCLUDE = 4, 3
"""CHANGE_TO_EXCLUDE_MODE and CHANGE_TO_INCLUDE_MODE with no source: to join a group, and to leave it."""
_JOINS = (2, 4)


@dataclass(frozen=True)
class GroupFrames:
    """Headers of frames, and the fields that lead from one group to the next."""

    headers: str
    modify: tuple[str, ...]


@dataclass(frozen=True)
class Membership:
    """What a message tells: that a receiver joins a group or leaves it. `group` is the group's MAC address."""

    joins: bool
    group: int


def is_ipv6(protocol: Protocol) -> bool:
    """Whether the groups of a protocol are IPv6 addresses."""
    return protocol.startswith("mld")


def test_frames(protocol: Protocol, count: int, first: int = 0) -> GroupFrames:
    """UDP frames to `count` groups in turn, from group number `first` on."""
    ip, mac = _group(protocol, first), group_mac(_group(protocol, first))
    layer = "IPv6" if is_ipv6(protocol) else "IP"
    modify = (f"Ether.dst=increment({mac}, count={count})", f"{layer}.dst=increment({ip}, count={count})")
    return GroupFrames(f"Ether(dst='{mac}')/{layer}(dst='{ip}')/UDP()", modify)


def message(protocol: Protocol, joins: bool, count: int, first: int = 0, host: int = 1) -> GroupFrames:
    """Messages for `count` groups in turn; `host` distinguishes link-local IPv6 addresses of receivers."""
    group = _group(protocol, first)
    to: IPv4Address | IPv6Address
    match protocol:
        case "igmpv2":
            to = group if joins else IPv4Address("224.0.0.2")
            name = "IGMPv2_MR" if joins else "IGMPv2_LG"
            layers = f"IP(dst='{to}', {_IGMP})/{name}(gaddr='{group}')"
            varied = f"{name}.gaddr"
        case "igmpv3":
            to, kind = IPv4Address("224.0.0.22"), _EXCLUDE if joins else _INCLUDE
            record = f"IGMPv3_MR(numgrp=1)/IGMPv3_MR_Group(rtype={kind}, maddr='{group}')"
            layers = f"IP(dst='{to}', {_IGMP})/{record}"
            varied = "IGMPv3_MR_Group.maddr"
        case "mldv1":
            to = group if joins else IPv6Address("ff02::2")
            name = "ICMPv6MLReport" if joins else "ICMPv6MLDone"
            layers = f"IPv6(src='fe80::{host:x}', dst='{to}', {_MLD}/{name}(mladdr='{group}')"
            varied = f"{name}.mladdr"
        case "mldv2":
            to, kind = IPv6Address("ff02::16"), _EXCLUDE if joins else _INCLUDE
            record = f"ICMPv6MLReport2(records_number=1)/ICMPv6MLDMultAddrRec(rtype={kind}, dst='{group}')"
            layers = f"IPv6(src='fe80::{host:x}', dst='{to}', {_MLD}/{record}"
            varied = "ICMPv6MLDMultAddrRec.dst"
    mac = group_mac(to)
    modify: tuple[str, ...] = (f"{varied}=increment({group}, count={count})",)
    if to == group:
        layer = "IPv6" if is_ipv6(protocol) else "IP"
        to_each = f"Ether.dst=increment({mac}, count={count})", f"{layer}.dst=increment({group}, count={count})"
        modify = (*to_each, *modify)
    return GroupFrames(f"Ether(dst='{mac}')/{layers}", modify)


def group_mac(group: IPv4Address | IPv6Address) -> str:
    """The MAC address of a group (RFC 1112 §6.4, RFC 2464 §7)."""
    low = int(group)
    number = 0x01_00_5E_00_00_00 | (low & 0x7F_FFFF)
    if group.version == 6:
        number = 0x33_33_00_00_00_00 | (low & 0xFFFF_FFFF)
    return ":".join(f"{octet:02x}" for octet in number.to_bytes(6, "big"))


def memberships(frames: Frames) -> list[Membership]:
    """What consecutive frames of a stream tell; none of a stream that has frames without a message."""
    found = [_membership(frames.frame(number)) for number in range(frames.count)]
    return [one for one in found if one is not None] if None not in found else []


def _group(protocol: Protocol, number: int) -> IPv4Address | IPv6Address:
    return (FIRST_IPV6 if is_ipv6(protocol) else FIRST_IPV4) + number


def _membership(frame: bytes) -> Membership | None:
    return next(_read(frame), None)


def _read(frame: bytes) -> Iterator[Membership]:
    ether_type, ip = frame[12:14], frame[14:]
    if ether_type == b"\x08\x00" and ip[9] == 2:
        igmp = ip[4 * (ip[0] & 15) :]
        if igmp[0] in (0x16, 0x17):
            yield _told(igmp[0] == 0x16, igmp[4:8])
        elif igmp[0] == 0x22 and igmp[7] == 1:
            yield _told(igmp[8] in _JOINS, igmp[12:16])
    elif ether_type == b"\x86\xdd" and ip[6] == 0 and ip[40] == 58:
        mld = ip[40 + 8 * (ip[41] + 1) :]
        if mld[0] in (131, 132):
            yield _told(mld[0] == 131, mld[8:24])
        elif mld[0] == 143 and mld[7] == 1:
            yield _told(mld[8] in _JOINS, mld[12:28])


def _told(joins: bool, group: bytes) -> Membership:
    address = IPv4Address(group) if len(group) == 4 else IPv6Address(group)
    return Membership(joins, int(group_mac(address).replace(":", ""), 16))
