"""Ring, bitmaps and window through the registers, on a memory that answers late and irregularly.

What the host finds must be what happened: each event once and in order, each lost number, and the count of the rest.
"""

import random
from collections import deque
from dataclasses import dataclass

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from simulate import generated_registers, simulate

WORD_BITS = 8
WORDS = 2**WORD_BITS
RECORDS = 6 * WORDS // 8 // 5
AREA_NUMBERS = WORDS // 8 * 32
LOST, DUPLICATED, FRAME, DROPPED = 0, 1, 5, 6
CONTROL, STATUS, CAPACITY, WRITTEN, TAKEN, COUNT_DROPPED, BITMAP = 0x80, 0x84, 0x8C, 0x90, 0x94, 0x98, 0xA0
WINDOW = 0x40000


@dataclass(frozen=True)
class Event:
    """What the RTL calls event_t."""

    kind: int
    time: int
    first: int
    last: int

    def bits(self) -> int:
        """As the RTL packs it."""
        return self.kind << 140 | self.time << 96 | self.first << 48 | self.last


class Bench:
    """The bus, the sources of events and the memory."""

    def __init__(self, dut, seed: int, busy: float = 0.3) -> None:
        self.dut, self.rng, self.busy = dut, random.Random(seed), busy
        self.queues: tuple[deque[Event], deque[Event]] = (deque(), deque())
        self.pause = 0.5
        self.memory = [self.rng.getrandbits(32) for _ in range(WORDS)]

    async def start(self, initialised: bool = True) -> None:
        """Resets and starts everything."""
        dut = self.dut
        for name in ("bus_req", "event_valid", "memory_ready", "memory_read_valid"):
            getattr(dut, name).value = 0
        dut.memory_initialised.value = initialised
        dut.rst.value = 1
        Clock(dut.clk, 8, unit="ns").start()
        await ClockCycles(dut.clk, 4)
        dut.rst.value = 0
        await ClockCycles(dut.clk, 4)
        cocotb.start_soon(self._clocks())

    async def _clocks(self) -> None:
        dut, rng = self.dut, self.rng
        reads: deque[tuple[int, int]] = deque()
        offered, taken = [False, False], [False, False]
        now = 0
        while True:
            await RisingEdge(dut.clk)
            now += 1
            for port in range(2):
                if taken[port]:
                    self.queues[port].popleft()
                    offered[port] = False
                if not offered[port] and self.queues[port] and rng.random() >= self.pause:
                    offered[port] = True
                    getattr(dut, f"event_{port}").value = self.queues[port][0].bits()
            dut.event_valid.value = offered[0] | offered[1] << 1
            is_ready = rng.random() >= self.busy
            dut.memory_ready.value = is_ready
            comes = bool(reads) and reads[0][0] <= now
            dut.memory_read_valid.value = comes
            dut.memory_read_word.value = self.memory[reads.popleft()[1]] if comes else rng.getrandbits(32)
            await ReadOnly()
            ready = int(dut.event_ready.value)
            taken = [offered[port] and bool(ready >> port & 1) for port in range(2)]
            if is_ready and bool(dut.memory_valid.value):
                if bool(dut.memory_write.value):
                    self.memory[int(dut.memory_address.value)] = int(dut.memory_word.value)
                else:
                    reads.append((now + rng.randint(1, 20), int(dut.memory_address.value)))

    async def _access(self, is_write: bool, address: int, value: int) -> int:
        dut = self.dut
        dut.bus_req.value, dut.bus_req_is_wr.value = 1, is_write
        dut.bus_addr.value, dut.bus_wr_data.value = address, value
        accepted = False
        for _ in range(2000):
            await ReadOnly()
            stalled = bool((dut.bus_req_stall_wr if is_write else dut.bus_req_stall_rd).value)
            accepted = accepted or not stalled
            done = accepted and bool((dut.bus_wr_ack if is_write else dut.bus_rd_ack).value)
            data = int(dut.bus_rd_data.value) if done and not is_write else 0
            await RisingEdge(dut.clk)
            if accepted:
                dut.bus_req.value = 0
            if done:
                return data
        raise AssertionError(f"no answer at {address:#x}")

    async def write(self, address: int, value: int) -> None:
        """Writes a word over the bus."""
        await self._access(True, address, value)

    async def read(self, address: int) -> int:
        """Reads a word over the bus."""
        return await self._access(False, address, 0)

    async def words(self, first: int, count: int) -> list[int]:
        """Words of the memory, by the window."""
        assert WORDS <= 1024, "one page"
        return [await self.read(WINDOW + 4 * i) for i in range(first, first + count)]

    async def settle(self) -> None:
        """Waits until all events are in the memory."""
        for _ in range(5000):
            await ClockCycles(self.dut.clk, 20)
            if not (self.queues[0] or self.queues[1]) and await self.read(STATUS) >> 2 & 1:
                return
        raise AssertionError("never idle")

    async def records(self, first: int, last: int) -> list[tuple[int, Event]]:
        """Records number `first` up to `last`, each with its port."""
        found = []
        for number in range(first, last):
            words = await self.words(number % RECORDS * 5, 5)
            bits = sum(word << 32 * (4 - i) for i, word in enumerate(words))
            assert bits >> 144 & 0xFFF == number & 0xFFF, "serial number"
            event = Event(
                bits >> 140 & 0xF, bits >> 96 & (1 << 44) - 1, bits >> 48 & (1 << 48) - 1, bits & (1 << 48) - 1
            )
            found.append((bits >> 156, event))
        return found

    async def bitmap(self, port: int) -> tuple[int, int, set[int]]:
        """From which number on and up to which the bitmap tells, and the lost numbers."""
        base = BITMAP + 16 * port
        first_high, first_low, end_high, end_low = [await self.read(base + 4 * i) for i in range(4)]
        first, end = first_high << 32 | first_low, end_high << 32 | end_low
        count = (end - (first & ~31) + 31) // 32
        words = await self.words(WORDS * (6 + port) // 8, count)
        lost = {(first & ~31) + i for i in range(32 * count) if words[i // 32] >> i % 32 & 1}
        assert all(first <= number < end for number in lost)
        return first, end, lost

    def some_event(self, kinds: tuple[int, ...] = (DUPLICATED, 2, 3, 4, FRAME)) -> Event:
        """Any event but a lost interval."""
        rng = self.rng
        return Event(rng.choice(kinds), rng.getrandbits(44), rng.getrandbits(48), rng.getrandbits(48))


def intervals(rng: random.Random, start: int, count: int, step: int, length: int) -> list[Event]:
    """Ascending lost intervals."""
    events = []
    for _ in range(count):
        start += rng.randint(1, step)
        last = start + rng.randrange(length)
        events.append(Event(LOST, rng.getrandbits(44), start, last))
        start = last + 1
    return events


def numbers(events: list[Event]) -> set[int]:
    """All numbers of the lost intervals."""
    return {number for event in events if event.kind == LOST for number in range(event.first, event.last + 1)}


@cocotb.test()
async def test_every_event_is_in_the_ring(dut) -> None:
    """While the host takes them along, over several rounds of the ring."""
    bench = Bench(dut, 1)
    bench.pause = 0.998
    await bench.start()
    assert await bench.read(CAPACITY) == RECORDS
    await bench.write(CONTROL, 1)
    sent = [[bench.some_event() for _ in range(90)] + intervals(bench.rng, 7, 15, 50, 9) for _ in range(2)]
    for port in range(2):
        bench.queues[port].extend(sent[port])
    found, taken = [], 0
    while bench.queues[0] or bench.queues[1]:
        written = await bench.read(WRITTEN)
        found += await bench.records(taken, written)
        taken = written
        await bench.write(TAKEN, taken)
    await bench.settle()
    found += await bench.records(taken, await bench.read(WRITTEN))
    assert [[event for origin, event in found if origin == port] for port in range(2)] == sent
    assert await bench.read(COUNT_DROPPED) == 0


@cocotb.test()
async def test_what_has_no_room_is_counted_and_told(dut) -> None:
    bench = Bench(dut, 2, 0.1)
    bench.pause = 0.0
    await bench.start()
    discarded = bench.some_event()
    bench.queues[0].append(discarded)
    await bench.settle()
    await bench.write(CONTROL, 1)
    sent = [bench.some_event() for _ in range(RECORDS + 25)]
    bench.queues[0].extend(sent)
    await bench.settle()
    assert await bench.read(WRITTEN) == RECORDS
    assert await bench.read(COUNT_DROPPED) == 25
    assert await bench.read(STATUS) >> 1 & 1
    assert [event for _, event in await bench.records(0, RECORDS)] == sent[:RECORDS]
    await bench.write(TAKEN, RECORDS // 2)
    more = [bench.some_event() for _ in range(3)]
    bench.queues[1].extend(more)
    await bench.settle()
    assert await bench.read(WRITTEN) == RECORDS + 4
    (_, told), *rest = await bench.records(RECORDS, RECORDS + 4)
    assert told == Event(DROPPED, sent[RECORDS].time, 0, 25)
    assert rest == [(1, event) for event in more]
    # A clear begins anew.
    await bench.write(CONTROL, 0)
    await bench.write(TAKEN, 0)
    await bench.write(CONTROL, 4)
    await ClockCycles(dut.clk, 4)  # a request over the link takes longer
    await bench.write(CONTROL, 1)
    assert [await bench.read(a) for a in (WRITTEN, COUNT_DROPPED)] == [0, 0]
    bench.queues[0].append(more[0])
    await bench.settle()
    assert await bench.records(0, 1) == [(0, more[0])]


@cocotb.test()
async def test_the_newest_replace_the_oldest(dut) -> None:
    bench = Bench(dut, 3, 0.1)
    bench.pause = 0.0
    await bench.start()
    await bench.write(CONTROL, 3)
    sent = [bench.some_event() for _ in range(3 * RECORDS + 11)]
    bench.queues[1].extend(sent)
    await bench.settle()
    written = await bench.read(WRITTEN)
    assert written == len(sent)
    assert await bench.records(written - RECORDS, written) == [(1, event) for event in sent[-RECORDS:]]


@cocotb.test()
@cocotb.parametrize(shape=[(3, 2), (40, 3), (2, 90), (400, 1)])
async def test_lost_numbers_go_to_the_bitmap_when_the_ring_fills(dut, shape) -> None:
    """Until the bitmap is full as well; every lost number is in the ring, in the bitmap, or counted."""
    step, length = shape
    bench = Bench(dut, 40 + step, 0.2)
    bench.pause = 0.2
    await bench.start()
    await bench.write(CONTROL, 1)
    count = RECORDS + 2 * AREA_NUMBERS // (step + length) + 40
    sent = [intervals(bench.rng, bench.rng.getrandbits(47), count, step, length) for _ in range(2)]
    mixed = list(sent[1])
    for _ in range(5):
        mixed.insert(bench.rng.randrange(len(mixed)), bench.some_event((DUPLICATED,)))
    bench.queues[0].extend(sent[0])
    bench.queues[1].extend(mixed)
    await bench.settle()
    records = await bench.records(0, await bench.read(WRITTEN))
    status = await bench.read(STATUS)
    dropped = 0
    for port in range(2):
        in_ring = [event for origin, event in records if origin == port and event.kind == LOST]
        in_bitmap = sent[port][len(in_ring) :]
        assert in_ring == sent[port][: len(in_ring)]
        assert status >> 4 + port & 1, "the port has turned to its bitmap"
        assert status >> 8 + port & 1, "the bitmap is full"
        first, end, lost = await bench.bitmap(port)
        assert first == in_bitmap[0].first
        assert end == (first & ~31) + AREA_NUMBERS
        assert lost == {number for number in numbers(in_bitmap) if number < end}
        dropped += sum(event.last >= end for event in in_bitmap)
    assert await bench.read(COUNT_DROPPED) == dropped


@cocotb.test()
async def test_lost_numbers_go_to_the_bitmap_when_the_memory_is_slow(dut) -> None:
    bench = Bench(dut, 5, 0.95)
    bench.pause = 0.0
    await bench.start()
    await bench.write(CONTROL, 1)
    sent = intervals(bench.rng, 5_000_000_000, 40, 3, 2)
    bench.queues[0].extend(sent)
    await bench.settle()
    assert await bench.read(STATUS) >> 4 & 3 == 1
    records = await bench.records(0, await bench.read(WRITTEN))
    assert len(records) < len(sent)
    assert [event for _, event in records] == sent[: len(records)]
    assert (await bench.bitmap(0))[2] == numbers(sent[len(records) :])


@cocotb.test()
async def test_intervals_out_of_order_or_too_far_are_counted(dut) -> None:
    bench = Bench(dut, 6, 0.0)
    bench.pause = 0.0
    await bench.start()
    await bench.write(CONTROL, 1)
    bench.queues[0].extend(bench.some_event() for _ in range(RECORDS))
    await bench.settle()
    base = (1 << 40) + 3
    told = [Event(LOST, 0, base, base), Event(LOST, 0, base + 70, base + 71)]
    bench.queues[0].extend([*told, Event(LOST, 0, base, base + 1), Event(LOST, 0, base + 80, base + 79)])
    await bench.settle()
    assert await bench.read(COUNT_DROPPED) == 2
    assert await bench.bitmap(0) == (base, base + 72, numbers(told))
    bench.queues[0].append(Event(LOST, 0, base + (1 << 46), base + (1 << 46)))
    await bench.settle()
    assert await bench.read(COUNT_DROPPED) == 3
    assert await bench.bitmap(0) == (base, (base & ~31) + AREA_NUMBERS, numbers(told))
    assert await bench.read(STATUS) >> 8 & 3 == 1


@cocotb.test()
async def test_the_window_shows_and_changes_the_memory(dut) -> None:
    bench = Bench(dut, 7)
    await bench.start()
    for _ in range(100):
        index = bench.rng.randrange(WORDS)
        if bench.rng.random() < 0.5:
            value = bench.rng.getrandbits(32)
            await bench.write(WINDOW + 4 * index, value)
            assert await bench.read(WINDOW + 4 * index) == value
        assert await bench.read(WINDOW + 4 * index) == bench.memory[index]
    dut.memory_initialised.value = 0
    assert await bench.read(WINDOW) == 0
    await bench.write(WINDOW, 1)
    assert not await bench.read(STATUS) & 1


def test_memory() -> None:
    sources = [
        "rtl/memory/memory_pkg.sv",
        *generated_registers(),
        "rtl/fifo/sync_fifo.sv",
        *(f"rtl/memory/{name}.sv" for name in ("ring", "bitmap", "window", "memory_arbiter", "event_router", "memory")),
        "tb/memory/memory_bench.sv",
    ]
    simulate(
        "memory_bench",
        sources,
        __file__,
        {"WORD_BITS": WORD_BITS},
        arguments=("-Wno-UNUSEDSIGNAL", "-Wno-PINCONNECTEMPTY", "-Wno-UNDRIVEN"),
    )
