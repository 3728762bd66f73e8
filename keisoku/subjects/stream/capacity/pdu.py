"""PDUs of UDPSTP (RFC 9946) as bytes: set-up, null, activation, load and status. They do no I/O.

The control PDUs and the status end in the same 41 byte, which `seal.py` fills in and checks: mode of authentication,
time, digest, number of the key, checksum.
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self

from keisoku.subjects.stream.capacity.sending_rate import SendingRate

PORT = 24601
"""UDP port of a server's set-up requests."""
VERSION = 20
"""That of RFC 9946."""
SETUP, ACTIVATION, NULL, LOAD, STATUS = 0xACE1, 0xACE2, 0xDEAD, 0xBEEF, 0xFEED
SETUP_REQUEST, SETUP_RESPONSE = 1, 2
ACTIVATE_UP, ACTIVATE_DOWN = 1, 2
"""Commands of an activation: the client sends the load, or the server does."""
JUMBO, TRADITIONAL_MTU = 0x01, 0x02
"""Modifiers of a set-up: datagrams of up to 9000 byte, or of 1500 byte rather than 1250."""
SEARCH = 0xFFFF
"""`rate_index` of an activation: the server looks for the rate, rather than holding one."""
NO_DELAY = 0xFFFFFFFF
"""Instead of a delay that is not known."""
TESTING, STOPPING = 0, 2
"""`action` of load and status."""
OK, BAD_VERSION, BAD_JUMBO, NO_KEY_HERE, KEY_NEEDED, BAD_MODE, BAD_DIGEST, BAD_TIME = range(1, 9)
BANDWIDTH_NEEDED, CAPACITY_EXCEEDED, BAD_MTU, BAD_CONNECTIONS, NO_CONNECTION = range(9, 14)
"""Responses to a set-up request."""
TAIL_BYTES = 41
LOAD_BYTES = 32
_LOAD = struct.Struct("!HBBIHHIIIIHH")
_ACTION_MOST, _U32 = 2, 0xFFFFFFFF


class PduError(ValueError):
    """These bytes are no PDU of the expected kind."""


@dataclass(frozen=True)
class _Pdu:
    """Fields in the order in which they are on the wire, after the identifier."""

    identifier: ClassVar[int]
    layout: ClassVar[struct.Struct]

    def pack(self) -> bytes:
        """Bytes with an empty tail."""
        return self.layout.pack(self.identifier, *self._flat()) + bytes(TAIL_BYTES)

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Raises PduError for another length, another identifier or a value that its field cannot have."""
        if len(data) != cls.layout.size + TAIL_BYTES:
            raise PduError(f"{len(data)} byte are no {cls.__name__}")
        identifier, *values = cls.layout.unpack_from(data)
        if identifier != cls.identifier:
            raise PduError(f"{identifier:#06x} is not the identifier of a {cls.__name__}")
        return cls._from_flat(values)

    def _flat(self) -> tuple[Any, ...]:
        return astuple(self)

    @classmethod
    def _from_flat(cls, values: list[Any]) -> Self:
        return cls(*values)


@dataclass(frozen=True)
class Setup(_Pdu):
    """Asks for a test, and answers with the port where it will be."""

    identifier = SETUP
    layout = struct.Struct("!HHBBHBBHHB")

    version: int = VERSION
    connection: int = 0
    connections: int = 1
    connections_id: int = 0
    """The same for all connections of one test of a client."""
    command: int = SETUP_REQUEST
    response: int = 0
    max_bandwidth: int = 0
    """Mb/s, 0: not said."""
    port: int = 0
    modifiers: int = 0

    @classmethod
    def _from_flat(cls, values: list[Any]) -> Self:
        found = cls(*values)
        if found.command not in (SETUP_REQUEST, SETUP_RESPONSE):
            raise PduError(f"{found.command} is no command of a set-up")
        return found


@dataclass(frozen=True)
class Null(_Pdu):
    """Opens the server's firewall for the client; nobody answers it."""

    identifier = NULL
    layout = struct.Struct("!HHBBB")

    version: int = VERSION
    command: int = 1
    response: int = 0
    reserved: int = 0


@dataclass(frozen=True)
class Activation(_Pdu):
    """Asks for the test to begin, and answers with the parameters that it will have."""

    identifier = ACTIVATION
    layout = struct.Struct("!HHBBHHHHBBHBBHHBBBB7IHHHB")

    version: int = VERSION
    command: int = ACTIVATE_DOWN
    response: int = 0
    low_delay_ms: int = 30
    high_delay_ms: int = 90
    feedback_ms: int = 50
    """Between two status PDUs, the trial interval."""
    duration_s: int = 10
    reserved1: int = 0
    traffic_class: int = 0
    rate_index: int = SEARCH
    one_way: int = 0
    """1: the search looks at the one-way delay, not at the round trip."""
    fast_rows: int = 10
    slow_after: int = 3
    """Number of trial intervals with congestion after which the search goes one row at a time."""
    errors_above: int = 10
    """Errors of the sequence in a trial interval that are no congestion yet."""
    only_losses: int = 1
    """1: datagrams out of order or twice are no errors of the sequence."""
    modifiers: int = 0
    algorithm: int = 0
    """0: B of ITU-T Y.1540."""
    ce_above: int = 0
    rate: SendingRate = field(default_factory=SendingRate)
    """In the response to a test upstream: the rate at which it begins."""
    sub_interval_ms: int = 1000
    reserved3: int = 0
    suppressed: int = 0
    reserved5: int = 0

    def _flat(self) -> tuple[Any, ...]:
        return _flattened(self)

    @classmethod
    def _from_flat(cls, values: list[Any]) -> Self:
        found = cls(*[*values[:18], SendingRate(*values[18:25]), *values[25:]])
        if found.command not in (ACTIVATE_UP, ACTIVATE_DOWN):
            raise PduError(f"{found.command} is no command of an activation")
        return found


