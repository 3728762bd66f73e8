"""The generator of a port as a whole, against keisoku's own frames: bytes, gaps, rates, stamps, defects, mailbox."""

import random
from fractions import Fraction
from itertools import pairwise

import cocotb
import transmit_expected as expected
from cocotb.triggers import ClockCycles
from simulate import simulate
from transmit_host import CLK_PS, NS_PER_PS, PREAMBLE, Host

from keisoku.ground.fpga.program import PlannedFrame, encode, interval, mailbox

SOURCES = [
    "rtl/transmit/transmit_pkg.sv",
    "rtl/cdc/sync_bit.sv",
    "rtl/time/stamp.sv",
    "rtl/transmit/table_ram.sv",
    "rtl/transmit/start_gate.sv",
    "rtl/transmit/patcher.sv",
    "rtl/transmit/scheduler.sv",
    "rtl/transmit/pacer.sv",
    "rtl/transmit/framer.sv",
    "rtl/transmit/signer.sv",
    "rtl/transmit/frame_source.sv",
    "rtl/transmit/sent_counts.sv",
    "rtl/transmit/generator.sv",
    "tb/transmit/bench.sv",
]
STREAM = 0xA55A


def plan(stack, size, gap=12, **more):
    return PlannedFrame(expected.header(stack, size), size, gap, **more)


async def begun(dut, divider=1):
    host = Host(dut, divider)
    await host.begin()
    return host


def check(sent, stack, size, number, stream=STREAM):
    """One frame is, byte for byte, as the software makes it."""
    assert sent.preamble == PREAMBLE and not sent.half
    frame, fcs = sent.bytes_[:-4], sent.bytes_[-4:]
    assert frame == expected.frame(stack, size, stream, number, expected.sent_ns(frame)), (stack, size, number)
    assert fcs == expected.fcs(frame)


def check_stamps(sent):
    """Each stamp is the SFD's time but for a constant, within a step of the time base."""
    errors = [expected.sent_ns(one.bytes_[:-4]) - one.sfd_ps * NS_PER_PS for one in sent]
    assert max(errors) - min(errors) < 9, (min(errors), max(errors))


@cocotb.test()
async def frames_are_those_of_the_software(dut):
    """Every stack at its smallest sizes, at some others and at the greatest; back to back."""
    host = await begun(dut)
    chance = random.Random(1)
    for stack in expected.STACKS:
        least = expected.headers(stack).least_frame_bytes
        sizes = [*range(least, least + 12), 255, 256, 257, 1518, *(chance.randrange(least, 2000) for _ in range(8))]
        sizes += [16387] if stack in ("lisp", "ipv6") else []
        program = encode([plan(stack, size) for size in sizes])
        assert len(program.slots) == 1
        await host.load(program)
        await host.start(len(sizes), stream=STREAM)
        await host.finish()
        sent = host.sent()
        assert len(sent) == len(sizes)
        for number, (one, size) in enumerate(zip(sent, sizes, strict=True)):
            check(one, stack, size, number)
        assert [one.gap_bytes for one in sent[1:]] == [12] * (len(sizes) - 1)
        check_stamps(sent)
        assert dut.frames.value == dut.numbers.value == len(sizes)
        assert dut.bytes.value == sum(sizes)
        assert dut.lag_bytes.value == 0
        assert dut.first_ns.value == expected.sent_ns(sent[0].bytes_[:-4])
        assert dut.last_ns.value == expected.sent_ns(sent[-1].bytes_[:-4])


@cocotb.test()
async def gaps_are_as_programmed(dut):
    """Least, 88 bit, usual and arbitrary gaps behind frames of any size; nothing is late."""
    host = await begun(dut)
    chance = random.Random(2)
    sizes = [64, 65, 66, 67, 100, 1518, 64, 9000, 64, *(chance.randrange(64, 300) for _ in range(40))]
    gaps = [8, 8, 11, 12, 9, 8, 11, 8, 1000, *(chance.choice([8, 11, 12, chance.randrange(8, 400)]) for _ in range(40))]
    await host.load(encode([plan("ipv4", size, gap) for size, gap in zip(sizes, gaps, strict=True)]))
    await host.start(3 * len(sizes), stream=STREAM)
    await host.finish()
    sent = host.sent()
    assert [len(one.bytes_) for one in sent] == sizes * 3
    assert [one.gap_bytes for one in sent[1:]] == (gaps * 3)[:-1]
    assert dut.lag_bytes.value == 0
    for number, one in enumerate(sent):
        check(one, "ipv4", sizes[number % len(sizes)], number)


@cocotb.test()
async def smallest_frames_at_line_rate(dut):
    """64 byte, gap 12: 84 byte times from SFD to SFD, so 1 488 095 frames/s; with gap 8 80 of them."""
    host = await begun(dut)
    for gap in (12, 8):
        await host.load(encode([plan("ipv4", 64, gap)]))
        await host.start(300, stream=STREAM)
        await host.finish()
        sent = host.sent()
        starts = [one.sfd_ps for one in sent]
        assert {after - before for before, after in pairwise(starts)} == {(72 + gap) * CLK_PS}
        assert len(sent) == 300 and dut.lag_bytes.value == 0
        check_stamps(sent)


