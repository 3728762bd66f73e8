"""STAMP framing beside Scapy's layers, vectors computed by hand, and any bytes."""

from __future__ import annotations

import hashlib
import hmac
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.stamp import (
    STAMPSessionReflectorTestUnauthenticated,
    STAMPSessionSenderTestUnauthenticated,
    STAMPTestTLV,
)

from keisoku.subjects.path.stamp.packet import (
    AUTHENTICATED_BYTES,
    BASE_BYTES,
    ErrorEstimate,
    ReflectedPacket,
    SenderPacket,
    StampFormatError,
    padding,
    reflect,
    reflected_tlvs,
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
    assert SenderPacket.parse(data) == SenderPacket(
        sequence, unix_ns(timestamp(time_ns, error.ptp), error.ptp), error, ssid
    )


@given(_words, _words, st.integers(0, 255), _times, _times)
def test_a_reflectors_packet_is_what_scapy_reads(word: int, far: int, ttl: int, sent_ns: int, received_ns: int) -> None:
    mine, theirs = ErrorEstimate.from_word(word), ErrorEstimate.from_word(far)
    request = SenderPacket(77, sent_ns, theirs, 9).pack()
    data = reflect(request, received_ns, received_ns + 5000, ttl, mine)
    assert len(data) == len(request)
    read = STAMPSessionReflectorTestUnauthenticated(data)
    assert (read.seq, read.seq_sender, read.ssid, read.ttl_sender) == (77, 77, 9, ttl)
    assert (read.err_estimate_sender.scale, read.err_estimate_sender.Z) == (theirs.scale, theirs.ptp)
    assert (read.err_estimate.S, read.err_estimate.multiplier) == (mine.synchronised, mine.multiplier)
    answer = ReflectedPacket.parse(data)
    assert answer.sender_time == struct.unpack_from("!Q", request, 4)[0]
    assert abs(answer.received_ns - received_ns) <= 1 and abs(answer.time_ns - received_ns - 5000) <= 1


def test_what_scapy_makes_is_read() -> None:
    # Scapy counts flags from the other end of the octet than RFC 8972 §4 does, so they are given as a number.
    extra = STAMPTestTLV(flags=0x80, type=1, len=4, value=b"abcd")
    made = bytes(STAMPSessionSenderTestUnauthenticated(seq=5, ssid=3, tlv_objects=[extra]))
    packet = SenderPacket.parse(made)
    assert (packet.sequence, packet.ssid, packet.tlvs[-4:]) == (5, 3, b"abcd")
    answer = STAMPSessionReflectorTestUnauthenticated(reflect(made, NOW_NS, NOW_NS, 64, ErrorEstimate()))
    (returned,) = answer.tlv_objects
    assert returned.value == b"abcd" and int(returned.flags) == 0


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
    estimate = ErrorEstimate.of(error_s, synchronised)
    assert 1 <= estimate.multiplier <= 255 and estimate.error_s >= error_s * (1 - 1e-12)
    # Rounded up to 1 of 128 steps or more, and to the unit of the smallest scale.
    assert estimate.error_s <= error_s * (1 + 1 / 128) + 2.0**-32
    assert ErrorEstimate.from_word(estimate.word()) == estimate


def test_a_clock_that_states_no_error_counts_as_not_synchronised() -> None:
    """A multiplier of 0 made one-way delays sure to the ns."""
    assert [ErrorEstimate.from_word(word).is_of_utc for word in (0x8001, 0x8000, 0x0001)] == [True, False, False]


def test_tlvs_come_back_with_the_flags_of_rfc_8972() -> None:
    def tlv(flags: int, kind: int, value: bytes) -> bytes:
        return struct.pack("!BBH", flags, kind, len(value)) + value

    known, unknown = tlv(0x80, 1, b"\0" * 8), tlv(0x80, 7, b"xy")
    assert reflected_tlvs(known + unknown) == tlv(0, 1, b"\0" * 8) + tlv(0x80, 7, b"xy")
    assert reflected_tlvs(tlv(0, 200, b"")) == tlv(0x80, 200, b"")
    short = struct.pack("!BBH", 0x80, 1, 50) + b"123"
    assert reflected_tlvs(known + short) == tlv(0, 1, b"\0" * 8) + bytes([0xC0]) + short[1:]
    assert reflected_tlvs(b"\1\2\3") == b"\1\2\3"
    assert len(padding(100)) == 100 and padding(3) == b"" and reflected_tlvs(padding(20))[0] == 0


@given(st.binary(max_size=200), st.sampled_from([None, b"key"]))
def test_any_bytes_are_answered_in_their_length_or_refused(data: bytes, key: bytes | None) -> None:
    try:
        assert len(reflect(data, NOW_NS, NOW_NS, 1, ErrorEstimate(), key)) == len(data)
    except StampFormatError:
        assert key is not None or len(data) < BASE_BYTES


def test_authenticated_packets_are_laid_out_as_rfc_8762_and_bound_to_their_key() -> None:
    key = b"secret of two"
    data = SenderPacket(9, NOW_NS, ErrorEstimate.of(1e-3, True), 5).pack(key)
    assert len(data) == AUTHENTICATED_BYTES
    assert struct.unpack_from("!I", data)[0] == 9 and data[4:16] == bytes(12)
    assert struct.unpack_from("!Q", data, 16)[0] == timestamp(NOW_NS, False)
    assert data[26:28] == b"\0\5" and data[28:96] == bytes(68)
    assert data[96:] == hmac.new(key, data[:96], hashlib.sha256).digest()[:16]
    answer = reflect(data, NOW_NS + 10, NOW_NS + 20, 61, ErrorEstimate(), key)
    # Seq, MBZ, T3, error, MBZ, T2, MBZ, sender's seq, MBZ, T1, error, MBZ, TTL, MBZ, HMAC (§4.3.2)
    assert (len(answer), answer[80]) == (AUTHENTICATED_BYTES, 61)
    assert struct.unpack_from("!I", answer, 48)[0] == 9 and answer[64:72] == data[16:24]
    assert struct.unpack_from("!Q", answer, 32)[0] == timestamp(NOW_NS + 10, False)
    parsed = ReflectedPacket.parse(answer, key)
    assert (parsed.sequence, parsed.sender_ttl, parsed.ssid) == (9, 61, 5)
    for wrong in (b"another", b""):
        with pytest.raises(StampFormatError, match="HMAC"):
            SenderPacket.parse(data, wrong)
    with pytest.raises(StampFormatError, match="HMAC"):
        ReflectedPacket.parse(answer[:50] + b"x" + answer[51:], key)
