"""The wire engines over a bare cable (a veth pair between two namespaces)."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from pyroute2 import netns

from keisoku._core import Wire
from keisoku.errors import EngineError
from keisoku.subjects.device.record.facts import Facts

pytestmark = [
    pytest.mark.lab,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces"),
]

A, B = f"keisoku-test-{os.getpid()}-a", f"keisoku-test-{os.getpid()}-b"
STREAM = 3
HEADER = bytes.fromhex("02000000000202000000000188b5") + bytes(28)
CHECKED_FROM = len(HEADER)
LONG = 200_000
"""Frames of a trial that is stopped before its end."""


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def cable() -> Iterator[None]:
    for namespace in (A, B):
        subprocess.run(["ip", "netns", "del", namespace], capture_output=True)
    try:
        for namespace in (A, B):
            ip("netns", "add", namespace)
            ip("netns", "exec", namespace, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        ip("-n", A, "link", "add", "tx0", "type", "veth", "peer", "name", "rx0", "netns", B)
        ip("-n", A, "link", "set", "tx0", "up")
        ip("-n", B, "link", "set", "rx0", "up")
        # A veth takes XDP frames only while its peer polls; without an XDP program there, GRO does it.
        ip("netns", "exec", B, "ethtool", "-K", "rx0", "gro", "on")
        yield
    finally:
        for namespace in (A, B):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)


def place(engine: str, interface: str, namespace: str | None) -> dict[str, object]:
    path = namespace and f"/run/netns/{namespace}"
    return {"engine": engine, "interface": interface, "namespace": path}


def opened(*ports: dict[str, object]) -> Wire:
    """From the first port to the second."""
    return Wire(json.dumps(ports), [0], [1])


@pytest.fixture
def wire(cable: None, request: pytest.FixtureRequest) -> Iterator[Wire]:
    tx, rx = request.param
    wire = opened(place(tx, "tx0", A), place(rx, "rx0", B))
    yield wire
    wire.close()


def pairs(*wanted: tuple[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("wire", wanted, indirect=True, ids="-".join)


EVERY_PAIR = pairs(
    *(("xdp", "xdp"), ("packet", "packet"), ("afxdp", "afxdp")),
    *(("xdp", "packet"), ("packet", "xdp"), ("xdp", "afxdp"), ("afxdp", "packet")),
)
EVERY_RECEIVER = pairs(("packet", "xdp"), ("packet", "packet"), ("packet", "afxdp"))


def template(frame_bytes: int) -> bytes:
    return HEADER + bytes(frame_bytes - 4 - len(HEADER))


def start(
    wire: Wire, frame_bytes: int, frames: int, frames_per_second: float = 20_000, frame: bytes | None = None
) -> None:
    stream = {
        "transmit": 0,
        "receive": 1,
        "table": 0,
        "frame_bytes": [frame_bytes],
        "frames_per_second": frames_per_second,
        "frames": frames,
    }
    trial = {
        "first_stream": STREAM,
        "streams": [stream],
        # Far longer than the frames take: a busy machine may delay the sender, not shorten the trial.
        "duration_ns": 20_000_000_000,
        "drain_ns": 100_000_000,
        "interval_ns": 1_000_000_000,
        "seed": 0,
    }
    frame = frame or template(frame_bytes)
    wire.start(json.dumps(trial), [(frame, struct.pack("=H", len(frame)), CHECKED_FROM, True, 0)])


def finish(wire: Wire) -> Facts:
    facts = Facts.model_validate_json(wire.finish())
    tracked, offered = facts.tracked, facts.sent.offered_frames
    assert offered == tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count
    assert sum(facts.sent.gaps.counts) == max(0, offered - 1)
    assert facts.tester_dropped_frames == 0
    return facts


def until_offered(wire: Wire, frames: int) -> None:
    while wire.progress()[0] < frames:
        assert not wire.progress()[2]
        time.sleep(0.002)


def ones_complement_sum(data: bytes) -> int:
    total = sum(int.from_bytes(data[i : i + 2].ljust(2, b"\0")) for i in range(0, len(data), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def signed(frame_bytes: int, stream: int, sequence: int) -> bytearray:
    head = b"\x6b\x73" + stream.to_bytes(2) + sequence.to_bytes(6) + (time.monotonic_ns() % 2**48).to_bytes(6)
    balance = 0xFFFF - ones_complement_sum(head)
    return bytearray(template(frame_bytes)[:-18] + head + balance.to_bytes(2))


def within_b(work: Callable[[], socket.socket]) -> socket.socket:
    """Opens a socket in the namespace of the receive port."""
    made = []

    def open_it() -> None:
        netns.setns(B)
        made.append(work())

    thread = threading.Thread(target=open_it)
    thread.start()
    thread.join()
    return made[0]


def inject(*frames: bytes | bytearray) -> None:
    """Sends frames from the transmit port as somebody else would."""

    def send() -> None:
        netns.setns(A)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
            port.bind(("tx0", 0))
            for frame in frames:
                port.send(frame)

    thread = threading.Thread(target=send)
    thread.start()
    thread.join()


@EVERY_PAIR
@pytest.mark.parametrize("frame_bytes", [64, 65, 1518])
def test_every_frame_is_accounted(wire: Wire, frame_bytes: int) -> None:
    for frames in (1, 4000):
        start(wire, frame_bytes, frames)
        facts = finish(wire)
        assert facts.sent.offered_frames == facts.tracked.forwarded_frames == frames
        assert facts.tracked.received_frames == frames
        assert facts.tracked.latency is not None
        assert facts.tracked.latency.histogram.negative == 0
        assert not facts.interrupted


@pairs(("xdp", "xdp"), ("packet", "packet"), ("afxdp", "afxdp"))
@pytest.mark.parametrize("frames_per_second", [500, 100_000, 4_000_000])
def test_slow_and_impossible_rates_lose_no_sequence_number(wire: Wire, frames_per_second: float) -> None:
    frames = min(20_000, int(frames_per_second))
    start(wire, 64, frames, frames_per_second)
    facts = finish(wire)
    assert facts.sent.offered_frames == frames
    assert facts.sent.first_sent_ns >= 0
    assert facts.sent.last_sent_ns >= (frames - 1) * 1e9 // frames_per_second


@EVERY_PAIR
def test_frames_of_others_are_foreign_and_change_nothing_else(wire: Wire) -> None:
    start(wire, 128, LONG)
    until_offered(wire, 1000)
    inject(*[HEADER + bytes(18)] * 50, bytes(signed(128, STREAM + 1, 7)))
    wire.stop()
    facts = finish(wire)
    tracked = facts.tracked
    assert tracked.foreign_frames == 51
    assert tracked.forwarded_frames == facts.sent.offered_frames
    assert tracked.received_frames == facts.sent.offered_frames + 51
    assert not tracked.lost and (tracked.corrupt_arrivals, tracked.duplicated.count) == (0, 0)


@EVERY_RECEIVER
def test_corrupt_and_duplicate_frames_are_told_apart(wire: Wire) -> None:
    wrong_signature, wrong_payload = signed(128, STREAM, 20), signed(128, STREAM, 21)
    wrong_signature[-5] ^= 4
    wrong_payload[CHECKED_FROM + 3] ^= 1
    start(wire, 128, LONG)
    until_offered(wire, 1000)
    inject(wrong_signature, wrong_payload, signed(127, STREAM, 22), signed(128, STREAM, 23))
    wire.stop()
    facts = finish(wire)
    tracked = facts.tracked
    assert tracked.corrupt_arrivals == 3
    assert tracked.corrupt.count == 0, "all of them arrived intact, too"
    assert tracked.duplicated.ranges == [(23, 23)]
    assert (tracked.forwarded_frames, tracked.foreign_frames) == (facts.sent.offered_frames, 0)


@pairs(("xdp", "packet"))
def test_every_byte_of_a_frame_leaves_whatever_its_length(wire: Wire) -> None:
    header = bytes(range(1, 13)) + HEADER[12:14] + bytes(range(15, 43))
    with within_b(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))) as port:
        port.bind(("rx0", 0))
        port.settimeout(5)
        for frame_bytes in (*range(64, 100), 127, 128, 129, 192, 1518):
            frame = header + bytes(frame_bytes - 4 - len(header))
            start(wire, frame_bytes, 3, frame=frame)
            for sequence in range(3):
                arrived = port.recv(2048)
                assert arrived[:-18] == frame[:-18]
                assert arrived[-18:-8] == b"\x6b\x73" + STREAM.to_bytes(2) + sequence.to_bytes(6)
                assert ones_complement_sum(arrived[-18:]) == 0xFFFF
            assert finish(wire).tracked.forwarded_frames == 3


@EVERY_RECEIVER
@pytest.mark.parametrize("frame_bytes", [65, 79, 101, 190, 319])
def test_no_byte_of_a_payload_changes_unseen(wire: Wire, frame_bytes: int) -> None:
    places = range(CHECKED_FROM, frame_bytes - 4 - 18)
    damaged = [signed(frame_bytes, STREAM, 20) for _ in places]
    for at, frame in zip(places, damaged, strict=True):
        frame[at] ^= 1 << at % 8
    start(wire, frame_bytes, LONG)
    until_offered(wire, 100)
    inject(*damaged)
    wire.stop()
    tracked = finish(wire).tracked
    assert not tracked.lost and (tracked.corrupt_arrivals, tracked.foreign_frames) == (len(damaged), 0)


@EVERY_PAIR
def test_learning_frames_belong_to_no_trial(wire: Wire) -> None:
    wire.learn(0, template(64), 3)
    wire.learn(1, template(64), 3)
    start(wire, 64, 100)
    assert finish(wire).tracked.foreign_frames == 0


@EVERY_PAIR
def test_a_stopped_trial_says_so_and_adds_up(wire: Wire) -> None:
    start(wire, 64, LONG)
    until_offered(wire, 100)
    wire.stop()
    facts = finish(wire)
    assert facts.interrupted
    assert 100 <= facts.sent.offered_frames < LONG
    assert facts.sent.offered_frames == facts.tracked.forwarded_frames + facts.tracked.lost_frames
    start(wire, 64, 100)
    assert finish(wire).sent.offered_frames == 100, "the ports serve the next trial"


@pytest.mark.parametrize("engine", ["xdp", "packet", "afxdp"])
def test_what_cannot_be_opened_is_refused_in_one_sentence(cable: None, engine: str) -> None:
    good = place(engine, "rx0", B)
    with pytest.raises(EngineError, match="nowhere0: no such interface"):
        opened(place(engine, "nowhere0", A), good)
    with pytest.raises(EngineError, match="no network namespace"):
        opened(place(engine, "tx0", "keisoku-test-none"), good)
    with pytest.raises(EngineError, match="ports: "):
        Wire("[{}]", [0], [0])


@pairs(("xdp", "packet"))
def test_a_port_whose_peer_takes_no_xdp_frames_is_refused_with_the_remedy(wire: Wire) -> None:
    ip("netns", "exec", B, "ethtool", "-K", "rx0", "gro", "off")
    try:
        start(wire, 64, 10)
        with pytest.raises(EngineError, match="use `packet:tx0`"):
            wire.finish()
    finally:
        ip("netns", "exec", B, "ethtool", "-K", "rx0", "gro", "on")


@pairs(("packet", "packet"))
def test_a_frame_above_the_mtu_is_refused(wire: Wire) -> None:
    start(wire, 2000, 10)
    with pytest.raises(EngineError, match="above the interface's MTU"):
        wire.finish()


def child(code: str, engine: str = "xdp") -> subprocess.Popen[str]:
    ports = json.dumps([place(engine, "tx0", A), place(engine, "rx0", B)])
    code = f"import os, sys\nfrom keisoku._core import Wire\nports = {ports!r}\n{code}"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_without_privilege_it_says_what_is_missing(cable: None) -> None:
    _, errors = child("os.setgid(65534); os.setuid(65534)\nWire(ports, [0], [1])").communicate(timeout=60)
    assert "EngineError: tx0: not allowed to" in errors
    assert "CAP_NET_RAW" in errors


def attached() -> bool:
    return any("xdp" in ip("-n", namespace, "-d", "link") for namespace in (A, B))


@pytest.mark.parametrize("engine", ["xdp", "afxdp"])
def test_no_program_stays_attached_after_close(cable: None, engine: str) -> None:
    wire = opened(place(engine, "tx0", A), place(engine, "rx0", B))
    assert attached()
    wire.close()
    assert not attached()


@pytest.mark.parametrize("engine", ["xdp", "afxdp"])
def test_no_program_stays_attached_after_a_kill(cable: None, engine: str) -> None:
    code = "import signal\nwire = Wire(ports, [0], [1])\nprint('open', flush=True)\nsignal.pause()"
    process = child(code, engine)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    assert attached()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    while attached():
        time.sleep(0.01)
