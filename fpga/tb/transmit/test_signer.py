"""Signatures are those of docs/signature/vectors.json, from number, stream and stamp."""

import json
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge
from simulate import simulate

VECTORS = Path(__file__).resolve().parents[3] / "docs" / "signature" / "vectors.json"


@cocotb.test()
async def vectors(dut):
    """Each vector, in the fewest clocks that a frame leaves; and numbers count marked frames only."""
    Clock(dut.clk, 8, "ns").start()
    for name in ("restart", "begin_frame", "marked", "sfd"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    vectors = json.loads(VECTORS.read_text())["vectors"]
    assert len(vectors) > 5
    for vector in vectors:
        dut.stream.value, dut.stamp_ns.value = vector["stream"], 0x123456789ABC
        await FallingEdge(dut.clk)
        dut.begin_frame.value, dut.marked.value = 1, 1
        await FallingEdge(dut.clk)
        dut.begin_frame.value = 0
        dut.number.value = vector["sequence"]  # before it is used
        await ClockCycles(dut.clk, 8)
        await FallingEdge(dut.clk)
        dut.sfd.value = 1
        await FallingEdge(dut.clk)
        dut.sfd.value = 0
        await ClockCycles(dut.clk, 6)  # the time base's side of the stamp
        dut.stamp_ns.value = vector["sent_ns"]
        for _ in range(20):
            await FallingEdge(dut.clk)
            if dut.stamped.value:
                break
        assert dut.sent_ns.value == vector["sent_ns"]
        await ClockCycles(dut.clk, 4)
        await FallingEdge(dut.clk)
        words = b"".join(dut.words[index].value.to_unsigned().to_bytes(2, "big") for index in range(9))
        assert words.hex() == vector["bytes"]


@cocotb.test()
async def unmarked_frames_have_no_number(dut):
    """And a restart counts from 0 again."""
    Clock(dut.clk, 8, "ns").start()
    await FallingEdge(dut.clk)
    dut.restart.value = 1
    await FallingEdge(dut.clk)
    dut.restart.value = 0
    for marked, after in ((1, 1), (0, 1), (1, 2), (0, 2)):
        dut.begin_frame.value, dut.marked.value = 1, marked
        await FallingEdge(dut.clk)
        dut.begin_frame.value = 0
        await ClockCycles(dut.clk, 10)
        await FallingEdge(dut.clk)
        assert dut.next_number.value == after


def test_signer():
    simulate("signer", ["rtl/transmit/transmit_pkg.sv", "rtl/transmit/signer.sv"], __file__)
