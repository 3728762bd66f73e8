"""Latency as the difference of two stamps: its steps, and the error of its mean when all clocks are one crystal's.

That is the hardest case: without the odd tick of the time base each frame would have the same error, up to 8 ns.
A step of the simulation stands for 1/82 ns here, so that 8 ns and 320/41 ns are whole numbers of them.
"""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer
from simulate import simulate

NS = 82
CLOCK = 8 * NS
TICK = 320 * NS // 41
PERIODS = {"64 byte": 84, "1518 byte": 1538, "1 us": 125, "prime": 127}  # from frame to frame in byte times
# After so many frames the phase between frame and tick is the first one's again: more tell nothing new.
CYCLE = {name: TICK // next(d for d in range(TICK, 0, -1) if TICK % d == 0 and period * (CLOCK - TICK) % d == 0)
         for name, period in PERIODS.items()}


async def at(step):
    now = int(cocotb.utils.get_sim_time("step"))
    assert step > now
    await Timer(step - now, "step")


async def latencies(dut, start, period, delay, frames):
    """Measured latencies in ns of frames sent at clock edges and received `delay` steps later."""
    events = []
    for i in range(frames):
        events += [(start + i * period * CLOCK, dut.sent), (start + i * period * CLOCK + delay, dut.received)]
    events.sort(key=lambda event: event[0])
    found = {dut.sent: [], dut.received: []}
    stamps = {dut.sent: dut.sent_ns, dut.received: dut.received_ns}
    reads = sorted([(step, "toggle", signal) for step, signal in events]
                   + [(step + 8 * CLOCK, "read", signal) for step, signal in events], key=lambda read: read[0])
    for step, what, signal in reads:
        if step > int(cocotb.utils.get_sim_time("step")):
            await at(step)
        if what == "toggle":
            signal.value = 1 - int(signal.value)
        else:
            found[signal].append(stamps[signal].value.to_unsigned())
    return [after - before for before, after in zip(found[dut.sent], found[dut.received], strict=True)]


@cocotb.test()
async def mean_is_within_a_nanosecond(dut):
    """Delays in steps of 1 ns, four frame periods and three phases between the clocks: mean error within 0.7 ns.

    A period of which the clocks meet in few phases is worst (1 us: 8), one without a factor of 40 best.
    """
    Clock(dut.time_clk, TICK, "step").start()
    dut.sent.value, dut.received.value, dut.time_rst.value = 0, 0, 1
    await Timer(10 * TICK, "step")
    dut.time_rst.value = 0
    await Timer(10 * TICK, "step")
    means, singles, spans = [], [], {}
    for name, period in PERIODS.items():
        for phase, part in ((1, 0), (211, 29), (433, 57)):  # parts of a nanosecond to be added to the delay
            for delay_ns in range(400, 409):
                now = int(cocotb.utils.get_sim_time("step"))
                start = (now // (TICK * CLOCK) + 2) * TICK * CLOCK // NS * NS + phase
                values = await latencies(dut, start, period, delay_ns * NS + part, CYCLE[name])
                means.append(sum(values) / len(values) - delay_ns - part / NS)
                singles += [value - delay_ns - part / NS for value in values]
                await Timer(20 * CLOCK, "step")
                spans[name] = spans.get(name, [])
                spans[name].append(means[-1])
    for name, found in spans.items():
        dut._log.info("%s, %d frames: mean error %.3f..%.3f ns", name, CYCLE[name], min(found), max(found))
    # What all have in common is calibrated away.
    constant, error = (max(means) + min(means)) / 2, (max(means) - min(means)) / 2
    dut._log.info("constant %.3f ns, mean error +-%.3f ns, single %.1f..%.1f ns", constant, error, min(singles), max(singles))
    assert abs(constant) < 0.3
    assert error <= 0.7
    assert (max(spans["prime"]) - min(spans["prime"])) / 2 <= 0.3
    assert -8 < min(singles) and max(singles) < 8


def test_stamp():
    sources = ["rtl/cdc/sync_bit.sv", "rtl/time/stamp.sv", "rtl/time/time_base.sv", "tb/stamp/stamp_pair.sv"]
    simulate("stamp_pair", sources, __file__)