@dataclass(frozen=True)
class SubInterval:
    """What a receiver saw in a whole sub-interval. Delays are variations, above the least so far, in ms."""

    datagrams: int = 0
    payload_bytes: int = 0
    lasted_us: int = 0
    lost: int = 0
    reordered: int = 0
    duplicated: int = 0
    delay_least_ms: int = NO_DELAY
    delay_most_ms: int = 0
    delay_sum_ms: int = 0
    delays: int = 0
    rtt_least_ms: int = NO_DELAY
    rtt_most_ms: int = 0
    since_ms: int = 0
    """From the first sub-interval's beginning to the end of this one."""


@dataclass(frozen=True)
class Status(_Pdu):
    """What the receiver saw since its last status, and in the last complete sub-interval."""

    identifier = STATUS
    layout = struct.Struct("!HBBI7IIIQ11I3IiIIIIIIBBHIIIIIHB")

    action: int = TESTING
    stopped: int = 0
    """1: nothing has come for a second."""
    number: int = 0
    rate: SendingRate = field(default_factory=SendingRate)
    """From a server: the rate that the client is to send at now."""
    sub_intervals: int = 0
    """How many are complete."""
    sub_interval: SubInterval = field(default_factory=SubInterval)
    """The last complete one."""
    lost: int = 0
    reordered: int = 0
    duplicated: int = 0
    clocks_ms: int = 0
    """Least difference of the clocks' readings, arrival minus departure."""
    delay_least_ms: int = NO_DELAY
    delay_most_ms: int = 0
    delay_sum_ms: int = 0
    delays: int = 0
    rtt_least_ms: int = NO_DELAY
    """Since the test began."""
    rtt_over_ms: int = NO_DELAY
    """The last round trip, above the least."""
    least_changed: int = 0
    reserved1: int = 0
    reserved2: int = 0
    lasted_us: int = 0
    """Since the last status."""
    datagrams: int = 0
    payload_bytes: int = 0
    sent_s: int = 0
    sent_ns: int = 0
    reserved3: int = 0
    reserved4: int = 0

    def _flat(self) -> tuple[Any, ...]:
        return _flattened(self)

    @classmethod
    def _from_flat(cls, values: list[Any]) -> Self:
        rate, sub_interval = SendingRate(*values[3:10]), SubInterval(*values[11:24])
        found = cls(*[*values[:3], rate, values[10], sub_interval, *values[24:]])
        _check_action(found.action, found.stopped)
        return found


class LoadHeader(NamedTuple):
    """The header of a datagram of the load; what follows it has no meaning."""

    action: int
    stopped: int
    number: int
    """1 for the first."""
    payload_bytes: int
    """Of the whole datagram, this header included."""
    status_errors: int
    """Status PDUs that were lost before the last one."""
    status_s: int
    status_ns: int
    """When the last status that came was sent, by its sender."""
    sent_s: int
    sent_ns: int
    held_ms: int
    """From that status's arrival to this departure."""

    def pack_into(self, buffer: bytearray) -> None:
        """At its beginning, without a checksum, which UDP has anyway."""
        _LOAD.pack_into(
            buffer,
            0,
            LOAD,
            self.action,
            self.stopped,
            self.number & _U32,
            self.payload_bytes,
            min(self.status_errors, 0xFFFF),
            self.status_s & _U32,
            self.status_ns,
            self.sent_s & _U32,
            self.sent_ns,
            min(self.held_ms, 0xFFFF),
            0,
        )

    @classmethod
    def parse(cls, data: bytes) -> LoadHeader:
        """Of what was received. Raises PduError for what is no load."""
        if len(data) < LOAD_BYTES:
            raise PduError(f"{len(data)} byte are no Load")
        identifier, *values, checksum = _LOAD.unpack_from(data)
        if identifier != LOAD:
            raise PduError(f"{identifier:#06x} is not the identifier of a Load")
        if checksum and checksum_of(data[:LOAD_BYTES]):
            raise PduError("the checksum is wrong")
        found = cls._make(values)
        _check_action(found.action, found.stopped)
        if found.payload_bytes != len(data):
            raise PduError(f"a load of {found.payload_bytes} byte has {len(data)}")
        return found


def kind_of(data: bytes) -> int:
    """The identifier of a PDU; 0 if it is too short to have one."""
    return int.from_bytes(data[:2], "big") if len(data) >= 2 else 0


def checksum_of(data: bytes) -> int:
    """Ones' complement of the sum of 16-bit words (RFC 1071); 0 over what holds its own right checksum."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[: len(data) // 2 * 2]))
    if len(data) % 2:
        total += data[-1] << 8
    # Sums of words are equal in ones' complement if they are equal modulo 65535, of which 0 and 65535 are one number.
    return (0xFFFF - (total % 0xFFFF or 0xFFFF)) if total else 0xFFFF


def _flattened(pdu: Any) -> tuple[Any, ...]:
    found: list[Any] = []
    for one in fields(pdu):
        value = getattr(pdu, one.name)
        found += astuple(value) if isinstance(value, SendingRate | SubInterval) else [value]
    return tuple(found)


def _check_action(action: int, stopped: int) -> None:
    if action > _ACTION_MOST or stopped > 1:
        raise PduError(f"there is no action {action} and no state {stopped}")
