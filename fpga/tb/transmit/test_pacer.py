"""Starts against a model that compares times: gaps, schedule with fractions, lag, and mailbox frames in between."""

import random
from fractions import Fraction

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from simulate import simulate


@cocotb.test()
async def model(dut):
    """Random lengths, gaps, intervals and moments at which a frame gets ready; every start is the model's."""
    chance = random.Random(8)
    Clock(dut.clk, 8, "ns").start()
    for name in ("restart", "open", "busy", "frame_valid", "scheduled", "in_gap", "ending", "mailbox_valid"):
        getattr(dut, name).value = 0
    dut.ce.value, dut.rst.value, dut.mailbox_bytes.value = 1, 1, 100
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    for round_ in range(25):
        interval = Fraction(chance.randrange(2**32 * 20, 2**32 * 400), 2**32)
        whole, fraction = divmod(int(interval * 2**32), 2**32)
        dut.interval_bytes.value, dut.interval_fraction.value = whole, fraction
        dut.in_gap.value, dut.busy.value = 1, 1
        for _ in range(20):  # any old gap is over
            await FallingEdge(dut.clk)
        dut.restart.value = 1
        await FallingEdge(dut.clk)
        dut.restart.value = 0
        dut.frame_valid.value = 0
        for _ in range(4):
            await FallingEdge(dut.clk)
        dut.open.value = 1
        now, may_start, scheduled_starts, lag, number = 0, 0, 0, 0, 0
        every = chance.choice([0, 1, 1, 3])
        while number < 12:
            scheduled = every > 0 and number % every == 0
            gap, length, ready_in = chance.randrange(8, 60), chance.randrange(13, 200), chance.choice([0, 0, 0, 30])
            due = int(interval * scheduled_starts) if scheduled else may_start
            dut.scheduled.value, dut.gap_bytes.value = scheduled, gap
            ready_at = now + ready_in
            while True:
                dut.frame_valid.value = now >= ready_at
                await Timer(1, "ps")
                started = bool(dut.begin_frame.value)
                assert started == (now >= max(may_start, due, ready_at)), (round_, number, now, may_start, due)
                assert not dut.begin_mailbox.value
                await FallingEdge(dut.clk)
                now += 1
                if started:
                    break
            if scheduled or number:
                lag = max(lag, now - 1 - due)
            scheduled_starts += scheduled
            dut.frame_valid.value, dut.in_gap.value = 0, 0
            for _ in range(length):
                await FallingEdge(dut.clk)
                now += 1
            dut.ending.value = 1
            await FallingEdge(dut.clk)
            now += 1
            dut.ending.value, dut.in_gap.value = 0, 1
            may_start = now + gap - 1
            number += 1
        assert dut.lag_bytes.value == lag
        dut.open.value = dut.busy.value = 0
        for _ in range(60):
            await FallingEdge(dut.clk)


def test_pacer():
    simulate("pacer", ["rtl/transmit/pacer.sv"], __file__)
