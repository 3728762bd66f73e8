"""The accounting of a port at the wire's highest rates: all that it counts and tells equals the reference's."""

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import cocotb
import pytest
from account_arrivals import disordered
from account_ledger import Ledger
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from simulate import simulate

SOURCES = [
    "rtl/account/account_pkg.sv",
    *(
        f"rtl/account/{name}.sv"
        for name in (
            "classify",
            "tracker_queue",
            "tracker",
            "histogram",
            "latency",
            "sampling",
            "counts",
            "events",
            "account",
        )
    ),
]
KINDS = ("lost", "duplicated", "reordered", "late", "corrupt", "frame", "dropped", "changed")
COUNTS = ("received", "first", "duplicated", "reordered", "late", "untracked", "corrupt", "foreign", "other", "lost")
COUNTS += ("dropped",)
CLOCK_NS = 8
STREAM, LEAST, MOST = 0x1234, 64, 1518
BINS = 2048


def pack(*fields: tuple[int, int]) -> int:
    word = 0
    for value, bits in fields:
        word = word << bits | value % 2**bits
    return word


@dataclass
class Settings:
    """Of a trial; the fields of config_t that the tests change."""

    planned: int
    origin_ns: int = 400
    shift: int = 1
    sample_every: int = 0
    on_skip: bool = False
    on_latency: bool = False
    above_ns: int = 0
    trigger_frames: int = 0

    def packed(self) -> int:
        return pack(
            (STREAM, 16),
            (LEAST, 15),
            (MOST, 15),
            (self.planned, 48),
            (self.origin_ns, 32),
            (self.shift, 5),
            (self.sample_every, 32),
            (self.on_skip, 1),
            (self.on_latency, 1),
            (self.above_ns, 32),
            (self.trigger_frames, 32),
        )


@dataclass
class Arrival:
    """What the wire brings: `kind` says what the design should make of it."""

    kind: str
    number: int
    latency_ns: int = 800
    header: int = 0x5AA5
    """Its digest."""
    changed: bool = False


