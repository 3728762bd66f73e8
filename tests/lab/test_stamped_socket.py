"""Stamped sockets over a veth between two namespaces: stamps, ICMP errors, TTL, fragments, drops."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from support.veth_pair import VethPair, veth_pair

from keisoku._core import StampedSocket
from keisoku.errors import EngineError

pytestmark = pytest.mark.lab
_WAIT_NS = 10_000_000_000


def _deadline() -> int:
    return time.monotonic_ns() + _WAIT_NS


@pytest.fixture(scope="module")
def pair() -> Iterator[VethPair]:
    with veth_pair() as made:
        yield made


def _ends(pair: VethPair, **options: object) -> tuple[StampedSocket, StampedSocket]:
    near = StampedSocket("udp", (pair.near_address, 0), namespace=pair.near, **options)  # type: ignore[arg-type]
    return near, StampedSocket("udp", (pair.far_address, 0), namespace=pair.far)


def test_every_packet_of_a_batch_has_its_stamps_in_order(pair: VethPair) -> None:
    near, far = _ends(pair)
    batch = [(number.to_bytes(4, "big") * 50, far.address, 10 + number) for number in range(100)]
    sent = near.send(batch, _WAIT_NS)
    packets, messages = far.receive(_deadline(), least=100)
    assert not messages and [packet.error for packet in sent] == [None] * 100
    assert [packet.id for packet in sent] == list(range(100))
    assert [packet.data for packet in packets] == [data for data, _, _ in batch]
    assert [packet.ttl for packet in packets] == [10 + number for number in range(100)]
    assert {packet.source for packet in packets} == {near.address}
    for left, came in zip(sent, packets, strict=True):
        assert left.kernel_ns and came.kernel_ns
        assert left.realtime_ns <= left.kernel_ns <= came.kernel_ns <= came.realtime_ns
    assert sorted(packet.monotonic_ns for packet in sent) == [packet.monotonic_ns for packet in sent]
    assert near.unmatched == 0 and far.dropped == 0 and near.late_stamps() == []


def test_stamps_that_nobody_waited_for_come_later_with_their_packet(pair: VethPair) -> None:
    near, far = _ends(pair)
    sent = near.send([(b"late", far.address, None)] * 20, 0)
    packets, _ = far.receive(_deadline(), least=20)
    stamps = {packet.id: packet.kernel_ns for packet in sent if packet.kernel_ns is not None}
    while len(stamps) < 20 and time.monotonic_ns() < _deadline():
        stamps |= {number: kernel for number, kernel, _ in near.late_stamps() if kernel is not None}
    arrived = [packet.kernel_ns or 0 for packet in packets]
    assert all(stamps[packet.id] <= came for packet, came in zip(sent, arrived, strict=True))


def test_an_icmp_error_says_who_why_and_about_which_packet(pair: VethPair) -> None:
    near, _ = _ends(pair)
    for number in range(3):  # the error of one packet must not be told as a failure of the next
        (sent,) = near.send([(bytes([number]) * 40, (pair.far_address, 9), None)], _WAIT_NS)
        assert sent.error is None and sent.kernel_ns
        packets, (message,) = near.receive(_deadline())
        assert not packets
        assert (message.icmp_type, message.icmp_code, message.source) == (3, 3, pair.far_address)
        assert message.data == bytes([number]) * 40 and message.destination == (pair.far_address, 9)
        assert message.kernel_ns and message.kernel_ns >= sent.kernel_ns


def test_a_raw_socket_receives_the_message_itself(pair: VethPair) -> None:
    near, _ = _ends(pair)
    raw = StampedSocket("icmp", ("0.0.0.0", 0), namespace=pair.near)
    near.send([(b"x", (pair.far_address, 9), None)])
    packets, _ = raw.receive(_deadline())
    assert packets[0].kernel_ns and packets[0].data[20:22] == b"\x03\x03"
    assert packets[0].source == (pair.far_address, 0)


def test_packets_longer_than_the_mtu_are_fragmented_or_refused(pair: VethPair) -> None:
    near, far = _ends(pair)
    (sent,) = near.send([(b"x" * 4000, far.address, None)])
    packets, _ = far.receive(_deadline())
    assert sent.error is None and len(packets[0].data) == 4000
    whole, _ = _ends(pair, do_not_fragment=True)
    refused, passed = whole.send([(b"x" * 1473, far.address, None), (b"x" * 1472, far.address, None)], _WAIT_NS)
    assert "too long" in str(refused.error) and refused.kernel_ns is None
    assert passed.error is None and passed.kernel_ns


def test_what_finds_no_room_is_counted(pair: VethPair) -> None:
    near, _ = _ends(pair)
    small = StampedSocket("udp", (pair.far_address, 0), namespace=pair.far, receive_bytes=4096)
    near.send([(b"x" * 1000, small.address, None)] * 50)
    packets, _ = small.receive(_deadline())
    near.send([(b"x", small.address, None)])
    while small.dropped == 0 and packets:
        packets, _ = small.receive(_deadline())
    assert 0 < small.dropped < 50


def test_the_end_of_a_wait_is_kept_and_bad_sockets_are_refused_in_a_sentence(pair: VethPair) -> None:
    near, far = _ends(pair)
    assert far.receive(time.monotonic_ns()) == ([], [])
    assert far.receive(time.monotonic_ns() + 1_000_000, spin=True) == ([], [])
    assert "software" in near.stamps
    with pytest.raises(EngineError, match=r"a udp socket at 192\.0\.2\.1 port 0 cannot be opened: .*assign"):
        StampedSocket("udp", ("192.0.2.1", 0), namespace=pair.near)
    with pytest.raises(ValueError, match="no IP address"):
        near.send([(b"x", ("nowhere", 1), None)])
    with_hardware = StampedSocket("udp", (pair.near_address, 0), namespace=pair.near, interface="near")
    assert "hardware of near" in with_hardware.stamps
