"""The queue between two clocks: whatever their ratio, words come out once each and in order."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer, with_timeout
from simulate import simulate

WORDS = 1500


@cocotb.test()
async def keeps_order(dut):
    """Clocks of many ratios, pauses of chance on both sides."""
    chance = random.Random(7)
    mask = 2 ** int(dut.WIDTH.value) - 1
    word_in = getattr(dut, "in")
    for in_ps, out_ps in [(8000, 7804), (7804, 8000), (8000, 8002), (8000, 40_000), (40_000, 8000), (8000, 8000)]:
        clocks = [Clock(dut.in_clk, in_ps, "ps"), Clock(dut.out_clk, out_ps, "ps")]
        clocks[0].start()
        await Timer(chance.randrange(1, 8000), "ps")
        clocks[1].start()
        dut.in_rst.value = dut.out_rst.value = 1
        dut.in_valid.value = dut.out_ready.value = 0
        await Timer(10 * max(in_ps, out_ps), "ps")
        dut.in_rst.value = dut.out_rst.value = 0
        await Timer(10 * max(in_ps, out_ps), "ps")
        sent = [chance.getrandbits(64) & mask for _ in range(WORDS)]
        got = []

        async def put(words=sent):
            for word in words:
                await FallingEdge(dut.in_clk)
                while chance.random() < 0.3:
                    await FallingEdge(dut.in_clk)
                dut.in_valid.value, word_in.value = 1, word
                while dut.in_ready.value == 0:
                    await FallingEdge(dut.in_clk)
                await FallingEdge(dut.in_clk)
                dut.in_valid.value = 0

        async def take(got=got):
            while len(got) < WORDS:
                await FallingEdge(dut.out_clk)
                ready = chance.random() < 0.7
                if dut.out_valid.value == 1 and ready:
                    got.append(dut.out.value.to_unsigned())
                dut.out_ready.value = int(ready)

        writer = cocotb.start_soon(put())
        await with_timeout(take(), 2, "ms")
        await writer
        assert got == sent
        for clock in clocks:
            clock.stop()


@pytest.mark.parametrize(("width", "log2_depth"), [(8, 2), (40, 4)])
def test_async_fifo(width, log2_depth):
    sources = ["rtl/cdc/sync_bit.sv", "rtl/cdc/async_fifo.sv"]
    simulate("async_fifo", sources, __file__, {"WIDTH": width, "LOG2_DEPTH": log2_depth})
