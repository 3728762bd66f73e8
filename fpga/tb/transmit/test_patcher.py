"""Patches of a slot against plain arithmetic modulo 65535, for all weights and at the ends of all ranges."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge
from simulate import simulate

from keisoku.ground.fpga.program import Patch


def truth(patch, length):
    """constant + weight * length in ones' complement, of whose two zeros the patch says which."""
    remainder = (patch.constant + patch.weight * length) % 65535
    return remainder if remainder else (0 if patch.zero else 65535)


async def serve(dut, slots):
    """The patch memory: the word two clocks after its address."""
    fetched = 0
    while True:
        await FallingEdge(dut.clk)
        dut.patch.value = fetched
        address = dut.patch_address.value.to_unsigned()
        fetched = slots[address // 8][address % 8]


@cocotb.test()
async def values(dut):
    """Zero to eight patches; results in order, ended by one that is not used; six clocks each."""
    chance = random.Random(4)
    Clock(dut.clk, 8, "ns").start()
    slots = [[0] * 8 for _ in range(32)]
    dut.start.value, dut.rst.value = 0, 1
    cocotb.start_soon(serve(dut, slots))
    await ClockCycles(dut.clk, 3)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    for round_ in range(200):
        count, slot, bank = round_ % 9, chance.randrange(32), round_ & 1
        length = chance.choice([1, 60, 16383, chance.randrange(60, 16384)])
        patches = []
        for index in range(count):
            weight = chance.choice([*range(-8, 0), *range(1, 8)])
            edge = chance.choice([0, 1, 65534, -weight * length % 65535, chance.randrange(65535)])
            patches.append(Patch(4 * index + chance.randrange(3), edge, weight, chance.random() < 0.5))
        slots[slot][:] = [patch.word for patch in patches] + [0] * (8 - count)
        dut.slot.value, dut.frame_bytes.value, dut.bank.value, dut.start.value = slot, length, bank, 1
        await FallingEdge(dut.clk)
        dut.start.value = 0
        found, clocks = [], 0
        while True:
            await FallingEdge(dut.clk)
            clocks += 1
            if dut.write.value:
                word = dut.write_patched.value.to_unsigned()
                found.append((dut.write_address.value.to_unsigned(), word >> 23, word >> 16 & 0x7F, word & 0xFFFF))
            if dut.done.value:
                break
        expected = [(8 * bank + place, 1, p.offset, truth(p, length)) for place, p in enumerate(patches)]
        assert found[:count] == expected
        assert len(found) == min(8, count + 1) and all(not used for _, used, _, _ in found[count:])
        assert clocks <= 6 * count + 4


def test_patcher():
    simulate("patcher", ["rtl/transmit/transmit_pkg.sv", "rtl/transmit/patcher.sv"], __file__)
