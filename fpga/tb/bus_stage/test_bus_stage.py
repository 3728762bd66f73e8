"""Every request that the link hands over reaches the map once, in order, whatever stalls."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from simulate import simulate


@cocotb.test()
async def requests_pass_once_and_in_order(dut):
    chance = random.Random(7)
    for name in ("req", "req_is_wr", "addr", "wr_data", "map_stall_wr", "map_stall_rd"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 8, "ns").start())
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    sent, taken, offered = [], [], None
    for _ in range(3000):
        if offered is None and chance.random() < 0.6:
            offered = (chance.randrange(2), chance.randrange(1 << 20), chance.randrange(1 << 32))
            dut.req_is_wr.value, dut.addr.value, dut.wr_data.value = offered
        dut.req.value = offered is not None
        stalls = chance.random() < 0.4, chance.random() < 0.4  # read, write
        dut.map_stall_rd.value, dut.map_stall_wr.value = stalls
        await FallingEdge(dut.clk)
        if offered is not None and not int(dut.stall.value):
            sent.append(offered)
            offered = None
        is_wr = int(dut.map_req_is_wr.value)
        if int(dut.map_req.value) and not stalls[is_wr]:
            taken.append((is_wr, int(dut.map_addr.value), int(dut.map_wr_data.value)))
        await RisingEdge(dut.clk)
    assert len(taken) > 500 and sent[: len(taken)] == taken and len(sent) - len(taken) <= 1


def test_bus_stage():
    simulate("bus_stage", ["rtl/link/bus_stage.sv"], __file__)
