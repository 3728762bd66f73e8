"""The judge of frames, fed at any pace: its verdicts are the reference's, each seven clocks after the frame's end."""

import os
import random
import sys
import zlib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from reference_receiver import Arrival, judge, signed, with_fcs
from simulate import simulate

LATENCY = 7
CHECKED_FROM = 20
HEADER = bytes(range(CHECKED_FROM))


def digest(header: bytes) -> int:
    """The register of the FCS after these bytes."""
    return zlib.crc32(header) ^ 0xFFFF_FFFF


@cocotb.test()
async def judges_as_the_reference_does(dut):
    """Frames of 0 to 120 byte, whole or not, with pauses of chance between bytes and none between frames; some with the
    header that is expected, or a bit beside it."""
    chance = random.Random(31)
    Clock(dut.clk, 8, "ns").start()
    strobes = (dut.start, dut.octet_valid, dut.stop)
    for signal in (*strobes, dut.octet, dut.failed, dut.misaligned):
        signal.value = 0
    dut.rst.value, dut.checked_from.value = 1, CHECKED_FROM
    dut.compare.value, dut.expected_header.value = 1, digest(HEADER)
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    await FallingEdge(dut.clk)
    clock, seen, begun, ended, body, bodies = 0, [], [], [], bytearray(), []
    starts, stops, headers, wanted_headers = [], [], [], []

    async def tick(**values):
        nonlocal clock, body
        for signal in strobes:
            signal.value = 0
        for name, value in values.items():
            getattr(dut, name).value = value
        starts.extend([clock] * values.get("start", 0))
        stops.extend([clock] * values.get("stop", 0))
        await FallingEdge(dut.clk)
        clock += 1
        if dut.body_start.value:
            body = bytearray()
        if dut.body_valid.value:
            body.append(dut.body.value.to_unsigned())
        if dut.body_stop.value:
            bodies.append(bytes(body))
        if dut.started.value:
            begun.append(clock)
        if dut.done.value:
            ended.append(clock)
            word = dut.signature.value.to_unsigned()
            marked = bool(dut.marked.value)
            fields = (word >> 96, word >> 48 & (1 << 48) - 1, word & (1 << 48) - 1) if marked else (None,) * 3
            flags = (bool(one.value) for one in (dut.fcs_bad, dut.cut, dut.marked, dut.sums_to_zero))
            headers.append((bool(dut.changed.value), dut.header.value.to_unsigned()))
            seen.append(Arrival(*flags, dut.frame_bytes.value.to_unsigned(), *fields))

    wanted, wanted_bodies = [], []
    for number in range(400):
        size = chance.choice([0, 1, 3, 4, 5, 17, 18, 19, 22, 30, 37, 38, 39, 60, 61, 116])
        octets = bytearray(chance.randbytes(size))
        if chance.random() < 0.7:
            octets[:CHECKED_FROM] = HEADER[:size]
        if size >= CHECKED_FROM and chance.random() < 0.3:
            octets[chance.randrange(CHECKED_FROM)] ^= 1 << chance.randrange(8)
        if size >= 18:
            octets[20 : max(20, size - 18)] = bytes(max(0, size - 38))
            octets = bytearray(signed(bytes(octets), chance.getrandbits(16), number, chance.getrandbits(48)))
        if size and chance.random() < 0.3:
            octets[chance.randrange(size)] ^= 1 << chance.randrange(8)
        frame = with_fcs(bytes(octets)) if chance.random() < 0.8 else bytes(octets)
        failed, misaligned = chance.random() < 0.05, chance.random() < 0.05
        pace = chance.choice([1.0, 0.5, 0.1])
        await tick(start=1)
        for octet in frame:
            while chance.random() > pace:
                await tick()
            await tick(octet_valid=1, octet=octet)
        await tick(stop=1, failed=failed, misaligned=misaligned)
        wanted.append(judge(frame, 20, failed=failed, misaligned=misaligned))
        wanted_bodies.append(frame[:-4])
        wanted_headers.append(frame[:CHECKED_FROM])
    for _ in range(12):
        await tick()
    for at, (one, other) in enumerate(zip(seen, wanted, strict=True)):
        assert one == other, at
    assert bodies == wanted_bodies
    long = [(one, header) for one, header, frame in zip(headers, wanted_headers, wanted, strict=True) if frame.marked]
    assert all(one == (header != HEADER, digest(header) & 0xFFFF) for one, header in long)
    assert {changed for (changed, _), _ in long} == {False, True}
    assert begun == [at + LATENCY for at in starts] and ended == [at + LATENCY for at in stops]


def test_frame_check():
    """One build."""
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    simulate(
        "frame_check", ["rtl/receive/header_check.sv", "rtl/receive/frame_check.sv"], __file__, environment=environment
    )
