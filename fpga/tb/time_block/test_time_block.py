"""The time base behind its registers, on unrelated clocks: set, captured, marks in a queue."""

import itertools

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from simulate import generated_registers, simulate


async def started(dut):
    Clock(dut.clk, 8000, "ps").start()
    Clock(dut.time_clk, 7804, "ps").start()
    for name in ("pps", "ten_mhz", "capture", "set", "restart", "take", "choose_ten_mhz", "set_ns", "edges", "timeout"):
        getattr(dut, name).value = 0
    dut.rst.value = dut.time_rst.value = 1
    await Timer(100, "ns")
    dut.rst.value = dut.time_rst.value = 0
    await Timer(100, "ns")


async def strobe(dut, signal):
    await RisingEdge(dut.clk)
    signal.value = 1
    await RisingEdge(dut.clk)
    signal.value = 0
    await RisingEdge(dut.clk)


async def captured(dut):
    before = dut.captured.value
    await strobe(dut, dut.capture)
    shown = dut.now_ns.value.to_unsigned()
    while dut.captured.value == before:
        await RisingEdge(dut.clk)
    found = dut.captured_ns.value.to_unsigned()
    assert abs(found - shown) <= 40
    return found


@cocotb.test()
async def sets_and_captures(dut):
    """What is captured is what the count was; what is set is what it goes on from."""
    await started(dut)
    first = await captured(dut)
    await Timer(10, "us")
    assert 10_000 < await captured(dut) - first < 10_600
    for start in (0x1234_FFFF_FF00, 0xFFFF_FFFF_F000, 0):
        dut.set_ns.value = start
        await strobe(dut, dut.set)
        await Timer(10, "us")
        assert 9_900 < (await captured(dut) - start) % 2**48 < 10_400


async def pulses(signal, count, half_ns):
    for _ in range(count):
        signal.value = 1
        await Timer(half_ns, "ns")
        signal.value = 0
        await Timer(half_ns, "ns")


async def taken(dut):
    """All marks that wait, each as number, losses, ticks, time."""
    found = []
    await Timer(200, "ns")
    await RisingEdge(dut.clk)
    while dut.mark.value == 1:
        words = (dut.mark_number, dut.mark_losses, dut.mark_ticks, dut.mark_ns)
        found.append(tuple(word.value.to_unsigned() for word in words))
        await strobe(dut, dut.take)
        await RisingEdge(dut.clk)
    return found


@cocotb.test()
async def queues_marks(dut):
    """Marks wait for the host in order; those without room are missing by their numbers."""
    await started(dut)
    dut.edges.value, dut.timeout.value = 1, 1000
    await strobe(dut, dut.restart)
    await Timer(1, "us")
    await pulses(dut.pps, 20, 1000)
    marks = await taken(dut)
    assert [mark[:2] for mark in marks] == [(n, 0) for n in range(17)]
    assert all(abs(mark[2] - 256) <= 1 for mark in marks[1:])
    assert all(1990 <= b[3] - a[3] <= 2010 for a, b in itertools.pairwise(marks))
    await pulses(dut.pps, 1, 1000)
    assert [mark[:2] for mark in await taken(dut)] == [(20, 0)]
    assert dut.present.value == 1
    await Timer(10, "us")
    assert dut.present.value == 0


@cocotb.test()
async def divides_ten_mhz(dut):
    """The other input, each fifth edge."""
    await started(dut)
    dut.edges.value, dut.timeout.value, dut.choose_ten_mhz.value = 5, 40, 1
    await strobe(dut, dut.restart)
    await Timer(1, "us")
    await pulses(dut.ten_mhz, 13, 50)
    marks = await taken(dut)
    assert [mark[0] for mark in marks] == [0, 1, 2]
    assert all(abs(mark[2] - 64) <= 1 for mark in marks[1:])
    await pulses(dut.pps, 3, 50)
    assert not await taken(dut)


def test_time_block():
    sources = [generated_registers()[0], "rtl/cdc/sync_bit.sv", "rtl/cdc/sync_pulse.sv", "rtl/cdc/async_fifo.sv",
               "rtl/time/stamp.sv", "rtl/time/time_base.sv", "rtl/time/reference.sv", "rtl/time/time_block.sv",
               "tb/time_block/time_bench.sv"]  # fmt: skip
    simulate("time_bench", sources, __file__)
