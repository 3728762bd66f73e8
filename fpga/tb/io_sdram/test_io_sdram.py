"""The memory on a model of its chip: what was written is read, and the chip is used as its data sheet asks."""

import random
import subprocess
import sys
from collections import deque
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from simulate import simulate

FPGA = Path(__file__).resolve().parents[2]
SOURCES = [
    "rtl/cdc/sync_bit.sv",
    "rtl/cdc/async_fifo.sv",
    "rtl/fifo/sync_fifo.sv",
    "rtl/io/sdram.sv",
    "rtl/io/behavioural_sdram.sv",
    "build/sdram/sdram_controller.v",
    "tb/io_sdram/sdram_bench.sv",
]


async def start(dut):
    dut.valid.value = dut.write.value = dut.address.value = dut.word.value = 0
    dut.rst.value = dut.sdram_rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 8, "ns").start())
    cocotb.start_soon(Clock(dut.sdram_clk, 16, "ns").start())
    await ClockCycles(dut.clk, 20)
    dut.rst.value = dut.sdram_rst.value = 0
    for _ in range(100):
        await ClockCycles(dut.clk, 1000)
        if int(dut.initialised.value):
            return
    raise AssertionError("the chip is not initialised")


async def access(dut, accesses):
    """Carries out (write, address, word) one after another as fast as they are taken; the words that were read."""
    answers = []
    waiting = deque(accesses)
    wanted = sum(not write for write, _, _ in accesses)
    for clocks in range(1, 60 * len(accesses) + 1000):
        if waiting:
            dut.write.value, dut.address.value, dut.word.value = waiting[0]
        dut.valid.value = bool(waiting)
        await FallingEdge(dut.clk)
        taken = bool(waiting) and int(dut.ready.value)
        if int(dut.read_valid.value):
            answers.append(int(dut.read_word.value))
        await RisingEdge(dut.clk)
        if taken:
            waiting.popleft()
        if not waiting and len(answers) == wanted:
            return answers, clocks
    raise AssertionError(f"{len(waiting)} accesses were not taken, {wanted - len(answers)} not answered")


@cocotb.test()
async def what_was_written_is_read(dut):
    chance = random.Random(3)
    await start(dut)
    await ClockCycles(dut.clk, 64)
    truth = {}
    for _ in range(12):
        accesses, expected = [], []
        for _ in range(chance.randrange(1, 80)):
            if truth and chance.random() < 0.5:
                address = chance.choice(list(truth))
                accesses.append((0, address, 0))
                expected.append(truth[address])
            else:
                address = chance.randrange(1 << 21) if chance.random() < 0.5 else chance.randrange(64)
                truth[address] = chance.randrange(1 << 32)
                accesses.append((1, address, truth[address]))
        answers, _ = await access(dut, accesses)
        assert answers == expected
    assert int(dut.faults.value) == 0


@cocotb.test()
async def events_are_written_as_fast_as_they_come(dut):
    """Both ports at 64 byte and an event for each frame: 2 x 1.488 M x 5 words/s are 8.4 clocks a word."""
    await start(dut)
    words = [(1, address, address * 0x9E3779B1 & 0xFFFFFFFF) for address in range(2000)]
    _, clocks = await access(dut, words)
    assert clocks / len(words) < 4
    answers, _ = await access(dut, [(0, address, 0) for _, address, _ in words])
    assert answers == [word for _, _, word in words]
    assert int(dut.faults.value) == 0


@cocotb.test()
async def the_chip_is_refreshed(dut):
    await start(dut)
    before = int(dut.refreshes.value)
    await ClockCycles(dut.clk, 125_000)
    # 4096 in 64 ms
    assert int(dut.refreshes.value) - before >= 63
    assert int(dut.faults.value) == 0


@pytest.fixture(scope="module", autouse=True)
def controller():
    """LiteDRAM's controller in Verilog."""
    pytest.importorskip("litedram")
    subprocess.run([sys.executable, FPGA / "soc" / "sdram.py"], check=True, stdout=subprocess.DEVNULL)


def test_sdram():
    simulate("sdram_bench", SOURCES, __file__, arguments=["-Wno-fatal"])
