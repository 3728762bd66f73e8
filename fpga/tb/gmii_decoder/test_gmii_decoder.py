"""The decoder of a GMII: its starts, bytes and stops make the frames that the reference finds on the same line."""

import os
import random
import sys

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from gmii_line import Line
from reference_receiver import Carried, frames
from simulate import simulate

LIKELY = (0x5, 0xD, 0x55, 0xD5)
CLOCKS_LATE = 2
"""From the clock that brings an SFD to the one that tells of it."""


@cocotb.test()
async def finds_what_the_reference_finds(dut):
    """Frames between garbage of which much looks like a preamble or an SFD; never two strobes in one clock."""
    nibbles = os.environ["NIBBLES"] == "1"
    chance, line = random.Random(21), Line(nibbles=nibbles)
    line.idle(2)
    for _ in range(150):
        busy = chance.choice([0.5, 0.9, 0.99])
        for _ in range(chance.randrange(60)):
            data = chance.choice(LIKELY) if chance.random() < 0.6 else chance.getrandbits(8)
            line.raw([(chance.random() < busy, chance.random() < 0.02, data)])
        line.idle(chance.randrange(1, 3))
        preamble = bytes([0x55]) * chance.randrange(9)
        line.frame(chance.randbytes(chance.randrange(40)), gap=1, preamble=preamble, dribble=chance.random() < 0.2)
    line.idle(5)

    Clock(dut.clk, 8, "ns").start()
    dut.rst.value, dut.nibbles.value = 1, nibbles
    dut.rxd.value, dut.rx_dv.value, dut.rx_er.value = 0, 0, 0
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    seen, octets, sfd_at, toggle = [], None, None, dut.toggle.value
    for clock, (valid, error, data) in enumerate(line.triples()):
        dut.rx_dv.value, dut.rx_er.value, dut.rxd.value = valid, error, data
        await FallingEdge(dut.clk)
        start, octet_valid, stop = (bool(one.value) for one in (dut.start, dut.octet_valid, dut.stop))
        assert start + octet_valid + stop <= 1
        assert (dut.toggle.value != toggle) == start
        toggle = dut.toggle.value
        if start:
            assert octets is None
            octets, sfd_at = bytearray(), clock - CLOCKS_LATE + 1
        if octet_valid:
            octets.append(dut.octet.value.to_unsigned())
        if stop:
            seen.append(Carried(bytes(octets), bool(dut.failed.value), bool(dut.misaligned.value), sfd_at))
            octets = None
    assert seen == list(frames(line.triples(), nibbles=nibbles)) and len(seen) > 200


@pytest.mark.parametrize("nibbles", [0, 1])
def test_gmii_decoder(nibbles):
    """At 1 Gb/s and below."""
    environment = {"NIBBLES": str(nibbles), "PYTHONPATH": os.pathsep.join(sys.path)}
    simulate("gmii_decoder", ["rtl/receive/gmii_decoder.sv"], __file__, environment=environment)
