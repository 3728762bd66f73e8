"""Arrivals, one each clock, are classified in the order of docs/signature/README.md."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from simulate import simulate

FOREIGN, OTHER, CORRUPT, OURS = range(4)
STREAM, LEAST, MOST, PLANNED = 0xBEEF, 64, 1518, 2**40 + 3


@cocotb.test()
async def classes(dut):
    rng = random.Random(11)
    expectation = 0  # the order of expectation_t, the highest first
    for value, bits in ((STREAM, 16), (LEAST, 15), (MOST, 15), (PLANNED, 48)):
        expectation = expectation << bits | value
    dut.expectation.value = expectation
    dut.arrival_valid.value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 8000, "ps").start())
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    await Timer(1, "ps")
    dut.rst.value = 0
    expected = []
    for step in range(3000):
        fcs_bad, misaligned = (rng.random() < 0.1 for _ in range(2))
        marked, sums = (rng.random() < 0.9 for _ in range(2))
        size = rng.choice((LEAST - 1, LEAST, 100, MOST, MOST + 1, 16387))
        received, sent = rng.getrandbits(48), rng.getrandbits(48)
        stream = STREAM if rng.random() < 0.8 else STREAM ^ 1 << rng.randrange(16)
        number = rng.choice((0, PLANNED - 1, PLANNED, PLANNED + 1, rng.getrandbits(40), 2**48 - 1))
        if not marked:
            kind = FOREIGN
        elif stream != STREAM:
            kind = OTHER
        elif fcs_bad or misaligned or not sums or not LEAST <= size <= MOST:
            kind = CORRUPT
        else:
            kind = OURS if number < PLANNED else FOREIGN
        bits = int(fcs_bad) << 3 | int(misaligned) << 2 | int(marked) << 1 | int(sums)
        changed, header = rng.random() < 0.5, rng.getrandbits(16)
        arrival = (changed << 16 | header) << 4 | bits
        for value, width in ((size, 15), (received, 48), (stream, 16), (number, 48), (sent, 48)):
            arrival = arrival << width | value
        valid = rng.random() < 0.8
        dut.arrival.value = arrival
        dut.arrival_valid.value = int(valid)
        numbered = (number << 48 | (received - sent) % 2**48) << 44 | received >> 4
        expected.append((kind, numbered, changed, header) if valid else None)
        await RisingEdge(dut.clk)
        await Timer(1, "ps")
        if step >= 1:
            want = expected[step - 1]
            assert bool(dut.valid.value) == (want is not None)
            if want:
                seen = (dut.kind, dut.numbered, dut.changed, dut.header)
                assert tuple(int(one.value) for one in seen) == want


def test_classify() -> None:
    simulate("classify", ["rtl/account/account_pkg.sv", "rtl/account/classify.sv"], __file__)
