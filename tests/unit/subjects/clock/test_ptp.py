"""PTP's messages: there and back, against Scapy's, and whatever bytes come."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.ptp_v2 import PTP
from support.ptp_ports import MASTER, NOW, OURS

from keisoku.subjects.clock.reference.ptp.message import (
    EVERY_PORT,
    Announced,
    Arrival,
    Contract,
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

octet, word = st.integers(0, 255), st.integers(0, 0xFFFF)
identity = st.builds(PortIdentity, st.binary(min_size=8, max_size=8), word)
time_ns = st.integers(0, ((1 << 48) - 1) * 10**9 + 999_999_999)
term = st.one_of(
    st.builds(
        Term,
        st.sampled_from([Contract.REQUEST, Contract.GRANT]),
        st.integers(0, 15),
        st.integers(-128, 127),
        st.integers(0, 2**32 - 1),
    ),
    st.builds(Term, st.sampled_from([Contract.CANCEL, Contract.ACKNOWLEDGE]), st.integers(0, 15)),
)
announced = st.builds(
    Announced, st.integers(-(2**15), 2**15 - 1), octet, octet, word, st.binary(min_size=8, max_size=8), word, octet
)
body = st.one_of(
    st.tuples(
        st.sampled_from([MessageType.SYNC, MessageType.DELAY_REQ, MessageType.FOLLOW_UP]), st.builds(Moment, time_ns)
    ),
    st.tuples(st.just(MessageType.DELAY_RESP), st.builds(Arrival, time_ns, identity)),
    st.tuples(st.just(MessageType.ANNOUNCE), announced),
    st.tuples(st.just(MessageType.SIGNALING), st.builds(Signals, identity, st.lists(term, max_size=5).map(tuple))),
)
message = st.builds(
    lambda kind_and_body, *rest: Message(kind_and_body[0], rest[0], rest[1], kind_and_body[1], *rest[2:]),
    body,
    identity,
    word,
    octet,
    word.map(Flag),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-128, 127),
    st.integers(0, 15),
)


@given(message)
def test_what_is_written_is_read(sent: Message) -> None:
    assert decode(encode(sent)) == sent
    assert decode(encode(sent) + b"padding of a short frame") == sent


@given(st.binary(max_size=120))
def test_any_bytes_are_a_message_or_nothing(junk: bytes) -> None:
    decode(junk)


@given(message, st.integers(0, 200), st.integers(0, 255), st.integers(0, 120))
def test_a_spoilt_message_is_a_message_or_nothing(sent: Message, at: int, value: int, length: int) -> None:
    packet = bytearray(encode(sent))
    packet[at % len(packet)] = value
    decode(bytes(packet))
    assert len(packet) <= length or decode(encode(sent)[:length]) is None


@pytest.mark.parametrize(
    ("at", "value"),
    [(0, 0x10), (0, 0x03), (1, 0x01), (5, 1), (2, 0xFF), (3, 20), (40, 0xFF)],
    ids=["other standard", "other kind", "version 1", "other profile", "too long", "too short", "a second of 4 s"],
)
def test_what_is_no_message_of_this_version_is_passed_over(at: int, value: int) -> None:
    packet = bytearray(encode(Message(MessageType.SYNC, MASTER, 1, Moment(NOW))))
    packet[at] = value
    assert decode(bytes(packet)) is None


def _scapy(kind: MessageType, rest: bytes = b"", **more: Any) -> bytes:
    fields = dict[str, Any](messageType=int(kind), domainNumber=44, sequenceId=77, correctionField=3 << 15)
    identity: dict[str, Any] = {"clockIdentity": int.from_bytes(MASTER.clock, "big"), "portNumber": MASTER.port}
    packet = bytearray(bytes(PTP(**fields, **identity, **more)) + rest)
    packet[2:4] = len(packet).to_bytes(2, "big")
    return bytes(packet)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (MessageType.SYNC, "originTimestamp"),
        (MessageType.FOLLOW_UP, "preciseOriginTimestamp"),
        (MessageType.DELAY_RESP, "receiveTimestamp"),
    ],
)
def test_times_are_where_scapy_writes_them(kind: MessageType, name: str) -> None:
    stamp = {f"{name}_seconds": NOW // 10**9 + (1 << 40), f"{name}_nanoseconds": NOW % 10**9}
    rest = OURS.clock + struct.pack("!H", OURS.port) if kind is MessageType.DELAY_RESP else b""
    found = decode(_scapy(kind, rest, **stamp))
    assert found is not None
    assert (found.kind, found.source, found.sequence, found.domain) == (kind, MASTER, 77, 44)
    assert found.correction == 3 << 15
    at = NOW + (10**9 << 40)
    assert found.body == (Arrival(at, OURS) if kind is MessageType.DELAY_RESP else Moment(at))


def test_an_announce_is_read_as_scapy_writes_it() -> None:
    packet = _scapy(
        MessageType.ANNOUNCE,
        flags=0x043C,
        currentUtcOffset=37,
        grandmasterPriority1=1,
        grandmasterClockClass=6,
        grandmasterClockAccuracy=0x21,
        grandmasterClockVariance=0x4E5D,
        grandmasterPriority2=2,
        grandmasterIdentity=int.from_bytes(OURS.clock, "big"),
        stepsRemoved=3,
        timeSource=0x20,
    )
    found = decode(packet)
    assert found is not None and found.body == Announced(37, 6, 0x21, 0x4E5D, OURS.clock, 3, 0x20, 1, 2)
    traceable = Flag.TIME_TRACEABLE | Flag.FREQUENCY_TRACEABLE
    assert found.flags == Flag.UNICAST | Flag.UTC_OFFSET_VALID | Flag.PTP_TIMESCALE | traceable


def test_scapy_reads_a_delay_request() -> None:
    found = PTP(encode(Message(MessageType.DELAY_REQ, OURS, 99, Moment(0), 24, Flag.UNICAST)))
    assert (found.messageType, found.version, found.messageLength, found.domainNumber) == (1, 2, 44, 24)
    assert (found.clockIdentity, found.portNumber, found.sequenceId) == (int.from_bytes(OURS.clock, "big"), 1, 99)
    assert (found.controlField, found.logMessageInterval, int(found.flags)) == (1, 0x7F, 0x0400)


def test_a_request_for_unicast_is_laid_out_as_the_standard_has_it() -> None:
    """Tables 48 and 109 of IEEE 1588-2019."""
    request = Term(Contract.REQUEST, MessageType.DELAY_RESP, -3, 300)
    packet = encode(Message(MessageType.SIGNALING, OURS, 1, Signals(EVERY_PORT, (request,)), flags=Flag.UNICAST))
    assert packet[34:] == b"\xff" * 10 + bytes.fromhex("0004 0006 90 fd 0000012c")
    assert packet[2:4] == (54).to_bytes(2, "big") and packet[32] == 5


def test_terms_are_read_beside_others_and_up_to_what_is_cut_off() -> None:
    other = struct.pack("!HH", 0x8000, 2) + b"ab"
    grant = bytes.fromhex("0005 0008 b0 00 0000003c 00 01")
    packet = encode(Message(MessageType.SIGNALING, MASTER, 1, Signals(OURS, ())))
    packet += other + grant + bytes.fromhex("0004 0006 b0")
    packet = packet[:2] + len(packet).to_bytes(2, "big") + packet[4:]
    found = decode(packet)
    assert found is not None and found.body == Signals(OURS, (Term(Contract.GRANT, MessageType.ANNOUNCE, 0, 60),))