@cocotb.test()
async def constant_rate_is_exact(dut):
    """Frame k starts at floor(k * interval), whatever the sizes; the gap is kept if there is too little time."""
    host = await begun(dut)
    for byte_times, sizes in [
        (Fraction(84), [64]),
        (Fraction("84.75"), [64]),
        (Fraction(100) / 3, [64]),  # more than the line carries
        (Fraction("400.3333333333"), [64, 100, 380, 65]),
        (Fraction("1234.0000152587890625"), [70]),
    ]:
        whole, fraction = interval(byte_times)
        exact = Fraction(whole) + Fraction(fraction, 2**32)
        count = 120
        await host.load(encode([plan("ipv4", size) for size in sizes]))
        await host.start(count, burst_frames=1, interval=(whole, fraction), stream=STREAM)
        await host.finish()
        sent = host.sent()
        assert len(sent) == count
        starts = [(one.sfd_ps - sent[0].sfd_ps) // CLK_PS for one in sent]
        truth, late = [0], 0
        for number in range(1, count):
            due = int(exact * number)
            truth.append(max(due, truth[-1] + 8 + sizes[(number - 1) % len(sizes)] + 12))
            late = max(late, truth[-1] - due)
        assert starts == truth, byte_times
        assert dut.lag_bytes.value == late


@cocotb.test()
async def bursts_begin_by_the_interval(dut):
    """Within a burst frames follow by their gaps; bursts start at multiples of the interval."""
    host = await begun(dut)
    gaps = [12, 20, 8]
    await host.load(encode([plan("ipv6", 84 + index, gap) for index, gap in enumerate(gaps)]))
    await host.start(25, burst_frames=4, interval=interval(Fraction("700.5")), stream=STREAM)
    await host.finish()
    sent = host.sent()
    assert len(sent) == 25
    starts = [(one.sfd_ps - sent[0].sfd_ps) // CLK_PS for one in sent]
    for number, start in enumerate(starts):
        if number % 4 == 0:
            assert start == int(Fraction("700.5") * (number // 4))
        else:
            before = (number - 1) % 3
            assert sent[number].gap_bytes == gaps[before]
    assert dut.lag_bytes.value == 0


@cocotb.test()
async def defects(dut):
    """Bad FCS, dribble, alignment, undersize, oversize and unmarked frames between good ones."""
    host = await begun(dut)
    wanted = [
        plan("ipv4", 64),
        plan("ipv4", 100, defect="crc"),
        plan("ipv4", 101, defect="dribble"),
        plan("ipv4", 102, 9, defect="alignment"),
        PlannedFrame(expected.header("ipv4", 64), 63, defect="undersize"),
        PlannedFrame(expected.header("ethernet", 64), 40, defect="undersize"),
        plan("ipv4", 200, marked=False),
        PlannedFrame(expected.header("ipv4", 64), 20, 60, defect="undersize", marked=False),
        PlannedFrame(expected.header("ethernet", 64), 5, 60, defect="undersize", marked=False),
        plan("ipv4", 1519),
    ]
    await host.load(encode(wanted))
    await host.start(2 * len(wanted), stream=STREAM)
    await host.finish()
    sent = host.sent()
    assert [one.gap_bytes for one in sent[1:]] == ([one.gap_bytes for one in wanted] * 2)[:-1]
    number = 0
    for one, want in zip(sent, wanted * 2, strict=True):
        dribble = want.defect in ("dribble", "alignment")
        assert one.half == dribble
        whole = one.bytes_[:-1] if dribble else one.bytes_
        assert len(whole) == want.frame_bytes
        frame, fcs = whole[:-4], whole[-4:]
        good = expected.fcs(frame)
        assert fcs == (bytes(octet ^ 0xFF for octet in good) if want.defect in ("crc", "alignment") else good)
        if want.marked:
            stack = "ethernet" if len(want.header) == 14 else "ipv4"
            assert frame[-18:] == expected.signature(STREAM, number, expected.sent_ns(frame))
            if want.defect != "undersize":
                assert frame == expected.frame(stack, want.frame_bytes, STREAM, number, expected.sent_ns(frame))
            number += 1
        elif want.defect is None:
            assert frame == expected.headers("ipv4").frame(want.frame_bytes)
        else:
            assert frame == want.header[: len(frame)]
    assert dut.numbers.value == number and dut.frames.value == len(sent)


@cocotb.test()
async def many_headers(dut):
    """A stream whose frames differ in more than size: 32 slots, each with patches of its own."""
    host = await begun(dut)
    wanted = []
    for size in (64, 128, 777):
        for last in range(32):
            header = bytearray(expected.header("ethernet", size))
            header[5] = last
            wanted.append(PlannedFrame(bytes(header), size))
    await host.load(encode(wanted))
    await host.start(len(wanted), stream=STREAM)
    await host.finish()
    sent = host.sent()
    assert [one.bytes_[:14] for one in sent] == [want.header for want in wanted]
    assert [len(one.bytes_) for one in sent] == [want.frame_bytes for want in wanted]


@cocotb.test()
async def stop_and_start_again(dut):
    """Without a limit it goes on until it is stopped, between two frames; then numbers begin anew."""
    host = await begun(dut)
    await host.load(encode([plan("ipv4", 300), plan("ipv4", 64)]))
    for clocks in (1, 5, 20, 33, 999, 2000):
        await host.start(0, stream=STREAM)
        await ClockCycles(dut.clk, clocks)
        await host.pulse("stop")
        await host.finish()
        sent = host.sent()
        assert dut.frames.value == len(sent)
        for number, one in enumerate(sent):
            check(one, "ipv4", (300, 64)[number % 2], number)
    assert len(sent) > 8
    await host.start(1, stream=STREAM)
    await host.finish()
    (one,) = host.sent()
    check(one, "ipv4", 300, 0)


@cocotb.test()
async def delayed_start(dut):
    """The first preamble begins a constant after the time base has reached the start, never before it."""
    host = await begun(dut)
    await host.load(encode([plan("ipv4", 64)]))
    delays = []
    for ahead in (3000, 3001, 3003, 3005, 3007, 20000):
        at = int(dut.now_ns.value) + ahead
        await host.start(3, stream=STREAM, at_ns=at)
        assert dut.waiting.value
        await host.finish()
        sent = host.sent()
        delays.append(expected.sent_ns(sent[0].bytes_[:-4]) - at)
    assert min(delays) > 0 and max(delays) - min(delays) <= 24, delays


@cocotb.test()
async def mailbox_frames_fit_in(dut):
    """A single frame is sent when idle and in gaps that hold it with 12 byte times around; the schedule is kept."""
    host = await begun(dut)
    chance = random.Random(3)
    for length in (63, 2048, 1):
        single = chance.randbytes(length)
        await host.write(*mailbox(single))
        dut.mailbox_bytes.value = length
        await host.pulse("mailbox_send")
        assert dut.mailbox_busy.value
        await ClockCycles(dut.clk, length + 100)
        assert not dut.mailbox_busy.value
        (one,) = host.sent()
        assert one.bytes_ == single + expected.fcs(single)

    whole = interval(Fraction(500))
    for gap, burst, length, passes in [
        (12, 1, 300, True),
        (12, 1, 400, False),
        (500, 0, 420, True),
        (300, 0, 420, False),
    ]:
        single = chance.randbytes(length)
        await host.write(*mailbox(single))
        dut.mailbox_bytes.value = length
        await host.load(encode([plan("ipv4", 64, gap)]))
        await host.start(12, burst_frames=burst, interval=whole, stream=STREAM)
        await ClockCycles(dut.clk, chance.randrange(1000, 1500))
        await host.pulse("mailbox_send")
        await host.finish()
        await ClockCycles(dut.clk, 600)
        sent = host.sent()
        program = [one for one in sent if len(one.bytes_) == 64]
        apart = {(b.sfd_ps - a.sfd_ps) // CLK_PS for a, b in pairwise(program)}
        assert apart == {500 if burst else 72 + gap}
        assert len(sent) == 13 and all(one.gap_bytes >= 12 for one in sent)
        place = next(index for index, one in enumerate(sent) if len(one.bytes_) != 64)
        assert sent[place].bytes_ == single + expected.fcs(single)
        assert (place < 12) == passes
        assert dut.lag_bytes.value == 0 and dut.frames.value == 12
        for number, one in enumerate(program):
            check(one, "ipv4", 64, number)
        check_stamps(program)


@cocotb.test()
async def slower_links(dut):
    """At 100 and 10 Mb/s a byte takes 10 and 100 clocks; everything else is the same."""
    for divider in (10, 100):
        host = await begun(dut, divider)
        sizes, gaps = [64, 100, 65], [12, 8, 40]
        await host.load(encode([plan("ipv4", s, g) for s, g in zip(sizes, gaps, strict=True)]))
        await host.start(6, stream=STREAM)
        await host.finish()
        sent = host.sent()
        for number, one in enumerate(sent):
            check(one, "ipv4", sizes[number % 3], number)
        assert [one.gap_bytes for one in sent[1:]] == (gaps * 2)[:-1]
        check_stamps(sent)
        await host.start(5, burst_frames=1, interval=interval(Fraction("150.5")), stream=STREAM)
        await host.finish()
        starts = [one.sfd_ps for one in host.sent()]
        assert [(start - starts[0]) // (CLK_PS * divider) for start in starts] == [0, 150, 301, 451, 602]
        assert dut.lag_bytes.value == 0


def test_generator():
    simulate("bench", SOURCES, __file__)
