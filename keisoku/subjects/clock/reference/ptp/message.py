"""PTP's messages (IEEE 1588-2008 and -2019, clause 13 and 16.1) between bytes and facts; no socket, no clock.

It reads what an ordinary clock's slave port needs and writes the same; whatever is malformed is None, never a guess.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass

EVENT_PORT, GENERAL_PORT = 319, 320
MULTICAST = "224.0.1.129"
"""PTP-primary over UDP/IPv4 (Annex D.3 of -2008, C.3 of -2019)."""
VERSION = 2
SCALE = 1 << 16
"""Of correctionField: a ns is so many (13.3.2.9 of -2019)."""
_NO_INTERVAL = 0x7F
_HEADER = struct.Struct("!BBHBBHqI8sHHBb")
_TIME = struct.Struct("!HII")
_IDENTITY = struct.Struct("!8sH")
_ANNOUNCE = struct.Struct("!hxBBBHB8sHB")
_TLV = struct.Struct("!HH")
_REQUEST = struct.Struct("!BbI")
_GRANT = struct.Struct("!BbIBB")
_NS = 1_000_000_000


class MessageType(enum.IntEnum):
    """messageType, Table 36 of -2019; those that an end-to-end exchange has."""

    SYNC = 0x0
    DELAY_REQ = 0x1
    FOLLOW_UP = 0x8
    DELAY_RESP = 0x9
    ANNOUNCE = 0xB
    SIGNALING = 0xC


_KINDS = frozenset(int(kind) for kind in MessageType)
_CONTROL = {MessageType.SYNC: 0, MessageType.DELAY_REQ: 1, MessageType.FOLLOW_UP: 2, MessageType.DELAY_RESP: 3}
"""controlField, for receivers of version 1; 5 for all others."""


class Flag(enum.IntFlag):
    """flagField, both octets (Table 37 of -2019)."""

    ALTERNATE_MASTER = 0x0100
    TWO_STEP = 0x0200
    UNICAST = 0x0400
    LEAP_61 = 0x0001
    LEAP_59 = 0x0002
    UTC_OFFSET_VALID = 0x0004
    PTP_TIMESCALE = 0x0008
    TIME_TRACEABLE = 0x0010
    FREQUENCY_TRACEABLE = 0x0020


NO_FLAGS = Flag(0)


class Contract(enum.IntEnum):
    """tlvType of unicast negotiation (16.1.4)."""

    REQUEST = 0x0004
    GRANT = 0x0005
    CANCEL = 0x0006
    ACKNOWLEDGE = 0x0007


@dataclass(frozen=True)
class PortIdentity:
    """Which port of which clock (7.5.2)."""

    clock: bytes
    port: int

    def __str__(self) -> str:
        """As ptp4l prints it."""
        text = self.clock.hex()
        return f"{text[:6]}.{text[6:10]}.{text[10:]}-{self.port}"


EVERY_PORT = PortIdentity(b"\xff" * 8, 0xFFFF)


@dataclass(frozen=True)
class Moment:
    """Body of Sync, Delay_Req and Follow_Up: ns of the sender's time."""

    time_ns: int


@dataclass(frozen=True)
class Arrival:
    """Body of Delay_Resp: when the Delay_Req of that port arrived."""

    time_ns: int
    requesting: PortIdentity


@dataclass(frozen=True)
class Announced:
    """Body of Announce (13.5): what the time is worth. Timescale and leap seconds are in the header's flags."""

    utc_offset_s: int
    clock_class: int
    accuracy: int
    variance: int
    grandmaster: bytes
    steps_removed: int
    time_source: int
    priority1: int = 128
    priority2: int = 128


@dataclass(frozen=True)
class Term:
    """One TLV of unicast negotiation: messages of `of`, every 2**`log_period` s, for `duration_s`; 0 is a refusal."""

    contract: Contract
    of: int
    log_period: int = 0
    duration_s: int = 0


@dataclass(frozen=True)
class Signals:
    """Body of Signaling: the terms in it; other TLVs are passed over."""

    target: PortIdentity
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Message:
    """A message with its header (13.3)."""

    kind: MessageType
    source: PortIdentity
    sequence: int
    body: Moment | Arrival | Announced | Signals
    domain: int = 0
    flags: Flag = NO_FLAGS
    correction: int = 0
    """In 2**-16 ns."""
    log_interval: int = _NO_INTERVAL
    minor_version: int = 0


