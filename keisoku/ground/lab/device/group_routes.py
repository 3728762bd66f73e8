"""A multicast router's daemon: reads IGMP and MLD messages, writes the kernel's multicast routes. Run as a program.

`python -m keisoku.ground.lab.device.group_routes SOCKET INTERFACE ...` runs in the namespace in which it was started,
and listens at SOCKET when it is ready. It sends nothing, no query either: a port stays in a group until it leaves it.
A route is made when a message or the first frame of a source comes, whichever is later (linux/mroute.h, mroute6.h).
"""

from __future__ import annotations

import select
import socket
import struct
import sys
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator

_INIT, _ADD_INTERFACE, _ADD_ROUTE = 200, 202, 204
"""Options of both families."""
_USE_IFINDEX, _THRESHOLD, _MOST_INTERFACES = 8, 1, 32
_IP_PKTINFO = 8
_NO_CACHE = 1
"""Message of the kernel: a frame came for which there is no route."""
_JOINS = (2, 4)
_IPV4_ROUTERS = ("224.0.0.2", "224.0.0.22")
"""Groups to which receivers send leaves (RFC 2236 §3) and IGMPv3 reports (RFC 3376 §4.2.14)."""
_IPV6_ROUTERS = ("ff02::2", "ff02::16")
"""The same of MLDv1 (RFC 2710 §5) and MLDv2 (RFC 3810 §5.2.14)."""
_MLD_REPORT, _MLD_DONE, _MLD2_REPORT = 131, 132, 143


class Routes(ABC):
    """Which interfaces joined which group, and which sources send to it, of one family of addresses."""

    def __init__(self, control: socket.socket, interfaces: list[str]) -> None:
        self.control = control
        self.places = {socket.if_nametoindex(name): place for place, name in enumerate(interfaces)}
        self._members: dict[bytes, set[int]] = defaultdict(set)
        self._sources: dict[bytes, dict[bytes, int]] = defaultdict(dict)
        control.setsockopt(self.level, _INIT, 1)
        for index, place in self.places.items():
            control.setsockopt(self.level, _ADD_INTERFACE, self.interface(index, place))
            self.listen(index)

    @property
    @abstractmethod
    def level(self) -> int:
        """Of the family's options."""

    @abstractmethod
    def interface(self, index: int, place: int) -> bytes:
        """What adds an interface."""

    @abstractmethod
    def listen(self, index: int) -> None:
        """Join the routers' groups at an interface."""

    @abstractmethod
    def route(self, source: bytes, group: bytes, parent: int, outputs: list[int]) -> bytes:
        """What adds a route."""

    @abstractmethod
    def receive(self) -> None:
        """Take a message of a receiver, or of the kernel."""

    def sends(self, group: bytes, source: bytes, place: int) -> None:
        """A source's first frame to a group came at an interface."""
        self._sources[group][source] = place
        self._write(group)

    def tells(self, index: int, told: Iterator[tuple[bytes, bool]]) -> None:
        """A receiver at an interface joined or left groups."""
        place = self.places.get(index)
        if place is None:
            return
        for group, joins in told:
            members = self._members[group]
            (members.add if joins else members.discard)(place)
            self._write(group)

    def _write(self, group: bytes) -> None:
        for source, parent in self._sources[group].items():
            outputs = [place for place in self._members[group] if place != parent]
            self.control.setsockopt(self.level, _ADD_ROUTE, self.route(source, group, parent, outputs))


