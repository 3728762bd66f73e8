"""The two sockets of a PTP port over UDP/IPv4, whose packets the kernel stamps: sending and receiving.

It hears one master of one domain only and counts what it ignores. It never answers, and knows of no exchange.
"""

from __future__ import annotations

import secrets
import socket
from collections import Counter
from dataclasses import dataclass

from keisoku import _core
from keisoku._core import IcmpMessage, StampedSocket
from keisoku.errors import EngineError
from keisoku.subjects.clock.reference.ptp.message import (
    EVENT_PORT,
    GENERAL_PORT,
    MULTICAST,
    NO_FLAGS,
    Flag,
    Message,
    MessageType,
    Moment,
    PortIdentity,
    Signals,
    Term,
    decode,
    encode,
)
from keisoku.subjects.clock.reference.ptp.target import PtpTarget


@dataclass(frozen=True)
class Ports:
    """UDP ports for messages that are stamped and for all others; 0 is any."""

    event: int = EVENT_PORT
    general: int = GENERAL_PORT


@dataclass(frozen=True)
class ReceivedMessage:
    """A message, the kernel's stamp of it if there is one, and ticks when it was here."""

    message: Message
    kernel_ns: int | None
    after: int


@dataclass(frozen=True)
class SentRequest:
    """A Delay_Req that left: its number, ticks before, and what its stamp will be known by."""

    sequence: int
    before: int
    kernel_ns: int | None
    id: int


class PtpPort:
    """Raises EngineError if the master's name is not known or the ports are not to be had."""

    def __init__(self, target: PtpTarget, theirs: Ports, own: Ports) -> None:
        """`own`: PTP's own ports, where a master answers (Annex C of IEEE 1588-2019)."""
        self.target = target
        self.identity = PortIdentity(secrets.token_bytes(8), 1)
        """A random port identity: it reveals nothing about this host and is hard to guess."""
        self.master: PortIdentity | None = None
        """Once known, messages of other ports at the same address are ignored."""
        self.strays: Counter[str] = Counter()
        self._sequence = secrets.randbits(16)
        self._signals = 0
        self._theirs = theirs
        self._address, here = _ways(target, theirs)
        self._group = _joined(target, here) if target.multicast else None
        # A socket with an address of its own hears no multicast, and one without cannot say by which way to send it.
        place = "0.0.0.0" if target.multicast else here
        self._event = self._open(place, own.event)
        self._general = self._open(place, own.general)
        self._asking = self._open(here, 0) if target.multicast else self._event

    @property
    def own(self) -> Ports:
        """The UDP ports in use."""
        return Ports(self._event.address[1], self._general.address[1])

    def ask(self) -> SentRequest:
        """Sends a Delay_Req. The stamp is waited for with the answer, so that a host without any loses no time.

        Raises EngineError if the master cannot be reached.
        """
        self._sequence = (self._sequence + 1) & 0xFFFF
        flags = NO_FLAGS if self.target.multicast else Flag.UNICAST
        message = Message(
            MessageType.DELAY_REQ, self.identity, self._sequence, Moment(0), domain=self.target.domain, flags=flags
        )
        peer = (MULTICAST if self.target.multicast else self._address, self._theirs.event)
        packet = encode(message)
        before = _core.clock_ticks()
        (sent,) = self._asking.send([(packet, peer, None)], 0)
        if sent.error:
            raise EngineError(f"{self.target.name}: cannot be reached: {sent.error}")
        return SentRequest(self._sequence, before, sent.kernel_ns, sent.id)

    def left_ns(self, asked: SentRequest) -> int | None:
        """The kernel's stamp of a Delay_Req: it is there before the answer is, or never comes."""
        late = self._asking.late_stamps()
        return asked.kernel_ns or next((stamp for id, stamp, _ in late if id == asked.id), None)

    def signal(self, terms: list[Term], target: PortIdentity) -> None:
        """Sends terms of unicast negotiation. Raises EngineError if the master cannot be reached."""
        self._signals = (self._signals + 1) & 0xFFFF
        body = Signals(target, tuple(terms))
        message = Message(
            MessageType.SIGNALING, self.identity, self._signals, body, domain=self.target.domain, flags=Flag.UNICAST
        )
        (sent,) = self._general.send([(encode(message), (self._address, self._theirs.general), None)], 0)
        if sent.error:
            raise EngineError(f"{self.target.name}: cannot be reached: {sent.error}")

    def events(self, until_ns: int) -> list[ReceivedMessage]:
        """Sync, once there is one; nothing at `until_ns` (CLOCK_MONOTONIC) or where something else came."""
        return self._hear(self._event, until_ns)

    def generals(self, until_ns: int) -> list[ReceivedMessage]:
        """All other messages, likewise."""
        return self._hear(self._general, until_ns)

    def forget_events(self) -> None:
        """Passes over every Sync and every stamp that came until now."""
        while any(self._event.receive(0)):
            pass
        self._asking.late_stamps()

    def close(self) -> None:
        """Gives the ports back."""
        del self._event, self._general, self._asking
        if self._group is not None:
            self._group.close()

    def _hear(self, of: StampedSocket, until_ns: int) -> list[ReceivedMessage]:
        packets, refusals = of.receive(until_ns)
        after = _core.clock_ticks()
        if refusals:
            raise EngineError(f"{self.target.name}: cannot be reached: {_refusal(refusals[0])}")
        heard = []
        for packet in packets:
            if packet.source is None or packet.source[0] != self._address:
                continue
            message = decode(packet.data)
            if message is not None and self._is_of_master(message):
                heard.append(ReceivedMessage(message, packet.kernel_ns, after))
            elif message is None:
                self.strays["not understood"] += 1
        return heard

    def _is_of_master(self, message: Message) -> bool:
        if message.domain != self.target.domain:
            self.strays[f"of domain {message.domain}"] += 1
        elif self.master is not None and message.source != self.master:
            self.strays[f"of {message.source}, not of {self.master}"] += 1
        else:
            return True
        return False

    def _open(self, address: str, port: int) -> StampedSocket:
        try:
            return StampedSocket("udp", (address, port))
        except EngineError as error:
            raise EngineError(
                f"{self.target.name}: UDP port {port} cannot be had: {error}; a master answers to PTP's ports only: be"
                " root, and end a PTP daemon of this host or take the clock that it disciplines (phc:N)"
            ) from error


def _ways(target: PtpTarget, theirs: Ports) -> tuple[str, str]:
    """The master's address, and this host's towards it."""
    try:
        address = str(socket.getaddrinfo(target.host, None, socket.AF_INET, socket.SOCK_DGRAM)[0][4][0])
    except OSError as error:
        raise EngineError(f"{target.name}: no such host with an IPv4 address: {error.strerror}") from error
    except UnicodeError as error:
        raise EngineError(f"{target.name}: that is no name of a host") from error
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, theirs.event))
        except OSError as error:
            raise EngineError(f"{target.name}: cannot be reached: {error.strerror}") from error
        return address, str(probe.getsockname()[0])


def _joined(target: PtpTarget, here: str) -> socket.socket:
    """Has the interface with this address hear PTP's group as long as the socket lives."""
    member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        member.setsockopt(
            socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(MULTICAST) + socket.inet_aton(here)
        )
    except OSError as error:
        member.close()
        raise EngineError(f"{target.name}: cannot join {MULTICAST} at {here}: {error.strerror}") from error
    return member


def _refusal(refusal: IcmpMessage) -> str:
    return f"it, or a router, refuses with ICMP type {refusal.icmp_type} code {refusal.icmp_code}"
