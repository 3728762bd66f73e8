"""A HopWire of real sockets: UDP out with a TTL, raw ICMP back, both with kernel timestamps."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from keisoku._core import ReceivedPacket, SentPacket, StampedSocket
from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.address import address_text, socket_address
from keisoku.ground.host.place import Place
from keisoku.subjects.path.one_packet.probing.icmp_error import (
    IPV6_HEADER,
    MARK,
    QuotedProbe,
    headers,
    of_ipv4,
    of_ipv6,
)
from keisoku.subjects.path.one_packet.probing.wire import HopPacket, HopReply
from keisoku.subjects.path.time_source import stamps_of

IP_MTU, IPV6_MTU = 14, 24
"""Socket options of Linux (ip(7), ipv6(7)); Python has no name for them."""
_NO_ROOM = (errno.EAGAIN, errno.ENOBUFS)


class HopSockets:
    """One flow (constant addresses and ports, so that every balancer sends all its packets the same way).

    A context manager. A host with addresses of both kinds is probed by IPv4. Raises PlanError for a host that has no
    address, EngineError where no raw socket may be opened or no route leads to the host.
    """

    def __init__(self, place: Place, port: int) -> None:
        self.destination = _address(place)
        self._of_ipv6 = ":" in self.destination
        self._port = port
        self.mtu_bytes = self._route_mtu(place)
        any_address = "::" if self._of_ipv6 else "0.0.0.0"
        self._out = StampedSocket(
            "udp", (any_address, 0), connect=(self.destination, port), namespace=place.path, do_not_fragment=True
        )
        try:
            self._back = StampedSocket("icmp", (any_address, 0), namespace=place.path)
        except EngineError as error:
            raise EngineError(f"{error}; run as root, or with CAP_NET_RAW") from error
        self._source_port = self._out.address[1]
        self._marked = int.from_bytes(os.urandom(MARK))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._out, self._back  # a stamped socket is closed when its last reference is gone

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def rest(self, until_ns: int) -> None:
        """Sleeps until then."""
        if (left := until_ns - time.monotonic_ns()) > 0:
            time.sleep(left / 1e9)

    def exchange(self, packets: Sequence[HopPacket], timeout_ns: int) -> list[HopReply]:
        """As `HopWire.exchange`; raises EngineError when the kernel refuses to send for want of a route."""
        self._back.receive(0, least=0)  # what is late for the packets before is late
        self._out.receive(0, least=0)  # the same errors, told to the sender: not needed
        marks = [self._mark() for _ in packets]
        room = [packet.size_bytes - headers(self._of_ipv6) for packet in packets]
        payloads = [mark.ljust(size, b"\0")[:size] for mark, size in zip(marks, room, strict=True)]
        asked = [(data, None, packet.ttl) for data, packet in zip(payloads, packets, strict=True)]
        sent = self._sent(asked, timeout_ns)
        waiting = {packet.size_bytes: number for number, packet in enumerate(packets)}
        for number, one in enumerate(sent):
            if one.error is not None:
                if "too long" not in one.error and not _had_no_room(one):
                    raise EngineError(f"{self.destination}: the kernel does not send to it: {one.error}")
                waiting.pop(packets[number].size_bytes)
        replies = [HopReply(one.kernel_ns or one.realtime_ns, handed_ns=one.realtime_ns) for one in sent]
        deadline = time.monotonic_ns() + timeout_ns
        while waiting and time.monotonic_ns() < deadline:
            for arrived in self._back.receive(deadline, least=1)[0]:
                quoted = self._read(arrived)
                if quoted is None or quoted.size_bytes not in waiting:
                    continue
                place = waiting[quoted.size_bytes]
                # Without its mark a late answer to an earlier probe of the same size would be this one's.
                if payloads[place].startswith(quoted.mark[: room[place]]):
                    replies[place] = _reply(sent[place], arrived, quoted)
                    del waiting[quoted.size_bytes]
        return replies

    def _mark(self) -> bytes:
        """Of the next packet."""
        self._marked = self._marked % (2 ** (8 * MARK) - 1) + 1
        return self._marked.to_bytes(MARK)

    def _sent(self, packets: list[tuple[bytes, None, int]], timeout_ns: int) -> list[SentPacket]:
        """A shaper at this host's own port may still hold trains. A packet by itself waits for room behind them, as its
        loss would be told of the path. A train's packets do not: one of which some are missing says nothing.
        """
        until_ns = time.monotonic_ns() + timeout_ns
        while True:
            sent = self._out.send(packets)
            if len(sent) > 1 or not _had_no_room(sent[0]) or time.monotonic_ns() > until_ns:
                return sent

    def _read(self, arrived: ReceivedPacket) -> QuotedProbe | None:
        """Content of an ICMP message about a packet of this flow; None: it is about something else."""
        quoted = of_ipv6(arrived.data) if self._of_ipv6 else of_ipv4(arrived.data)
        if quoted is None or quoted[:3] != (self.destination.partition("%")[0], self._source_port, self._port):
            return None
        return quoted

    def _route_mtu(self, place: Place) -> int:
        family, level, option = (
            (socket.AF_INET6, socket.IPPROTO_IPV6, IPV6_MTU)
            if self._of_ipv6
            else (socket.AF_INET, socket.IPPROTO_IP, IP_MTU)
        )

        def ask() -> int:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect(socket_address(self.destination, self._port))
                return probe.getsockopt(level, option)

        try:
            return min(place.inside(ask), 65535)
        except OSError as error:
            raise EngineError(f"{self.destination}: no route leads to it: {error.strerror}") from error


def _had_no_room(sent: SentPacket) -> bool:
    """Whether the socket or the port's own queue was full."""
    return sent.error is not None and any(f"(os error {number})" in sent.error for number in _NO_ROOM)


