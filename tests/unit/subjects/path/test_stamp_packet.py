"""STAMP framing beside Scapy's layers, vectors computed by hand, and any bytes."""

from __future__ import annotations

import hashlib
import hmac
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.stamp import (
    STAMPSessionReflectorTestUnauthenticated,
    STAMPSessionSenderTestUnauthenticated,
    STAMPTestTLV,
)

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.subjects.path.stamp.packet import (
    AUTHENTICATED_BYTES,
    BASE_BYTES,
    ErrorEstimate,
    ReflectedPacket,
    SenderPacket,
    StampFormatError,
    padding,
    timestamp,
    unix_ns,
)

NOW_NS = 1_795_293_063_484_389_415
_times = st.integers(0, 4_000_000_000 * 10**9)
_words = st.integers(0, 0xFFFF)


@given(st.integers(0, 2**32 - 1), _times, _words, st.integers(0, 0xFFFF))
def test_a_senders_packet_is_what_scapy_reads(sequence: int, time_ns: int, word: int, ssid: int) -> None:
    error = ErrorEstimate.from_word(word)
    data = SenderPacket(sequence, time_ns, error, ssid).pack()
    assert len(data) == BASE_BYTES
    read = STAMPSessionSenderTestUnauthenticated(data)
    assert (read.seq, read.ssid, read.mbz) == (sequence, ssid, 0)
    assert (error.synchronised, error.ptp) == (read.err_estimate.S, read.err_estimate.Z)
    assert (read.err_estimate.scale, read.err_estimate.multiplier) == (error.scale, error.multiplier)
    assert struct.unpack_from("!Q", data, 4)[0] == timestamp(time_ns, error.ptp)


@given(_words, _words, st.integers(0, 255), _times, _times)
def test_an_answer_that_scapy_makes_is_read(word: int, theirs: int, ttl: int, sent_ns: int, received_ns: int) -> None:
    mine = ErrorEstimate.from_word(word)
    made = STAMPSessionReflectorTestUnauthenticated(seq=77, ssid=9, seq_sender=77, ttl_sender=ttl)
    data = bytearray(bytes(made))
    struct.pack_into("!QH", data, 4, timestamp(received_ns + 5000, mine.ptp), word)
    struct.pack_into("!Q", data, 16, timestamp(received_ns, mine.ptp))
    struct.pack_into("!QH", data, 28, timestamp(sent_ns, False), theirs)
    answer = ReflectedPacket.parse(bytes(data))
    assert (answer.sequence, answer.sender_sequence, answer.ssid, answer.sender_ttl) == (77, 77, 9, ttl)
    assert (answer.error, answer.sender_error) == (mine, ErrorEstimate.from_word(theirs))
    assert answer.sender_time == timestamp(sent_ns, False)
    assert abs(answer.received_ns - received_ns) <= 1 and abs(answer.time_ns - received_ns - 5000) <= 1


@pytest.fixture(scope="module")
def asked() -> Iterator[Callable[[bytes], bytes]]:
    """What the far end answers to a packet."""
    with FarEnd("reflect", Place("127.0.0.1")) as far, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(10)
        sender.connect(("127.0.0.1", far.port))

        def answer(data: bytes) -> bytes:
            sender.send(data)
            return sender.recv(65_535)

        yield answer


@given(_words, _times)
def test_a_reflectors_packet_is_what_scapy_reads(asked: Callable[[bytes], bytes], far: int, sent_ns: int) -> None:
    theirs = ErrorEstimate.from_word(far)
    request = SenderPacket(77, sent_ns, theirs, 9).pack()
    data = asked(request)
    assert len(data) == len(request)
    read = STAMPSessionReflectorTestUnauthenticated(data)
    assert (read.seq, read.seq_sender, read.ssid, read.ttl_sender) == (77, 77, 9, 64)
    assert (read.err_estimate_sender.scale, read.err_estimate_sender.Z) == (theirs.scale, theirs.ptp)
    assert ReflectedPacket.parse(data).sender_time == struct.unpack_from("!Q", request, 4)[0]


def test_what_scapy_makes_is_answered(asked: Callable[[bytes], bytes]) -> None:
    # Scapy counts flags from the other end of the octet than RFC 8972 §4 does, so they are given as a number.
    extra = STAMPTestTLV(flags=0x80, type=1, len=4, value=b"abcd")
    made = bytes(STAMPSessionSenderTestUnauthenticated(seq=5, ssid=3, tlv_objects=[extra]))
    answer = STAMPSessionReflectorTestUnauthenticated(asked(made))
    (returned,) = answer.tlv_objects
    assert returned.value == b"abcd" and int(returned.flags) == 0
    assert (answer.seq, answer.ssid) == (5, 3)


@given(_times)
def test_times_survive_both_formats(time_ns: int) -> None:
    assert abs(unix_ns(timestamp(time_ns, False), False) - time_ns) <= 1
    assert unix_ns(timestamp(time_ns, True), True) == time_ns