def encode(message: Message) -> bytes:
    """A message as it goes into a datagram. Raises struct.error if a field does not fit."""
    body = _body(message.body)
    # messageTypeSpecific and the standard's sdoId are 0, as over UDP/IPv4 without a profile that wants others.
    header = _HEADER.pack(
        message.kind,
        message.minor_version << 4 | VERSION,
        _HEADER.size + len(body),
        message.domain,
        0,
        message.flags,
        message.correction,
        0,
        message.source.clock,
        message.source.port,
        message.sequence,
        _CONTROL.get(message.kind, 5),
        message.log_interval,
    )
    return header + body


def decode(packet: bytes) -> Message | None:
    """None for what is no whole message of version 2 of a kind that is known here, or of an sdoId not 0."""
    if len(packet) < _HEADER.size:
        return None
    kind, version, length, domain, sdo, flags, correction, _, clock, port, sequence, _, interval = _HEADER.unpack_from(
        packet
    )
    if kind not in _KINDS or version & 0xF != VERSION or sdo != 0 or not _HEADER.size <= length <= len(packet):
        return None
    body = _read(MessageType(kind), packet[_HEADER.size : length])
    if body is None:
        return None
    return Message(
        MessageType(kind),
        PortIdentity(clock, port),
        sequence,
        body,
        domain,
        Flag(flags),
        correction,
        interval,
        version >> 4,
    )


def _body(body: Moment | Arrival | Announced | Signals) -> bytes:
    if isinstance(body, Moment):
        return _time(body.time_ns)
    if isinstance(body, Arrival):
        return _time(body.time_ns) + _IDENTITY.pack(body.requesting.clock, body.requesting.port)
    if isinstance(body, Announced):
        # originTimestamp may be 0 (13.5.2.1 of -2008).
        return _time(0) + _ANNOUNCE.pack(
            body.utc_offset_s,
            body.priority1,
            body.clock_class,
            body.accuracy,
            body.variance,
            body.priority2,
            body.grandmaster,
            body.steps_removed,
            body.time_source,
        )
    return _IDENTITY.pack(body.target.clock, body.target.port) + b"".join(_written(term) for term in body.terms)


def _read(kind: MessageType, body: bytes) -> Moment | Arrival | Announced | Signals | None:
    if kind is MessageType.SIGNALING:
        if len(body) < _IDENTITY.size:
            return None
        return Signals(PortIdentity(*_IDENTITY.unpack_from(body)), _terms(body[_IDENTITY.size :]))
    if len(body) < _TIME.size:
        return None
    high, low, ns = _TIME.unpack_from(body)
    if ns >= _NS:
        return None
    time_ns = (high << 32 | low) * _NS + ns
    rest = body[_TIME.size :]
    if kind is MessageType.DELAY_RESP:
        return Arrival(time_ns, PortIdentity(*_IDENTITY.unpack_from(rest))) if len(rest) >= _IDENTITY.size else None
    if kind is MessageType.ANNOUNCE:
        if len(rest) < _ANNOUNCE.size:
            return None
        offset_s, first, quality, accuracy, variance, second, clock, steps, source = _ANNOUNCE.unpack_from(rest)
        return Announced(offset_s, quality, accuracy, variance, clock, steps, source, first, second)
    return Moment(time_ns)


def _time(time_ns: int) -> bytes:
    seconds, ns = divmod(time_ns, _NS)
    return _TIME.pack(seconds >> 32, seconds & 0xFFFFFFFF, ns)


def _written(term: Term) -> bytes:
    if term.contract is Contract.REQUEST:
        value = _REQUEST.pack(term.of << 4, term.log_period, term.duration_s)
    elif term.contract is Contract.GRANT:
        value = _GRANT.pack(term.of << 4, term.log_period, term.duration_s, 0, 1)  # renewal is invited
    else:
        value = bytes((term.of << 4, 0))
    return _TLV.pack(term.contract, len(value)) + value


def _terms(rest: bytes) -> tuple[Term, ...]:
    """Those that are whole, up to the first that reaches beyond the end."""
    found: list[Term] = []
    while len(rest) >= _TLV.size:
        kind, length = _TLV.unpack_from(rest)
        value, rest = rest[_TLV.size : _TLV.size + length], rest[_TLV.size + length :]
        if len(value) < length:
            break
        if kind == Contract.REQUEST and length >= _REQUEST.size:
            of, period, duration_s = _REQUEST.unpack_from(value)
        elif kind == Contract.GRANT and length >= _GRANT.size:
            of, period, duration_s, _, _ = _GRANT.unpack_from(value)
        elif kind in (Contract.CANCEL, Contract.ACKNOWLEDGE) and length >= 2:
            of, period, duration_s = value[0], 0, 0
        else:
            continue
        found.append(Term(Contract(kind), of >> 4, period, duration_s))
    return tuple(found)
