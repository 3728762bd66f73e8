"""The interfaces of this thread's namespace, and over which of them a default route leads, as the kernel lists them."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from keisoku.ground.host.netlink import attributes, dump, number

# include/uapi/linux/rtnetlink.h, if_link.h and if.h
_GET_LINK, _GET_ROUTE = 18, 26
_LINK = Struct("=BxHiII")
_ADDRESS, _NAME, _MTU, _CARRIER = 1, 3, 4, 33
_UP, _LOOPBACK = 0x1, 0x8
_ROUTE = Struct("=BBBBBBBBI")
_OUTPUT, _SEVERAL = 4, 9
_UNICAST = 1
_HOP = Struct("=HBBi")


@dataclass(frozen=True)
class Link:
    """An interface."""

    index: int
    name: str
    address: bytes
    """Of its link layer: six bytes if that is Ethernet."""
    mtu: int
    up: bool
    carrier: bool
    loopback: bool


def links() -> list[Link]:
    """All of them, by index."""
    found = []
    for entry in dump(socket.NETLINK_ROUTE, _GET_LINK, _LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0)):
        _, _, index, flags, _ = _LINK.unpack_from(entry)
        values = attributes(entry[_LINK.size :])
        found.append(
            Link(
                index=index,
                name=values[_NAME].rstrip(b"\0").decode(),
                address=values.get(_ADDRESS, b""),
                mtu=number(values.get(_MTU)),
                up=bool(flags & _UP),
                carrier=bool(number(values.get(_CARRIER))),
                loopback=bool(flags & _LOOPBACK),
            )
        )
    return sorted(found, key=lambda link: link.index)


def default_routes() -> set[int]:
    """Indices of the interfaces over which a default route of either family leads."""
    indices: set[int] = set()
    for family in (socket.AF_INET, socket.AF_INET6):
        for entry in dump(socket.NETLINK_ROUTE, _GET_ROUTE, _ROUTE.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)):
            _, destination_bits, *_, kind, _ = _ROUTE.unpack_from(entry)
            if destination_bits == 0 and kind == _UNICAST:
                values = attributes(entry[_ROUTE.size :])
                indices |= {number(values.get(_OUTPUT)), *_hops(values.get(_SEVERAL, b""))}
    return indices - {0}


def speed_mbps(name: str) -> int | None:
    """Of an interface in this thread's namespace; None if it has none, or does not say."""
    try:
        speed = int((Path("/sys/class/net") / name / "speed").read_text())
    except (OSError, ValueError):
        return None
    return speed if speed > 0 else None


def _hops(data: bytes) -> set[int]:
    """Interfaces of a route with several next hops."""
    found, at = set(), 0
    while at + _HOP.size <= len(data):
        length, _, _, index = _HOP.unpack_from(data, at)
        if length < _HOP.size:
            break
        found.add(index)
        at += (length + 3) & ~3
    return found
