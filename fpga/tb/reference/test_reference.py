"""Marks of a reference: at each PPS or each so many edges of 10 MHz, with the frequency that they were made with.

A second is 40 us here: what is measured is a ratio.
"""

import itertools

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from simulate import simulate

SECOND_PS = 40_000_000
TICK_PS = 7804  # ns counts as if it were 320/41 ns: the clock is 112.5 ppm fast
FAST_PPM = (320_000 / 41 / TICK_PS - 1) * 1e6


class Bench:
    """The module with a time base made in Python beside it."""

    def __init__(self, dut):
        self.dut = dut
        self.marks = []

    async def start(self, edges, timeout):
        dut = self.dut
        dut.level.value, dut.time_rst.value, dut.restart.value, dut.now_ns.value = 0, 1, 0, 0
        dut.edges.value, dut.timeout.value = edges, timeout
        Clock(dut.time_clk, TICK_PS, "ps").start()
        cocotb.start_soon(self.count())
        for _ in range(4):
            await FallingEdge(dut.time_clk)
        dut.time_rst.value = 0
        await self.restart()

    async def restart(self):
        await FallingEdge(self.dut.time_clk)
        self.dut.restart.value = 1
        await FallingEdge(self.dut.time_clk)
        self.dut.restart.value = 0

    async def count(self):
        dut, ticks = self.dut, 0
        while True:
            await FallingEdge(dut.time_clk)
            ticks += 1
            dut.now_ns.value = ticks * 320 // 41
            if dut.mark.value == 1:
                self.marks.append(
                    tuple(int(word.value) for word in (dut.mark_number, dut.mark_losses, dut.mark_ticks, dut.mark_ns))
                )

    async def pulses(self, period_ps, count, high_ps):
        for _ in range(count):
            self.dut.level.value = 1
            await Timer(round(high_ps), "ps")
            self.dut.level.value = 0
            await Timer(round(period_ps) - round(high_ps), "ps")


@cocotb.test()
async def tells_the_frequency(dut):
    """The slope of the marks is the frequency of the time base against the reference."""
    ten_mhz = cocotb.plusargs.get("reference") == "10MHz"
    bench = Bench(dut)
    seconds, ppm = 24, -180.0
    edges = SECOND_PS // 100_000 if ten_mhz else 1
    await bench.start(edges, 40 if ten_mhz else 3 * SECOND_PS // 2 // TICK_PS)
    period = SECOND_PS / edges * (1 - ppm * 1e-6)  # of a reference that is slow by so much
    for i in range(seconds * edges if ten_mhz else seconds):
        await bench.pulses(round((i + 1) * period) - round(i * period), 1, 50_000 if ten_mhz else 1_000_000)
    marks = bench.marks
    assert [mark[0] for mark in marks] == list(range(seconds))
    assert {mark[1] for mark in marks} == {0}
    assert dut.present.value == 1
    for before, after in itertools.pairwise(marks):
        assert abs((after[3] - before[3]) - after[2] * 320 / 41) <= 1, "ticks and nanoseconds disagree"
    # Least squares, by hand.
    middle = (seconds - 1) / 2
    slope = sum((n - middle) * mark[3] for n, mark in enumerate(marks)) / sum((n - middle) ** 2 for n in range(seconds))
    found = (slope / (SECOND_PS / 1000) - 1) * 1e6
    dut._log.info("found %.2f ppm, true %.2f ppm", found, FAST_PPM - ppm)
    assert abs(found - (FAST_PPM - ppm)) < 6  # 2 sigma of a quantum of 7.8 ns in 24 marks over a millisecond


@cocotb.test()
async def loss_is_visible(dut):
    """A missing edge, or an end of the reference: `present` falls, and the next mark begins a series of its own."""
    bench = Bench(dut)
    await bench.start(10, 40)
    await bench.pulses(100_000, 35, 50_000)
    assert dut.present.value == 1
    assert [mark[:2] for mark in bench.marks] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    await Timer(500_000, "ps")
    assert dut.present.value == 0
    await bench.pulses(100_000, 11, 50_000)
    assert dut.present.value == 1
    assert [mark[:2] for mark in bench.marks[4:]] == [(4, 1), (5, 1)]
    bench.marks.clear()
    dut.edges.value = 0
    await bench.restart()
    await bench.pulses(100_000, 25, 50_000)
    assert not bench.marks and dut.present.value == 0, "no edges asked for: off"
    dut.edges.value = 3
    await bench.restart()
    await bench.pulses(100_000, 7, 50_000)
    assert [mark[:2] for mark in bench.marks] == [(0, 0), (1, 0), (2, 0)], "restart begins with number 0"


@cocotb.test()
async def bounce_is_one_edge(dut):
    """An edge that falls back within a tick is one edge."""
    bench = Bench(dut)
    await bench.start(1, 100_000)
    for _ in range(5):
        for high in (7, 9, 1000):
            dut.level.value = 1
            await Timer(high, "ns")
            dut.level.value = 0
            await Timer(8, "ns")
        await Timer(2000, "ns")
    assert len(bench.marks) == 5


@pytest.mark.parametrize("reference", ["PPS", "10MHz"])
def test_frequency(reference):
    simulate(
        "reference",
        ["rtl/time/reference.sv"],
        __file__,
        testcase="tells_the_frequency",
        plusargs=[f"+reference={reference}"],
    )


@pytest.mark.parametrize("testcase", ["loss_is_visible", "bounce_is_one_edge"])
def test_reference(testcase):
    simulate("reference", ["rtl/time/reference.sv"], __file__, testcase=testcase)