def _address(place: Place) -> str:
    """Raises PlanError if the host has no address."""
    try:
        found = place.inside(lambda: socket.getaddrinfo(place.host, None, type=socket.SOCK_DGRAM))
    except OSError as error:
        problem = f"{place.host} has no IP address ({error.strerror})"
        raise PlanError("HOST", problem, "give a name or address that is known here") from error
    of_ipv4_first = sorted(found, key=lambda one: one[0] != socket.AF_INET)
    return address_text(of_ipv4_first[0][4])


def _reply(sent: SentPacket, arrived: ReceivedPacket, quoted: QuotedProbe) -> HopReply:
    if sent.hardware_ns is not None and arrived.hardware_ns is not None:
        began, ended, stamps = sent.hardware_ns, arrived.hardware_ns, "hardware"
    elif sent.kernel_ns is not None and arrived.kernel_ns is not None:
        began, ended, stamps = sent.kernel_ns, arrived.kernel_ns, "kernel"
    else:
        began, ended, stamps = sent.realtime_ns, arrived.realtime_ns, "user"
    return HopReply(
        sent_ns=sent.kernel_ns or sent.realtime_ns,
        rtt_ns=ended - began,
        # IPv6 hands over the message without the header before it.
        reply_bytes=len(arrived.data) + (IPV6_HEADER if arrived.source and ":" in arrived.source[0] else 0),
        replier=None if arrived.source is None else arrived.source[0],
        reply_ttl=arrived.ttl,
        icmp_type=quoted.icmp_type,
        icmp_code=quoted.icmp_code,
        next_mtu=quoted.next_mtu,
        stamps=stamps,
        rtt_tsc_ns=stamps_of(arrived, "user-tsc") - stamps_of(sent, "user-tsc"),
        rtt_gettimeofday_ns=stamps_of(arrived, "user-gettimeofday") - stamps_of(sent, "user-gettimeofday"),
        handed_ns=sent.realtime_ns,
    )
