"""The tracker's verdict on every arrival, and the intervals it tells, equal the reference's."""

import os
import random

import cocotb
import pytest
from account_arrivals import disordered
from account_ledger import Ledger
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from simulate import simulate

VERDICTS = ("in_order", "reordered", "duplicated", "late")


class Bench:
    """Hands the tracker arrivals one after another and notes what it tells."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.told: list[tuple[int, int, int]] = []
        self.stall = 0.0
        self.rng = random.Random(7)

    async def start(self) -> None:
        self.dut.arrival_valid.value = 0
        self.dut.verdict_ready.value = 0
        self.dut.lost_ready.value = 0
        self.dut.flush.value = 0
        self.dut.at.value = 0
        cocotb.start_soon(Clock(self.dut.clk, 8000, "ps").start())
        await self.reset()
        cocotb.start_soon(self.listen())

    async def reset(self) -> None:
        self.dut.rst.value = 1
        await self.clocks(2)
        self.dut.rst.value = 0
        await self.clocks(1)
        self.told.clear()

    async def clocks(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)
        await Timer(1, "ps")

    async def listen(self) -> None:
        while True:
            if not self.dut.lost_valid.value:
                await RisingEdge(self.dut.lost_valid)
                await Timer(1, "ps")
            if self.rng.random() < self.stall:
                await self.clocks(self.rng.randrange(1, 9))
            self.told.append(
                (
                    self.dut.lost_first.value.to_unsigned(),
                    self.dut.lost_last.value.to_unsigned(),
                    self.dut.lost_at.value.to_unsigned(),
                )
            )
            self.dut.lost_ready.value = 1
            await self.clocks(1)
            self.dut.lost_ready.value = 0

    async def arrive(self, number: int, at: int) -> tuple[str, bool]:
        self.dut.number.value = number
        self.dut.at.value = at
        self.dut.arrival_valid.value = 1
        await RisingEdge(self.dut.verdict_valid)
        await Timer(1, "ps")
        answer = VERDICTS[self.dut.verdict.value.to_unsigned()], bool(self.dut.skipped.value)
        self.dut.verdict_ready.value = 1
        await self.clocks(1)
        self.dut.verdict_ready.value = 0
        self.dut.arrival_valid.value = 0
        return answer

    async def end(self, offered: int) -> None:
        self.dut.offered.value = offered
        self.dut.flush.value = 1
        if not self.dut.flushed.value:
            await RisingEdge(self.dut.flushed)
        self.dut.flush.value = 0
        await self.clocks(20)


async def compare(bench: Bench, order: list[int], offered: int, window: int) -> None:
    """Runs one trial and checks it."""
    ledger = Ledger(window)
    first_left: dict[int, int] = {}
    for at, number in enumerate(order):
        before, known = ledger.greatest, len(ledger.told_lost)
        expected = ledger.arrive(number)
        if len(ledger.told_lost) != known:
            first_left.update({n: at for n in ledger.told_lost if n not in first_left})
        answer = await bench.arrive(number, at)
        assert answer == (expected, expected == "in_order" and number > before + 1), (at, number)
        assert bench.dut.expected.value.to_unsigned() == ledger.greatest + 1
    ledger.flush(offered)
    await bench.end(offered)
    told = [(first, last) for first, last, _ in bench.told]
    assert told == ledger.lost_intervals()
    for first, _, at in bench.told:
        assert at == first_left.get(first, max(len(order) - 1, 0)), first
    firsts = sum(verdict in ("in_order", "reordered") for verdict, _ in ledger.verdicts)
    assert sum(last - first + 1 for first, last in told) + firsts == offered
    for number in order[-3:]:
        assert (await bench.arrive(number, 0))[0] == "late"


@cocotb.test()
async def disorder(dut):
    """Losses, copies, overtaking and outages, trial after trial, with an unwilling listener in some."""
    window = 2 ** int(os.environ["LOG2_WINDOW"])
    frames = int(os.environ["FRAMES"])
    bench = Bench(dut)
    await bench.start()
    for seed in range(int(os.environ["TRIALS"])):
        rng = random.Random(seed)
        bench.stall = seed % 3 / 4
        order = disordered(rng, frames, window)
        await compare(bench, order, frames + rng.choice((0, 0, 1, window, 3 * window)), window)
        await bench.reset()


@cocotb.test()
async def corners(dut):
    """Nothing at all, only the last, exactly a window and one more, copies of the first, no loss."""
    window = 2 ** int(os.environ["LOG2_WINDOW"])
    bench = Bench(dut)
    await bench.start()
    for order, offered in (
        ([], 0),
        ([], 5),
        ([], 3 * window),
        ([0], 1),
        ([0, 0, 0], 1),
        ([window - 1], window),
        ([window], window + 1),
        ([window, 0], window + 1),
        ([window, 1, 1], window + 1),
        ([window + 1, 1, 2, 2], window + 2),
        ([0, window, 1, 0], window + 1),
        ([0, 2 * window - 1, window - 1, window], 2 * window),
        ([0, 2 * window, 2 * window + 1, 4 * window + 1, 4 * window], 4 * window + 2),
        (list(range(2 * window + 3)), 2 * window + 3),
        (list(range(0, 2 * window, 2)), 2 * window),
        ([5 * window, 10 * window, 15 * window], 20 * window),
        ([2**47, 2**48 - 2 * window], 2**48 - 2 * window + 1),
    ):
        if offered > 2**40:  # too many for sets: the intervals by hand
            for at, number in enumerate(order):
                assert await bench.arrive(number, at) == ("in_order", True)
            await bench.end(offered)
            assert [told[:2] for told in bench.told] == [(0, 2**47 - 1), (2**47 + 1, 2**48 - 2 * window - 1)]
        else:
            await compare(bench, order, offered, window)
        await bench.reset()


@pytest.mark.parametrize(
    ("log2_window", "frames", "trials"), [(3, 300, 12), (6, 1500, 4), pytest.param(12, 9000, 1, marks=pytest.mark.long)]
)
def test_tracker(log2_window: int, frames: int, trials: int) -> None:
    simulate(
        "tracker",
        ["rtl/account/account_pkg.sv", "rtl/account/tracker.sv"],
        __file__,
        {"LOG2_WINDOW": log2_window},
        environment={"LOG2_WINDOW": str(log2_window), "FRAMES": str(frames), "TRIALS": str(trials)},
    )
