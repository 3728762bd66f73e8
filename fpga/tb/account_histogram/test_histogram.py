"""Every latency falls into its bin of the bank counted in; swaps clear, and reads of the host disturb nothing."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from simulate import simulate

BINS = 2048


def bin_of(latency: int, origin: int, shift: int) -> int:
    return min(max((latency - origin) >> shift, 0), BINS - 1)


class Bench:
    def __init__(self, dut) -> None:
        self.dut = dut

    async def start(self) -> None:
        dut = self.dut
        for name in ("valid", "swap", "read_valid", "shift", "origin_ns"):
            getattr(dut, name).value = 0
        dut.still.value = 1
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 8000, "ps").start())
        await self.clocks(3)
        dut.rst.value = 0
        await self.idle()

    async def clocks(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)
        await Timer(1, "ps")

    async def idle(self) -> None:
        await self.clocks(2)
        if self.dut.busy.value:
            await FallingEdge(self.dut.busy)
        await Timer(1, "ps")

    async def add(self, latency: int) -> None:
        self.dut.latency_ns.value = latency % 2**48
        if not self.dut.ready.value:
            await RisingEdge(self.dut.ready)
            await Timer(1, "ps")
        self.dut.valid.value = 1
        await self.clocks(1)
        self.dut.valid.value = 0

    async def read(self, bank: int, number: int) -> int:
        self.dut.read_bin.value = bank * BINS + number
        self.dut.read_valid.value = 1
        await self.clocks(1)
        self.dut.read_valid.value = 0
        await RisingEdge(self.dut.read_done)
        await Timer(1, "ps")
        return self.dut.read_count.value.to_unsigned()


@cocotb.test()
async def counts(dut):
    """Three banks full, each with its own bins and shift, read while the next is counted."""
    rng = random.Random(5)
    bench = Bench(dut)
    await bench.start()
    before: dict[int, int] = {}
    for origin, shift in ((0, 0), (500, 3), (-300, 7), (100, 31)):
        dut.origin_ns.value = origin % 2**32
        dut.shift.value = shift
        counted: dict[int, int] = {}
        idle = 1 - int(dut.bank.value)

        async def host(before=before, idle=idle):
            for number in (*rng.sample(range(BINS), 200), 0, BINS - 1, *before):
                assert await bench.read(idle, number) == before.get(number, 0)

        reading = cocotb.start_soon(host())
        for _ in range(700):
            latency = origin + rng.choice(
                (rng.randrange(-50, 50), rng.randrange(BINS << shift), (BINS << shift) + rng.randrange(-2, 2), 2**46)
            )
            number = bin_of(latency, origin, shift)
            counted[number] = counted.get(number, 0) + 1
            await bench.add(latency)
        await reading
        assert not dut.busy.value
        dut.swap.value = 1
        await bench.clocks(1)
        dut.swap.value = 0
        # Counting goes on while the bank that comes next is cleared.
        for latency in (origin, origin, origin + (2 << shift)):
            number = bin_of(latency, origin, shift)
            counted[number] = counted.get(number, 0) + 1
            await bench.add(latency)
        await bench.idle()
        assert int(dut.bank.value) == idle
        before = counted


@cocotb.test()
async def reset(dut):
    """A reset leaves nothing in either bank."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(3):
        await bench.add(9)
    dut.rst.value = 1
    await bench.clocks(1)
    dut.rst.value = 0
    assert dut.resetting.value and not dut.ready.value
    await bench.idle()
    for bank in (0, 1):
        assert [await bench.read(bank, number) for number in (0, 9, BINS - 1)] == [0, 0, 0]


def test_histogram() -> None:
    simulate("histogram", ["rtl/account/account_pkg.sv", "rtl/account/histogram.sv"], __file__)
