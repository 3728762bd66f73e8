"""Latency as the difference of two stamps: its steps, and the error of its mean when all clocks are one crystal's.

That is the hardest case: without the odd tick of the time base each frame would have the same error, up to 8 ns.
"""

import random
from fractions import Fraction

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import Timer
from cocotb.utils import get_sim_time
from simulate import simulate
from time_model import CLOCK_NS, TICK_NS, elapsed_ns, mean_resolution_ns, stamp_ns

NS = 82  # steps of the simulation, so that 8 ns and 320/41 ns are whole numbers of them
PERIODS = {"64 byte": 84, "1518 byte": 1538, "1 us": 125}  # frame to frame in byte times


@cocotb.test()
async def stamps_are_the_model_s(dut):
    """Frames sent at clock edges and received later by chance: each stamp is that of the integers."""
    tick, clock, chance = int(TICK_NS * NS), CLOCK_NS * NS, random.Random(2)
    dut.sent.value, dut.received.value, dut.time_rst.value = 0, 0, 1
    Clock(dut.time_clk, tick, "step").start()
    await Timer(10 * tick + 1, "step")
    dut.time_rst.value = 0
    first = None
    sent_at, late = 20 * tick // clock * clock + 3, set()
    for _ in range(1500):
        delay = chance.randrange(400 * NS, 430 * NS)
        for signal, shown, at in ((dut.sent, dut.sent_ns, sent_at), (dut.received, dut.received_ns, sent_at + delay)):
            await Timer(at - get_sim_time("step"), "step")
            if first is None:  # an edge lies at a multiple of a tick; this one shows so many ticks
                now = dut.now_ns.value.to_unsigned()
                shows = next(k for k in range(100) if elapsed_ns(k) == now)
                first = Fraction(at // tick * tick - shows * tick, NS)
            signal.value = 1 - int(signal.value)
            await Timer(8 * clock, "step")
            found = shown.value.to_unsigned()
            late |= {n for n in range(6) if stamp_ns(Fraction(at, NS), first, n) == found} ^ late if not late else set()
            late &= {n for n in range(6) if stamp_ns(Fraction(at, NS), first, n) == found}
            assert late, "the stamp is not a whole number of ticks after its event"
        sent_at += 84 * clock
    assert late == {2}


def test_stamp():
    sources = ["rtl/cdc/sync_bit.sv", "rtl/time/stamp.sv", "rtl/time/time_base.sv", "tb/stamp/stamp_pair.sv"]
    simulate("stamp_pair", sources, __file__, testcase="stamps_are_the_model_s")


# Where in a tick the first frame is sent, and a part of a nanosecond to be added to each delay.
PHASES = [(Fraction(0), Fraction(0)), (Fraction(7, 3), Fraction(1, 3)), (Fraction(26, 5), Fraction(4, 5))]


def errors_ns(period, phase, part, frames=1640):
    """Errors of the mean latency for delays in steps of 1 ns; asserts that no single frame is off by more than a step.

    `period` is in byte times; a start is at a whole one.
    """
    sent = [phase + int(i * period) * CLOCK_NS for i in range(frames)]
    sent_ns = [stamp_ns(time) for time in sent]
    errors = []
    for delay in (delay_ns + part for delay_ns in range(1000, 1009)):
        found = [stamp_ns(time + delay) - stamp for time, stamp in zip(sent, sent_ns, strict=True)]
        assert all(abs(latency - delay) < TICK_NS + 1 for latency in found)
        errors.append(sum(found) / frames - delay)
    return errors


@pytest.mark.parametrize("name", PERIODS)
def test_mean_is_within_a_nanosecond(name):
    """Delays in steps of 1 ns: less a constant the mean is within 0.7 ns."""
    every = []
    for phase, part in PHASES:
        errors = errors_ns(PERIODS[name], phase, part)
        assert (max(errors) - min(errors)) / 2 < 0.7
        every += errors
    # From start to start the constant moves by less than what lies between two phases in which the clocks meet.
    bound = mean_resolution_ns(Fraction(PERIODS[name]))
    print(f"{name}: mean error {float(min(every)):.3f}..{float(max(every)):.3f} ns, bound {bound:.3f} ns")
    assert max(map(abs, every)) < bound


@pytest.mark.parametrize("period", [1300, 1280])
def test_slip_finds_all_phases(period):
    """At periods of which the clocks meet in two phases or one the mean is off by nanoseconds, but not with a slip."""
    worst = max(abs(error) for phase, part in PHASES for error in errors_ns(period, phase, part))
    assert 1 < worst < mean_resolution_ns(Fraction(period))
    slipped = Fraction(period) + Fraction(1, 41)  # 19 ppm slower: less than crystals differ by
    worst = max(abs(error) for phase, part in PHASES for error in errors_ns(slipped, phase, part))
    print(f"{period}: slipped {float(worst):.3f} ns")
    assert worst < 0.3