class Ipv4Routes(Routes):
    """By IGMP."""

    level = socket.IPPROTO_IP

    def interface(self, index: int, place: int) -> bytes:
        """A `struct vifctl`."""
        return struct.pack("=HBBIi4s", place, _USE_IFINDEX, _THRESHOLD, 0, index, bytes(4))

    def listen(self, index: int) -> None:
        """By `struct ip_mreqn`."""
        for group in _IPV4_ROUTERS:
            member = struct.pack("=4s4si", socket.inet_aton(group), bytes(4), index)
            self.control.setsockopt(self.level, socket.IP_ADD_MEMBERSHIP, member)

    def route(self, source: bytes, group: bytes, parent: int, outputs: list[int]) -> bytes:
        """A `struct mfcctl`."""
        ttls = bytes(_THRESHOLD if place in outputs else 0 for place in range(_MOST_INTERFACES))
        return struct.pack("=4s4sH32s2xIIIi", source, group, parent, ttls, 0, 0, 0, 0)

    def receive(self) -> None:
        """The kernel's messages have the protocol 0."""
        packet, ancillary, _, _ = self.control.recvmsg(65_536, 256)
        if packet[9] == 0:
            if packet[8] == _NO_CACHE:
                self.sends(packet[16:20], packet[12:16], packet[10])
            return
        index = next((struct.unpack_from("=i", data)[0] for _, kind, data in ancillary if kind == _IP_PKTINFO), 0)
        self.tells(index, _igmp(packet[4 * (packet[0] & 15) :]))


class Ipv6Routes(Routes):
    """By MLD."""

    level = socket.IPPROTO_IPV6

    def interface(self, index: int, place: int) -> bytes:
        """A `struct mif6ctl`."""
        return struct.pack("=HBBHxxI", place, 0, _THRESHOLD, index, 0)

    def listen(self, index: int) -> None:
        """By `struct ipv6_mreq`."""
        for group in _IPV6_ROUTERS:
            member = socket.inet_pton(socket.AF_INET6, group) + struct.pack("=i", index)
            self.control.setsockopt(self.level, socket.IPV6_JOIN_GROUP, member)

    def route(self, source: bytes, group: bytes, parent: int, outputs: list[int]) -> bytes:
        """A `struct mf6cctl`, whose set of interfaces is of 256 bits."""
        bits = sum(1 << place for place in outputs)
        ends = (struct.pack("=HHI16sI", socket.AF_INET6, 0, 0, address, 0) for address in (source, group))
        return b"".join(ends) + struct.pack("=Hxx", parent) + bits.to_bytes(32, sys.byteorder)

    def receive(self) -> None:
        """The kernel's messages (`struct mrt6msg`) begin with zero, which is no type of MLD's."""
        packet, _, _, sender = self.control.recvmsg(65_536)
        if packet[0] == 0:
            if packet[1] == _NO_CACHE:
                self.sends(packet[24:40], packet[8:24], int.from_bytes(packet[2:4], sys.byteorder))
            return
        self.tells(sender[3], _mld(packet))


def _igmp(message: bytes) -> Iterator[tuple[bytes, bool]]:
    """Groups, each with whether it is joined."""
    if message[0] in (0x16, 0x17):
        yield message[4:8], message[0] == 0x16
    elif message[0] == 0x22:
        yield from _records(message, 4)


def _mld(message: bytes) -> Iterator[tuple[bytes, bool]]:
    if message[0] in (_MLD_REPORT, _MLD_DONE):
        yield message[8:24], message[0] == _MLD_REPORT
    elif message[0] == _MLD2_REPORT:
        yield from _records(message, 16)


def _records(message: bytes, width: int) -> Iterator[tuple[bytes, bool]]:
    """Of IGMPv3 and MLDv2, whose reports differ by the width of an address."""
    at = 8
    for _ in range(int.from_bytes(message[6:8], "big")):
        kind, extra, sources = message[at], message[at + 1], int.from_bytes(message[at + 2 : at + 4], "big")
        yield message[at + 4 : at + 4 + width], kind in _JOINS
        at += 4 + width + width * sources + 4 * extra


def main(ready: str, *interfaces: str) -> None:
    """Route until the process is ended."""
    igmp = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_IGMP)
    igmp.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
    icmpv6 = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    routes = {own.control: own for own in (Ipv4Routes(igmp, [*interfaces]), Ipv6Routes(icmpv6, [*interfaces]))}
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(ready)
    listening.listen()
    while True:
        for control in select.select(list(routes), [], [])[0]:
            routes[control].receive()


if __name__ == "__main__":
    main(*sys.argv[1:])