def test_ntp_begins_in_1900_and_its_second_era_in_2036() -> None:
    assert timestamp(0, False) == 2_208_988_800 << 32
    assert timestamp(500_000_000, False) & 0xFFFF_FFFF == 1 << 31
    second_era_ns = (2**32 - 2_208_988_800) * 10**9
    assert timestamp(second_era_ns, False) == 0 and unix_ns(0, False) == second_era_ns


@given(st.floats(0, 1e9), st.booleans())
def test_an_error_estimate_is_never_too_small_and_its_multiplier_never_zero(error_s: float, synchronised: bool) -> None:
    estimate = ErrorEstimate.covering(error_s, synchronised)
    assert 1 <= estimate.multiplier <= 255 and estimate.error_s >= error_s * (1 - 1e-12)
    # Rounded up to 1 of 128 steps or more, and to the unit of the smallest scale.
    assert estimate.error_s <= error_s * (1 + 1 / 128) + 2.0**-32
    assert ErrorEstimate.from_word(estimate.word()) == estimate


def test_a_clock_that_states_no_error_counts_as_not_synchronised() -> None:
    """A multiplier of 0 made one-way delays sure to the ns."""
    assert [ErrorEstimate.from_word(word).is_of_utc for word in (0x8001, 0x8000, 0x0001)] == [True, False, False]


def test_tlvs_come_back_with_the_flags_of_rfc_8972(asked: Callable[[bytes], bytes]) -> None:
    def tlv(flags: int, kind: int, value: bytes) -> bytes:
        return struct.pack("!BBH", flags, kind, len(value)) + value

    def reflected(tlvs: bytes) -> bytes:
        return asked(SenderPacket(1, NOW_NS, tlvs=tlvs).pack())[BASE_BYTES:]

    known, unknown = tlv(0x80, 1, b"\0" * 8), tlv(0x80, 7, b"xy")
    assert reflected(known + unknown) == tlv(0, 1, b"\0" * 8) + tlv(0x80, 7, b"xy")
    assert reflected(tlv(0, 200, b"")) == tlv(0x80, 200, b"")
    short = struct.pack("!BBH", 0x80, 1, 50) + b"123"
    assert reflected(known + short) == tlv(0, 1, b"\0" * 8) + bytes([0xC0]) + short[1:]
    assert reflected(b"\1\2\3") == b"\1\2\3"
    assert len(padding(100)) == 100 and padding(3) == b"" and reflected(padding(20))[0] == 0


@given(st.binary(max_size=200), st.sampled_from([None, b"key"]))
def test_any_bytes_are_an_answer_or_none(data: bytes, key: bytes | None) -> None:
    try:
        ReflectedPacket.parse(data, key)
    except StampFormatError:
        assert key is not None or len(data) < BASE_BYTES


def test_authenticated_packets_are_laid_out_as_rfc_8762_and_bound_to_their_key(tmp_path: Path) -> None:
    key = b"secret of two"
    (tmp_path / "key").write_bytes(key)
    data = SenderPacket(9, NOW_NS, ErrorEstimate.covering(1e-3, True), 5).pack(key)
    assert len(data) == AUTHENTICATED_BYTES
    assert struct.unpack_from("!I", data)[0] == 9 and data[4:16] == bytes(12)
    assert struct.unpack_from("!Q", data, 16)[0] == timestamp(NOW_NS, False)
    assert data[26:28] == b"\0\5" and data[28:96] == bytes(68)
    assert data[96:] == hmac.new(key, data[:96], hashlib.sha256).digest()[:16]
    of_key = FarEnd("reflect", Place("127.0.0.1"), "--key-file", str(tmp_path / "key"))
    with of_key as far, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(10)
        sender.connect(("127.0.0.1", far.port))
        begun_ns = time.time_ns()
        sender.send(data)
        answer = sender.recv(2000)
    # Seq, MBZ, T3, error, MBZ, T2, MBZ, sender's seq, MBZ, T1, error, MBZ, TTL, MBZ, HMAC (§4.3.2)
    assert (len(answer), answer[80]) == (AUTHENTICATED_BYTES, 64)
    assert struct.unpack_from("!I", answer, 48)[0] == 9 and answer[64:72] == data[16:24]
    parsed = ReflectedPacket.parse(answer, key)
    assert (parsed.sequence, parsed.sender_ttl, parsed.ssid) == (9, 64, 5)
    assert begun_ns - 1 <= parsed.received_ns <= parsed.time_ns
    for wrong in (b"another", b""):
        with pytest.raises(StampFormatError, match="HMAC"):
            ReflectedPacket.parse(answer, wrong)
    with pytest.raises(StampFormatError, match="HMAC"):
        ReflectedPacket.parse(answer[:50] + b"x" + answer[51:], key)
