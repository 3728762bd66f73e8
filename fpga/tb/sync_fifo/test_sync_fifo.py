"""The queue within one clock domain: order kept, nothing lost, full and empty as deep as it says."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from simulate import simulate


@cocotb.test()
async def keeps_order(dut):
    """Words written with pauses of chance come out once each and in order; the flags follow a model's."""
    chance = random.Random(5)
    depth = 2 ** int(dut.LOG2_DEPTH.value)
    mask = 2 ** int(dut.WIDTH.value) - 1
    Clock(dut.clk, 8, "ns").start()
    dut.rst.value, dut.in_valid.value, dut.out_ready.value = 1, 0, 0
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    model, fullest, taken = [], 0, 0
    for step in range(4000):
        eager = (step // 200) % 2
        word = chance.getrandbits(64) & mask
        put, take = chance.random() < (0.8 if eager else 0.3), chance.random() < (0.3 if eager else 0.8)
        dut.in_valid.value, dut.out_ready.value = put, take
        getattr(dut, "in").value = word
        assert dut.out_valid.value == bool(model)
        assert dut.in_ready.value == (len(model) < depth)
        if model:
            assert dut.out.value.to_unsigned() == model[0]
        room = len(model) < depth
        if take and model:
            model.pop(0)
            taken += 1
        if put and room:
            model.append(word)
        fullest = max(fullest, len(model))
        await FallingEdge(dut.clk)
    assert fullest == depth and taken > 1000


@pytest.mark.parametrize(("width", "log2_depth"), [(8, 4), (33, 1)])
def test_sync_fifo(width, log2_depth):
    simulate("sync_fifo", ["rtl/fifo/sync_fifo.sv"], __file__, {"WIDTH": width, "LOG2_DEPTH": log2_depth})
