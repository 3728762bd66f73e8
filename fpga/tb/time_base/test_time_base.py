"""The time base: exactly 320/41 ns a tick and its dither, across its carries, and from whatever it was set to."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from simulate import simulate
from time_model import elapsed_ns


async def started(dut):
    Clock(dut.time_clk, 7804, "ps").start()
    dut.time_rst.value, dut.set.value, dut.set_ns.value = 1, 0, 0
    for _ in range(4):
        await FallingEdge(dut.time_clk)
    dut.time_rst.value = 0


async def follow(dut, start, ticks):
    """From a moment after which `start` is shown: every value, and none but it."""
    for k in range(ticks):
        now = dut.now_ns.value.to_unsigned()
        assert now == (start + elapsed_ns(k)) % 2**48, f"tick {k}: {now}"
        await FallingEdge(dut.time_clk)


@cocotb.test()
async def counts_exactly(dut):
    """From zero, over ten thousand ticks."""
    await started(dut)
    await FallingEdge(dut.time_clk)  # the count is shown one tick after it is made
    await follow(dut, 0, 10_000)


@cocotb.test()
async def starts_where_it_is_set(dut):
    """From values of chance, near the carry between its halves and near its end."""
    await started(dut)
    chance = random.Random(11)
    starts = [chance.getrandbits(48) for _ in range(20)]
    starts += [2**24 - chance.randrange(1, 200) for _ in range(10)] + [
        2**48 - chance.randrange(1, 200) for _ in range(9)
    ]
    for start in starts:
        for _ in range(chance.randrange(3)):
            await FallingEdge(dut.time_clk)
        dut.set.value, dut.set_ns.value = 1, start
        await FallingEdge(dut.time_clk)
        dut.set.value = 0
        await FallingEdge(dut.time_clk)
        await follow(dut, start, 100)


def test_time_base():
    simulate("time_base", ["rtl/time/time_base.sv"], __file__)
