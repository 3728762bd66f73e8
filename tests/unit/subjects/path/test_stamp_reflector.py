"""The transmit time of an answer is one at which it had not left yet."""

from __future__ import annotations

import socket
import struct
import threading
import time
from pathlib import Path

import pytest

import keisoku as ks
from keisoku._core import StampedSocket
from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.subjects.path.stamp.packet import ReflectedPacket, SenderPacket, timestamp

HERE = Place("127.0.0.1")


def test_no_answer_leaves_before_its_transmit_time() -> None:
    """After 16 answers the least time that the kernel had needed was added: a step, which looked like 58 ppm between
    equal clocks, and delays below zero where an answer needed less."""
    sender = StampedSocket("udp", ("127.0.0.1", 0))
    with FarEnd("reflect", HERE) as far:
        for number in range(40):
            sender.send([(SenderPacket(number, time.time_ns()).pack(), ("127.0.0.1", far.port), 64)])
            (came,), _ = sender.receive(time.monotonic_ns() + 10_000_000_000)
            answer = ReflectedPacket.parse(came.data)
            assert answer.sequence == number and came.kernel_ns is not None
            assert answer.received_ns <= answer.time_ns <= came.kernel_ns + 1  # NTP's fraction rounds to a ns
    assert far.says == ["reflected 40 packets, refused 0"]


def test_a_reflector_at_any_address_answers_from_the_one_that_was_asked() -> None:
    """It answered from another address of its host, which no sender takes for an answer."""
    with FarEnd("reflect", Place("")) as far:
        for asked in ("127.0.0.5", "127.0.0.9", "127.0.0.1", "::1"):
            source, came, answer = reflected("::1" if asked == "::1" else "127.0.0.1", asked, far.port)
            assert source == asked
            # RFC 8762 §4.2.1: hops can be counted, in both versions.
            assert (answer.sender_ttl, came) == (41, 255)


@pytest.mark.parametrize(("only", "other"), [("127.0.0.1", "::1"), ("::1", "127.0.0.1"), ("127.0.0.1", "127.0.0.2")])
def test_a_reflector_of_both_versions_answers_its_peer_alone(only: str, other: str) -> None:
    with FarEnd("reflect", Place(""), "--peer", only) as far:
        sender = StampedSocket("udp", (other, 0))
        sender.send([(SenderPacket(7, time.time_ns()).pack(), (other, far.port), 64)])
        assert reflected(only, only, far.port)[0] == only
        assert sender.receive(time.monotonic_ns() + 1_000_000)[0] == []
    assert far.says == ["reflected 1 packets, refused 0"]


def reflected(here: str, asked: str, port: int) -> tuple[str, int | None, ReflectedPacket]:
    """Who answered, the answer's TTL, and the answer."""
    sender = StampedSocket("udp", (here, 0))
    sender.send([(SenderPacket(7, time.time_ns()).pack(), (asked, port), 41)])
    (came,), _ = sender.receive(time.monotonic_ns() + 10_000_000_000)
    assert came.source is not None
    return str(came.source[0]), came.ttl, ReflectedPacket.parse(came.data)


def test_a_run_of_which_every_answer_is_left_out_is_no_measurement(tmp_path: Path) -> None:
    """It ended with 0, and said that 60 packets (exact) were answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far:
        far.bind(("127.0.0.1", 0))
        far.settimeout(10)

        def answer() -> None:
            for _ in range(5):
                data, source = far.recvfrom(2000)
                came_ns = time.time_ns()
                times = [timestamp(at_ns, False) for at_ns in (came_ns - 1_000_000_000, came_ns)]
                # RFC 8762 §4.3.1: its number and T3, no estimate, T2, and what the sender's packet begins with.
                head = struct.pack("!4sQ4xQ", data[:4], *times)
                far.sendto(head + data[:14] + bytes(6), source)

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(EngineError, match=r"^nothing was measured: 5 answers are left out: by the reflector's"):
            ks.measure(
                "path delay",
                host="127.0.0.1",
                port=far.getsockname()[1],
                packets=5,
                interval_s=0.01,
                out=tmp_path / "run",
            )
        answering.join()
    assert list((tmp_path / "run" / "packets").glob("*.parquet")), "what was measured is kept"
