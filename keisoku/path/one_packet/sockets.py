"""A HopWire of real sockets: UDP out with a TTL, raw ICMP back, both with kernel timestamps."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Self

from keisoku._core import ReceivedPacket, SentPacket, StampedSocket
from keisoku.errors import EngineError, PlanError
from keisoku.host.place import Place
from keisoku.path.one_packet.wire import HopPacket, HopReply
from keisoku.path.time_source import stamps_of

IP_HEADER, UDP_HEADER, ICMP_HEADER = 20, 8, 8
ICMP, UDP = 1, 17
UNREACHABLE, EXCEEDED = 3, 11
IP_MTU = 14
"""Socket option of Linux (ip(7)); Python has no name for it."""


class _Quoted(NamedTuple):
    """What an ICMP error says: of which packet, and what."""

    size_bytes: int
    replier: str
    reply_bytes: int
    reply_ttl: int
    icmp_type: int
    icmp_code: int
    next_mtu: int


class HopSockets:
    """One flow (constant addresses and ports, so that every balancer sends all its packets the same way).

    A context manager. Raises PlanError for a host that has no IPv4 address, EngineError where no raw socket may be
    opened or no route leads to the host.
    """

    def __init__(self, place: Place, port: int) -> None:
        self.destination = _ipv4(place)
        self._port = port
        self.mtu_bytes = self._route_mtu(place)
        self._out = StampedSocket(
            "udp", ("0.0.0.0", 0), connect=(self.destination, port), namespace=place.path, do_not_fragment=True
        )
        try:
            self._back = StampedSocket("icmp", ("0.0.0.0", 0), namespace=place.path)
        except EngineError as error:
            raise EngineError(f"{error}; run as root, or with CAP_NET_RAW") from error
        self._source_port = self._out.address[1]

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
        payloads = [bytes(packet.size_bytes - IP_HEADER - UDP_HEADER) for packet in packets]
        sent = self._out.send([(data, None, packet.ttl) for data, packet in zip(payloads, packets, strict=True)])
        waiting = {packet.size_bytes: number for number, packet in enumerate(packets)}
        for number, one in enumerate(sent):
            if one.error is not None:
                if "too long" not in one.error:
                    raise EngineError(f"{self.destination}: the kernel does not send to it: {one.error}")
                waiting.pop(packets[number].size_bytes)
        replies = [HopReply(sent_ns=one.kernel_ns or one.realtime_ns) for one in sent]
        deadline = time.monotonic_ns() + timeout_ns
        while waiting and time.monotonic_ns() < deadline:
            for arrived in self._back.receive(deadline, least=1)[0]:
                quoted = self._read(arrived)
                if quoted is not None and (number := waiting.pop(quoted.size_bytes, -1)) >= 0:
                    replies[number] = _reply(sent[number], arrived, quoted)
        return replies

    def _read(self, arrived: ReceivedPacket) -> _Quoted | None:
        """Content of an ICMP message about a packet of this flow; None: it is about something else."""
        data = arrived.data
        quoted = _icmp_error(data)
        if quoted is None:
            return None
        message, original = quoted
        header = (original[0] & 15) * 4
        if original[9] != UDP or original[16:20] != socket.inet_aton(self.destination):
            return None
        ports = original[header : header + 6]
        if len(ports) < 6:
            return None
        source, destination, length = struct.unpack("!HHH", ports)
        if (source, destination) != (self._source_port, self._port):
            return None
        return _Quoted(
            size_bytes=header + length,
            replier=socket.inet_ntoa(data[12:16]),
            reply_bytes=len(data),
            reply_ttl=data[8],
            icmp_type=message[0],
            icmp_code=message[1],
            next_mtu=struct.unpack("!H", message[6:8])[0],
        )

    def _route_mtu(self, place: Place) -> int:
        def ask() -> int:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect((self.destination, self._port))
                return probe.getsockopt(socket.IPPROTO_IP, IP_MTU)

        try:
            return min(place.inside(ask), 65535)
        except OSError as error:
            raise EngineError(f"{self.destination}: no route leads to it: {error.strerror}") from error


def _ipv4(place: Place) -> str:
    """Raises PlanError if the host has no IPv4 address."""
    try:
        found = place.inside(lambda: socket.getaddrinfo(place.host, None, socket.AF_INET, socket.SOCK_DGRAM))
    except OSError as error:
        problem = f"{place.host} has no IPv4 address ({error.strerror})"
        raise PlanError("HOST", problem, "give a name or address of IPv4") from error
    return str(found[0][4][0])


def _icmp_error(data: bytes) -> tuple[bytes, bytes] | None:
    """ICMP message and the quoted original of an IPv4 packet that reports an error; None for anything else."""
    if len(data) < IP_HEADER or data[9] != ICMP:
        return None
    message = data[(data[0] & 15) * 4 :]
    if len(message) < ICMP_HEADER + IP_HEADER + UDP_HEADER or message[0] not in (UNREACHABLE, EXCEEDED):
        return None
    return message, message[ICMP_HEADER:]


def _reply(sent: SentPacket, arrived: ReceivedPacket, quoted: _Quoted) -> HopReply:
    if sent.hardware_ns is not None and arrived.hardware_ns is not None:
        began, ended, stamps = sent.hardware_ns, arrived.hardware_ns, "hardware"
    elif sent.kernel_ns is not None and arrived.kernel_ns is not None:
        began, ended, stamps = sent.kernel_ns, arrived.kernel_ns, "kernel"
    else:
        began, ended, stamps = sent.realtime_ns, arrived.realtime_ns, "user"
    return HopReply(
        sent_ns=sent.kernel_ns or sent.realtime_ns,
        rtt_ns=ended - began,
        reply_bytes=quoted.reply_bytes,
        replier=quoted.replier,
        reply_ttl=quoted.reply_ttl,
        icmp_type=quoted.icmp_type,
        icmp_code=quoted.icmp_code,
        next_mtu=quoted.next_mtu,
        stamps=stamps,
        rtt_tsc_ns=stamps_of(arrived, "user-tsc") - stamps_of(sent, "user-tsc"),
        rtt_gettimeofday_ns=stamps_of(arrived, "user-gettimeofday") - stamps_of(sent, "user-gettimeofday"),
    )
