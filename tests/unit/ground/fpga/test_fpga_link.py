"""The host's end of the link against a double of the instrument's: damage never shows but as a retry or an error."""

import os
import random
import socket
import threading
import tty
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.instrument_link import DirectTransport, InstrumentLink, WordBus

from keisoku.errors import EngineError, PlanError
from keisoku.ground.fpga.framing import Unframer, framed
from keisoku.ground.fpga.link import Link, request
from keisoku.ground.fpga.registers import REGISTERS
from keisoku.ground.fpga.transport import open_transport

OCTETS = st.binary(max_size=40) | st.lists(st.sampled_from([0x7E, 0x7D, 0x5E, 0x5D, 0x20]), max_size=40).map(bytes)


def link_to(bus: WordBus) -> tuple[Link, InstrumentLink]:
    instrument = InstrumentLink(bus)
    return Link(DirectTransport(instrument), "double"), instrument


def damaging(rng: random.Random, ratio: float):
    def damage(data: bytes) -> bytes:
        if rng.random() >= ratio:
            return data
        kind = rng.randrange(5)
        cut = rng.randrange(len(data) + 1)
        if kind == 0:
            return b""
        if kind == 1:
            return data[:cut]
        if kind == 2:
            return data[cut:]
        if kind == 3:
            return rng.randbytes(rng.randrange(40)) + data
        changed = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            if changed:
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        return bytes(changed)

    return damage


@given(st.lists(OCTETS, max_size=5), st.lists(st.integers(1, 20), min_size=1, max_size=20))
def test_frames_come_back_from_any_pieces(frames: list[bytes], pieces: list[int]) -> None:
    stream = b"".join(framed(frame) for frame in frames)
    unframer, found, at, turn = Unframer(), [], 0, 0
    while at < len(stream):
        found += unframer.feed(stream[at : at + pieces[turn % len(pieces)]])
        at += pieces[turn % len(pieces)]
        turn += 1
    assert found == frames


@given(st.binary(max_size=200), OCTETS)
def test_the_frame_after_garbage_is_found(garbage: bytes, frame: bytes) -> None:
    assert Unframer().feed(garbage + framed(frame))[-1:] == [frame]


def test_bursts_longer_than_a_request_are_split() -> None:
    bus = WordBus()
    link, instrument = link_to(bus)
    words = [i * 0x7E7D7E01 & 0xFFFF_FFFF for i in range(1000)]
    link.write(0x10000, words)
    assert link.read(0x10000, 1000) == words
    assert instrument.executed == 1 + 4 + 4
    link.write(0x20000, [1, 2, 3], fixed=True)
    assert [access for access in bus.accesses if access[0] == "write"][-3:] == [
        ("write", 0x20000, i) for i in (1, 2, 3)
    ]
    assert link.read(0x20000, 300, fixed=True) == [3] * 300


@pytest.mark.parametrize("seed", range(20))
def test_nothing_happens_twice_or_wrongly_on_a_bad_line(seed: int) -> None:
    rng = random.Random(seed)
    bus = WordBus()
    pops = iter(range(1 << 20))
    bus.reads[0x3000] = lambda: next(pops)
    instrument = InstrumentLink(bus)
    transport = DirectTransport(instrument, damaging(rng, 0.3), damaging(rng, 0.3))
    link = Link(transport, "double", tries=60)
    bus.accesses.clear()
    popped, written, memory = 0, [], dict[int, int]()
    for _ in range(300):
        kind = rng.randrange(3)
        address = 0x10000 + 4 * rng.randrange(50)
        words = [rng.getrandbits(32) for _ in range(rng.randint(1, 20))]
        if kind == 0:
            link.write(address, words)
            written += [("write", address + 4 * i, word) for i, word in enumerate(words)]
            memory |= {address + 4 * i: word for i, word in enumerate(words)}
        elif kind == 1:
            assert link.read(address, len(words)) == [memory.get(address + 4 * i, 0) for i in range(len(words))]
        else:
            assert link.read(0x3000, len(words), fixed=True) == list(range(popped, popped + len(words)))
            popped += len(words)
    assert [access for access in bus.accesses if access[0] == "write"] == written
    assert link.retries > 50


def test_a_dead_line_is_one_sentence() -> None:
    instrument = InstrumentLink(WordBus())
    with pytest.raises(EngineError, match="does not answer"):
        Link(DirectTransport(instrument, damage_answer=lambda data: b""), "double", tries=2)


def test_an_echo_is_no_instrument() -> None:
    class Echo(DirectTransport):
        def write(self, data: bytes) -> None:
            self._coming += data

    with pytest.raises(EngineError, match="does not answer"):
        Link(Echo(InstrumentLink(WordBus())), "double", tries=2)


def test_something_else_is_told_from_an_instrument() -> None:
    bus = WordBus()
    bus.words[0] = 0
    with pytest.raises(EngineError, match="no keisoku instrument"):
        link_to(bus)
    bus.words |= {0: 0x4B45_4953, 4: 99}
    with pytest.raises(EngineError, match="register map 99"):
        link_to(bus)


def test_a_second_host_is_not_taken_for_a_repetition() -> None:
    bus = WordBus()
    instrument = InstrumentLink(bus)
    for value in range(3):
        Link(DirectTransport(instrument), "double").write(0x100, value)
        assert bus.words[0x100] == value


def test_a_link_over_tcp() -> None:
    instrument = InstrumentLink(WordBus())
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            while data := connection.recv(100):
                connection.sendall(instrument.feed(data))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with Link.open(f"127.0.0.1:{server.getsockname()[1]}") as link:
        link.write(0x200, range(600))
        assert link.read(0x200, 600) == list(range(600))
    thread.join(10)
    server.close()


def test_a_link_over_a_serial_line() -> None:
    pytest.importorskip("serial", reason="pyserial is not installed")
    instrument = InstrumentLink(WordBus())
    far, near = os.openpty()
    tty.setraw(near)

    def serve() -> None:
        while True:
            try:
                data = os.read(far, 100)
            except OSError:
                return
            os.write(far, instrument.feed(data))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with Link.open(f"{os.ttyname(near)}@115200") as link:
        link.write(0x200, range(600))
        assert link.read(0x200, 600) == list(range(600))
    os.close(near)
    thread.join(10)
    os.close(far)


@pytest.mark.parametrize(
    ("target", "problem"),
    [("here", "no instrument"), ("192.0.2.1:7000", "not this machine"), ("/dev/ttyUSB0@fast", "rate in baud")],
)
def test_wrong_targets_are_refused(target: str, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        open_transport(target)


def test_an_absent_line_is_one_sentence() -> None:
    with pytest.raises(EngineError, match="serial line"):
        open_transport("/dev/no-such-line")


def test_the_example_of_the_documentation() -> None:
    page = (Path(__file__).parents[4] / "docs" / "fpga-link.md").read_text()
    asked, answered = (bytes.fromhex(line) for line in page.splitlines() if line.startswith("7E "))
    assert asked == framed(request(0, 0, REGISTERS.id.address, 2))
    assert InstrumentLink(WordBus()).feed(asked) == answered
