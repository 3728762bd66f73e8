"""link.sv against an independent model of its protocol: every answer and every access, on good and bad bytes."""

import random
import sys
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))
from simulate import simulate
from support.instrument_link import InstrumentLink, WordBus, stuffed

SOURCES = ["rtl/link/link_pkg.sv", "rtl/link/unframe.sv", "rtl/link/frame.sv", "rtl/link/link.sv"]


class Bench:
    """The bytes of both directions, and a bus with stalls, delays, errors and silence."""

    def __init__(self, dut, rng: random.Random, busy: float = 0.3) -> None:
        self.dut, self.rng, self.busy = dut, rng, busy
        self.bus = WordBus()
        self.out = bytearray()
        self.coming = bytearray()
        self.is_silent = False
        self.fails = False
        self.owed = 0

    async def start(self) -> None:
        dut = self.dut
        for name in ("in_valid", "out_ready", "bus_req_stall_wr", "bus_req_stall_rd"):
            getattr(dut, name).value = 0
        for name in ("bus_rd_ack", "bus_rd_err", "bus_rd_data", "bus_wr_ack", "bus_wr_err"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        Clock(dut.clk, 8, unit="ns").start()
        await ClockCycles(dut.clk, 4)
        dut.rst.value = 0
        cocotb.start_soon(self._bytes())
        cocotb.start_soon(self._bus())

    async def _bytes(self) -> None:
        dut, rng = self.dut, self.rng
        offered = taken = came = False
        octet = 0
        while True:
            await RisingEdge(dut.clk)
            if offered and taken:
                del self.coming[0]
                offered = False
            if came:
                self.out.append(octet)
            if not offered and self.coming and rng.random() > self.busy:
                offered = True
                getattr(dut, "in").value = self.coming[0]
            dut.in_valid.value = offered
            dut.out_ready.value = rng.random() > self.busy
            await ReadOnly()
            taken = bool(dut.in_ready.value) and offered
            came = bool(dut.out_valid.value) and bool(dut.out_ready.value)
            octet = int(dut.out.value) if came else 0

    async def _bus(self) -> None:
        dut, rng = self.dut, self.rng
        waits = accepted = held = None
        while True:
            await RisingEdge(dut.clk)
            dut.bus_rd_ack.value = 0
            dut.bus_wr_ack.value = 0
            dut.bus_rd_data.value = rng.getrandbits(32)
            if waits is not None:
                waits -= 1
            elif accepted is not None and not self.is_silent:
                waits = rng.choice((0, 0, 1, 5, 40))
            elif accepted is not None:
                self.owed += 1
            if accepted is not None:
                held = accepted
            if self.owed and not self.is_silent:
                self.owed, waits = 0, 0
            if waits == 0:
                is_write, address, value = held
                dut.bus_rd_err.value = self.fails
                dut.bus_wr_err.value = self.fails
                if is_write:
                    self.bus.write(address, value)
                    dut.bus_wr_ack.value = 1
                else:
                    dut.bus_rd_data.value = self.bus.read(address)
                    dut.bus_rd_ack.value = 1
                waits = None
            stall = rng.random() < self.busy
            dut.bus_req_stall_rd.value = stall
            dut.bus_req_stall_wr.value = stall
            await ReadOnly()
            accepted = None
            if bool(dut.bus_req.value) and not stall:
                accepted = (bool(dut.bus_req_is_wr.value), int(dut.bus_addr.value), int(dut.bus_wr_data.value))

    async def exchange(self, data: bytes, expected: bytes) -> None:
        """Sends bytes and waits for the answers; a little longer, lest there be more of them."""
        self.out.clear()
        self.coming += data
        for _ in range(50_000):
            await ClockCycles(self.dut.clk, 8)
            if not self.coming and len(self.out) >= len(expected):
                break
        await ClockCycles(self.dut.clk, 40)
        assert bytes(self.out) == expected, f"{bytes(self.out).hex()} is not {expected.hex()}"


def octets(sequence: int, opcode: int, address: int, words: int, payload: list[int] | None = None) -> bytes:
    header = bytes([sequence, opcode, words - 1]) + address.to_bytes(3, "big")
    return header + b"".join(word.to_bytes(4, "big") for word in payload or [])


def random_request(rng: random.Random, sequence: int) -> bytes:
    words = rng.choice((1, 2, 3, 17)) if rng.random() < 0.97 else 256
    opcode = rng.randrange(4)
    address = 4 * rng.randrange(1 << 18)
    payload = [rng.choice((rng.getrandbits(32), 0x7E7D7E7D, 0)) for _ in range(words)] if opcode & 1 else []
    return octets(sequence, opcode, address, words, payload)


@cocotb.test()
async def test_every_answer_is_the_models(dut) -> None:
    rng = random.Random(int(cocotb.RANDOM_SEED))
    bench = Bench(dut, rng)
    await bench.start()
    model = InstrumentLink(WordBus())
    bench.bus.words.clear()
    model.bus.words.clear()
    sequence = 0
    for _ in range(150):
        frame = stuffed(random_request(rng, sequence))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            await bench.exchange(frame, model.feed(frame))
        sequence = sequence % 255 + 1
    assert bench.bus.accesses == model.bus.accesses


@cocotb.test()
async def test_nonsense_is_refused(dut) -> None:
    rng = random.Random(2)
    bench = Bench(dut, rng, 0.0)
    await bench.start()
    model = InstrumentLink(WordBus())
    for body in (
        octets(1, 4, 0x0, 1),
        octets(2, 0x80, 0x0, 1),
        octets(3, 0, 0x2, 1),
        octets(4, 0, 0x10_0000, 1),
        octets(5, 0, 0x0, 1, [1]),
        octets(6, 1, 0x0, 2, [1]),
        octets(7, 1, 0x0, 1, [1, 2]),
        octets(8, 1, 0x0, 1)[:-1] + b"\0\0\0",
        octets(9, 1, 0x0, 256, [1] * 257),
        octets(10, 1, 0x0, 256, [1] * 800),
        octets(11, 1, 0x0, 256, [1] * 255),
    ):
        await bench.exchange(stuffed(body), model.feed(stuffed(body)))
    assert not bench.bus.accesses
    good = stuffed(octets(12, 1, 0x40, 1, [5]))
    await bench.exchange(good, model.feed(good))


@cocotb.test()
async def test_damage_is_never_carried_out(dut) -> None:
    """Garbage, cuts, flipped bits, merged and split requests: the accesses are those of the model, which checks all."""
    rng = random.Random(int(cocotb.RANDOM_SEED) + 1)
    bench = Bench(dut, rng, 0.0)
    await bench.start()
    model = InstrumentLink(WordBus())
    bench.bus.words.clear()
    model.bus.words.clear()
    sequence = 1
    for _ in range(150):
        data = bytearray()
        for _ in range(rng.randint(1, 3)):
            frame = bytearray(stuffed(random_request(rng, sequence)))
            sequence = sequence % 255 + 1
            damage = rng.randrange(6)
            if damage == 0:
                data += rng.randbytes(rng.randrange(60))
            elif damage == 1:
                del frame[rng.randrange(len(frame)) :]
            elif damage == 2:
                del frame[: rng.randrange(len(frame))]
            elif damage == 3:
                for _ in range(rng.randint(1, 4)):
                    frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
            elif damage == 4:
                del frame[rng.randrange(len(frame))]
            data += frame
        if rng.random() < 0.2:
            data += b"\x7d"
        await bench.exchange(bytes(data), model.feed(bytes(data)))
    assert bench.bus.accesses == model.bus.accesses
    frame = b"\x7e" + stuffed(octets(0, 0, 0x0, 3))
    await bench.exchange(frame, model.feed(frame))


@cocotb.test()
async def test_errors_and_silence_of_blocks_are_told(dut) -> None:
    rng = random.Random(4)
    bench = Bench(dut, rng, 0.0)
    await bench.start()
    bench.bus.words.clear()
    bench.fails = True
    await bench.exchange(stuffed(octets(1, 0, 0x40, 5)), stuffed(bytes([1, 0x80, 2, 4])))
    bench.fails = False
    bench.is_silent = True
    await bench.exchange(stuffed(octets(2, 0, 0x40, 5)), stuffed(bytes([2, 0x80, 3, 4])))
    # While the block owes an answer nothing else is begun: its late answer would be taken for another's.
    await bench.exchange(stuffed(octets(3, 1, 0x44, 1, [9])), stuffed(bytes([3, 0x81, 3, 0])))
    bench.is_silent = False
    await ClockCycles(dut.clk, 20)
    await bench.exchange(stuffed(octets(4, 1, 0x44, 1, [9])), stuffed(bytes([4, 0x81, 0, 0])))
    await bench.exchange(stuffed(octets(5, 0, 0x44, 1)), stuffed(bytes([5, 0x80, 0, 0, 0, 0, 0, 9])))


def test_link() -> None:
    simulate("link", SOURCES, __file__, seed=7)
