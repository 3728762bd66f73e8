"""Count, extremes, sum and sum of squares of each bank equal Python's integers."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from simulate import simulate

LIMIT = 2**24 - 1


def figures(samples: list[int], origin: int) -> tuple[int, ...]:
    squares = sum(min(abs(sample - origin), LIMIT) ** 2 for sample in samples)
    return len(samples), min(samples), max(samples), sum(samples), squares


def signed(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


async def told(dut) -> tuple[int, ...]:
    """What the host reads of the idle bank."""
    words = []
    for word in range(11):
        dut.asked_word.value = word
        dut.asked.value = 1
        await RisingEdge(dut.clk)
        await Timer(1, "ps")
        dut.asked.value = 0
        await RisingEdge(dut.answered)
        await Timer(1, "ps")
        words.append(dut.answer.value.to_unsigned())
    count, least, most, total = (words[2 * place] | words[2 * place + 1] << 32 for place in range(4))
    squares = words[8] | words[9] << 32 | words[10] << 64
    return count, signed(least, 64), signed(most, 64), signed(total, 64), squares


@cocotb.test()
async def sums(dut):
    rng = random.Random(3)
    dut.valid.value = 0
    dut.swap.value = 0
    dut.asked.value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 8000, "ps").start())

    async def clocks(count: int) -> None:
        for _ in range(count):
            await RisingEdge(dut.clk)
        await Timer(1, "ps")

    await clocks(2)
    dut.rst.value = 0
    for origin, low, high in (
        (0, -100, 900),
        (1000, 900, 1100),
        (-5, -(2**47), 2**47),
        (2**31 - 1, 2**31, 2**32 + 5000),
        (7, 2**47 - 50, 2**47),
        (0, -(2**31), -(2**30)),
    ):
        dut.origin_ns.value = origin % 2**32
        samples = [rng.randrange(low, high) for _ in range(150)]
        for sample in samples:
            dut.latency_ns.value = sample % 2**48
            dut.valid.value = 1
            await clocks(1)
            dut.valid.value = 0
            await RisingEdge(dut.ready)
            await Timer(1, "ps")
        dut.swap.value = 1
        await clocks(1)
        dut.swap.value = 0
        assert await told(dut) == figures(samples, origin)
    dut.swap.value = 1
    await clocks(1)
    dut.swap.value = 0
    assert (await told(dut))[0] == 0


def test_latency() -> None:
    simulate("latency", ["rtl/account/account_pkg.sv", "rtl/account/latency.sv"], __file__)
