"""Pulses from clock to clock: as many arrive as were sent, each one clock long."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from simulate import simulate


@cocotb.test()
async def counts_agree(dut):
    chance = random.Random(3)
    for from_ps, to_ps in [(8000, 7804), (8000, 40_000), (40_000, 8000)]:
        clocks = [Clock(dut.from_clk, from_ps, "ps"), Clock(dut.to_clk, to_ps, "ps")]
        for clock in clocks:
            clock.start()
        dut.from_rst.value = dut.to_rst.value = 1
        getattr(dut, "from").value = 0
        await Timer(500, "ns")
        dut.from_rst.value = dut.to_rst.value = 0
        await Timer(500, "ns")
        arrived = 0

        async def count():
            nonlocal arrived
            while True:
                await FallingEdge(dut.to_clk)
                arrived += int(dut.to.value)

        counter = cocotb.start_soon(count())
        for _ in range(200):
            await FallingEdge(dut.from_clk)
            getattr(dut, "from").value = 1
            await FallingEdge(dut.from_clk)
            getattr(dut, "from").value = 0
            await Timer(4 * to_ps + chance.randrange(2 * to_ps), "ps")
        await Timer(500, "ns")
        assert arrived == 200
        counter.cancel()
        for clock in clocks:
            clock.stop()


def test_sync_pulse():
    simulate("sync_pulse", ["rtl/cdc/sync_bit.sv", "rtl/cdc/sync_pulse.sv"], __file__)