@dataclass
class Expected:
    """What a trial should have told."""

    settings: Settings
    ledger: Ledger
    counts: Counter = field(default_factory=Counter)
    events: dict[str, list[tuple[int, int, int]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    latencies: list[int] = field(default_factory=list)
    judged: int = 0
    left: int = 0
    triggered: bool = False

    def arrive(self, arrival: Arrival, time: int) -> None:
        self.counts["received"] += 1
        number = arrival.number
        seen = arrival.header << 32 | arrival.latency_ns % 2**32
        if arrival.kind != "ours":
            self.counts[arrival.kind] += 1
            if arrival.kind == "corrupt":
                self.events["corrupt"].append((time, number, seen))
            return
        if arrival.changed:
            self.events["changed"].append((time, number, seen))
        skipped = number > self.ledger.greatest + 1
        verdict = self.ledger.arrive(number)
        if verdict in ("in_order", "reordered"):
            self.counts["first"] += 1
            self.latencies.append(arrival.latency_ns)
        if verdict != "in_order":
            self.counts[verdict] += 1
            self.events[verdict].append((time, number, number))
        settings = self.settings
        tell = self.left > 0 or (settings.sample_every and self.judged % settings.sample_every == 0)
        self.left -= self.left > 0
        self.judged += 1
        above = settings.on_latency and arrival.latency_ns > settings.above_ns
        if not self.triggered and (above or (settings.on_skip and skipped and verdict == "in_order")):
            self.triggered, tell, self.left = True, True, settings.trigger_frames - 1
        if tell:
            self.events["frame"].append((time, number, arrival.latency_ns % 2**48))


class Bench:
    """The wire before the design and the memory behind it."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.rng = random.Random(99)
        self.told: dict[str, list[tuple[int, int, int]]] = {}
        self.now_ns = 2**48 - 5_000_000  # wraps soon
        self.interval = int(os.environ.get("INTERVAL", "68"))

    async def start(self) -> None:
        dut = self.dut
        for name in (
            "reset",
            "swap",
            "flush",
            "offered",
            "read_valid",
            "read_bin",
            "arrival_valid",
            "configuration",
            "count_asked",
            "latency_asked",
        ):
            getattr(dut, name).value = 0
        dut.told_ready.value = 1
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, CLOCK_NS, "ns").start())
        await self.clocks(4)
        dut.rst.value = 0
        cocotb.start_soon(self.listen())
        await self.idle()

    async def clocks(self, count: int) -> None:
        """`count` rising edges and a moment more."""
        if count > 1:
            await Timer((count - 1) * CLOCK_NS, "ns")
        await RisingEdge(self.dut.clk)
        await Timer(1, "ps")

    async def idle(self) -> None:
        await self.clocks(3)
        if self.dut.busy.value:
            await FallingEdge(self.dut.busy)
            await Timer(1, "ps")

    async def pulse(self, name: str) -> None:
        await self.clocks(1)
        getattr(self.dut, name).value = 1
        await self.clocks(1)
        getattr(self.dut, name).value = 0

    async def listen(self) -> None:
        while True:
            if not self.dut.told_valid.value:
                await RisingEdge(self.dut.told_valid)
            # In the middle of the clock, when all that the next edge will take is there.
            await FallingEdge(self.dut.clk)
            if self.dut.told_valid.value and self.dut.told_ready.value:
                word = self.dut.told.value.to_unsigned()
                kind = KINDS[word >> 140]
                self.told[kind].append((word >> 96 & (2**44 - 1), word >> 48 & (2**48 - 1), word & (2**48 - 1)))

    async def begin(self, settings: Settings) -> None:
        self.dut.configuration.value = settings.packed()
        await self.pulse("reset")
        await self.idle()
        self.told = {kind: [] for kind in KINDS}

    async def arrive(self, arrival: Arrival) -> int:
        """Brings one frame and waits until the next may come; returns the time as events tell it."""
        self.now_ns = (self.now_ns + self.interval * CLOCK_NS) % 2**48
        good = {"fcs_bad": 0, "misaligned": 0, "marked": 1, "sums": 1, "bytes": 64, "stream": STREAM}
        if arrival.kind == "foreign":
            good["marked"] = 0
        elif arrival.kind == "other":
            good["stream"] ^= 1 << self.rng.randrange(16)
        elif arrival.kind == "corrupt":
            good.update(self.rng.choice(({"fcs_bad": 1}, {"sums": 0}, {"bytes": LEAST - 1}, {"bytes": MOST + 1})))
        self.dut.arrival.value = pack(
            (arrival.changed, 1),
            (arrival.header, 16),
            (good["fcs_bad"], 1),
            (good["misaligned"], 1),
            (good["marked"], 1),
            (good["sums"], 1),
            (good["bytes"], 15),
            (self.now_ns, 48),
            (good["stream"], 16),
            (arrival.number, 48),
            (self.now_ns - arrival.latency_ns, 48),
        )
        self.dut.arrival_valid.value = 1
        await self.clocks(1)
        self.dut.arrival_valid.value = 0
        await self.clocks(self.interval - 1)
        return self.now_ns >> 4

    async def end(self, offered: int) -> None:
        self.dut.offered.value = offered
        await self.pulse("flush")
        if not self.dut.finished.value:
            await RisingEdge(self.dut.finished)
        await self.clocks(200)
        assert self.dut.settled.value

    async def counted(self) -> dict[str, int]:
        """Word for word, as the host reads them."""
        counts = {}
        for place, name in enumerate(COUNTS):
            low, high = [await self.answer("count", word) for word in (2 * place, 2 * place + 1)]
            counts[name] = low | high << 32
        return counts

    async def answer(self, kind: str, word: int) -> int:
        """A word of the counts or of the latencies, as the host reads it."""
        asked, answered = getattr(self.dut, f"{kind}_asked"), getattr(self.dut, f"{kind}_answered")
        getattr(self.dut, f"{kind}_word").value = word
        asked.value = 1
        await self.clocks(1)
        asked.value = 0
        await RisingEdge(answered)
        await Timer(1, "ps")
        return getattr(self.dut, f"{kind}_answer").value.to_unsigned()

    async def histogram(self, bank: int) -> dict[int, int]:
        counts = {}
        for number in range(BINS):
            self.dut.read_bin.value = bank * BINS + number
            self.dut.read_valid.value = 1
            await self.clocks(1)
            self.dut.read_valid.value = 0
            await RisingEdge(self.dut.read_done)
            await Timer(1, "ps")
            if count := self.dut.read_count.value.to_unsigned():
                counts[number] = count
        return counts

    async def swapped(self) -> tuple[dict[int, int], tuple[int, ...]]:
        """The histogram and latencies counted till now."""
        bank = int(self.dut.bank.value)
        await self.pulse("swap")
        await self.idle()
        assert int(self.dut.bank.value) == 1 - bank
        words = [await self.answer("latency", word) for word in range(11)]
        count, least, most, total = (words[2 * place] | words[2 * place + 1] << 32 for place in range(4))
        figures = count, least % 2**48, most % 2**48, total, words[8] | words[9] << 32 | words[10] << 64
        return await self.histogram(bank), figures


def binned(latencies: list[int], settings: Settings) -> Counter:
    return Counter(min(max((x - settings.origin_ns) >> settings.shift, 0), BINS - 1) for x in latencies)


def figures(latencies: list[int], origin: int) -> tuple[int, ...]:
    squares = sum(min(abs(x - origin), 2**24 - 1) ** 2 for x in latencies)
    return len(latencies), min(latencies) % 2**48, max(latencies) % 2**48, sum(latencies) % 2**64, squares


def arrivals(rng: random.Random, order: list[int], frames: int) -> list[Arrival]:
    """`order` with other frames among them; some numbers come only corrupt, some also."""
    mixed = []
    for number in order:
        roll = rng.random()
        if roll < 0.02:
            mixed.append(Arrival("foreign", rng.getrandbits(48)))
        elif roll < 0.04:
            mixed.append(Arrival("other", rng.randrange(frames)))
        elif roll < 0.08:
            mixed.append(Arrival("corrupt", number))
            if roll < 0.06:
                continue
        latency = int(rng.gauss(900, 200)) if rng.random() < 0.98 else rng.choice((-8, 10**6, 2**24 + 400, 2**33))
        changed = rng.random() < 0.1
        mixed.append(Arrival("ours", number, latency, rng.getrandbits(16), changed))
    return mixed


async def check(bench: Bench, expected: Expected, offered: int) -> None:
    """All that was counted and told, and the equalities of docs/signature."""
    counted = await bench.counted()
    for name in ("received", "first", "duplicated", "reordered", "late", "corrupt", "foreign", "other"):
        assert counted[name] == expected.counts[name], name
    assert counted["untracked"] == 0
    assert counted["received"] == sum(
        counted[name] for name in ("first", "duplicated", "late", "corrupt", "foreign", "other")
    )
    assert counted["first"] + counted["lost"] == offered
    for kind in ("duplicated", "reordered", "late", "corrupt", "frame", "changed"):
        assert bench.told[kind] == expected.events[kind], kind
    intervals = [(first, last) for _, first, last in bench.told["lost"]]
    assert intervals == expected.ledger.lost_intervals()
    assert all(before[1] + 1 < after[0] for before, after in pairwise(intervals))
    assert counted["lost"] == sum(last - first + 1 for first, last in intervals)
    assert not bench.told["dropped"] and counted["dropped"] == 0


@cocotb.test()
async def disorder(dut):
    """Everything that can happen to a stream, frames as close as the wire brings them."""
    window = 2 ** int(os.environ["LOG2_WINDOW"])
    frames = int(os.environ["FRAMES"])
    bench = Bench(dut)
    await bench.start()
    for seed, settings in (
        (1, Settings(frames, sample_every=7)),
        (2, Settings(frames, origin_ns=-100, shift=0, on_skip=True, trigger_frames=50)),
        (3, Settings(frames, shift=5, on_latency=True, above_ns=100_000, trigger_frames=1, sample_every=100)),
    ):
        rng = random.Random(seed)
        await bench.begin(settings)
        expected = Expected(settings, Ledger(window))
        for arrival in arrivals(rng, disordered(rng, frames, window), frames):
            expected.arrive(arrival, await bench.arrive(arrival))
        if rng.random() < 0.7:  # a number that was never sent
            await bench.arrive(Arrival("ours", frames + rng.randrange(3 * window)))
            expected.counts.update(("received", "foreign"))
        expected.ledger.flush(frames)
        await bench.end(frames)
        await check(bench, expected, frames)
        assert bool(dut.triggered.value) == expected.triggered
        counts, sums = await bench.swapped()
        assert counts == binned(expected.latencies, settings)
        assert sums == figures(expected.latencies, settings.origin_ns)


@cocotb.test()
async def banks(dut):
    """Swaps while frames come: each is in one bank, with all that belongs to it."""
    bench = Bench(dut)
    await bench.start()
    rng = random.Random(4)
    settings = Settings(10_000)
    await bench.begin(settings)
    total: Counter = Counter()
    count, latency_sum = 0, 0
    latencies = [rng.randrange(400, 4000) for _ in range(1200)]

    async def send() -> None:
        for number, latency in enumerate(latencies):
            await bench.arrive(Arrival("ours", number, latency))

    sending = cocotb.start_soon(send())
    for _ in range(3):
        counts, sums = await bench.swapped()
        assert sum(counts.values()) == sums[0] > 0
        total.update(counts)
        count += sums[0]
        latency_sum += sums[3]
    await sending
    await bench.clocks(100)
    counts, sums = await bench.swapped()
    total.update(counts)
    assert total == binned(latencies, settings)
    assert (count + sums[0], latency_sum + sums[3]) == (len(latencies), sum(latencies))


@cocotb.test()
async def nobody_listens(dut):
    """Without room for events every frame is still counted, and what was not told is told in number."""
    frames = 1500
    bench = Bench(dut)
    await bench.start()
    settings = Settings(frames)
    await bench.begin(settings)
    dut.told_ready.value = 0
    expected = Expected(settings, Ledger(2 ** int(os.environ["LOG2_WINDOW"])))
    for number in range(0, frames, 2):
        for _ in range(1 + number % 3):
            arrival = Arrival("ours", number)
            expected.arrive(arrival, await bench.arrive(arrival))
    dut.offered.value = frames
    await bench.pulse("flush")
    await bench.clocks(5000)
    dut.told_ready.value = 1
    await bench.end(frames)
    counted = await bench.counted()
    assert counted["first"] == expected.counts["first"]
    assert counted["duplicated"] == expected.counts["duplicated"]
    assert counted["first"] + counted["lost"] == frames
    happened = counted["duplicated"] + frames // 2
    told = len(bench.told["lost"]) + len(bench.told["duplicated"])
    assert told + sum(last for _, _, last in bench.told["dropped"]) == happened
    assert counted["dropped"] == happened - told > 0


@cocotb.test()
async def overrun(dut):
    """Jumps that no sender can make fill the queue: what does not fit is counted, and nothing else changes."""
    window = 2 ** int(os.environ["LOG2_WINDOW"])
    bench = Bench(dut)
    await bench.start()
    frames = 700 if window > 1000 else 0
    offered = (frames + 1) * 2 * window
    await bench.begin(Settings(offered))
    for place in range(frames):
        await bench.arrive(Arrival("ours", place * 2 * window))
    await bench.end(offered)
    counted = await bench.counted()
    assert counted["received"] == frames == counted["first"] + counted["untracked"]
    assert counted["first"] + counted["lost"] == offered
    assert bool(counted["untracked"]) == bool(frames)


@pytest.mark.parametrize(
    ("interval", "log2_window", "frames"), [pytest.param(68, 12, 15_000, marks=pytest.mark.long), (84, 7, 3000)]
)
def test_account(interval: int, log2_window: int, frames: int) -> None:
    simulate(
        "account",
        SOURCES,
        __file__,
        {"LOG2_WINDOW": log2_window},
        environment={"INTERVAL": str(interval), "LOG2_WINDOW": str(log2_window), "FRAMES": str(frames)},
    )
