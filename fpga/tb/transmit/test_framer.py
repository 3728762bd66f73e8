"""Preamble, SFD, FCS and defects around bytes that come just in time, with and without a slow strobe."""

import random

import cocotb
import transmit_expected as expected
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from simulate import simulate


@cocotb.test()
async def frames(dut):
    """One byte to some hundred; the byte asked for by `fetch` is the first, six byte times later."""
    chance = random.Random(6)
    Clock(dut.clk, 8, "ns").start()
    for name in ("ce", "start", "counted", "bad_fcs", "dribble", "data", "last"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0

    async def byte_time(divider):
        """One strobe; returns the byte on GMII after it, or None."""
        for _ in range(divider - 1):
            await FallingEdge(dut.clk)
        dut.ce.value = 1
        await FallingEdge(dut.clk)
        dut.ce.value = 0
        return int(dut.gmii_txd.value) if dut.gmii_tx_en.value else None

    toggle = int(dut.sfd_toggle.value)
    for divider, length in [
        (1, 1),
        (1, 2),
        (1, 60),
        (3, 1),
        (3, 33),
        *((1, chance.randrange(1, 300)) for _ in range(40)),
    ]:
        frame = chance.randbytes(length)
        counted, bad, dribble = chance.random() < 0.7, chance.random() < 0.3, chance.random() < 0.3
        dut.start.value, dut.counted.value, dut.bad_fcs.value, dut.dribble.value = 1, counted, bad, dribble
        assert dut.in_gap.value
        assert await byte_time(divider) is None
        dut.start.value = dut.bad_fcs.value = dut.dribble.value = dut.counted.value = 0
        sent, halves, since_fetch, toggled_at = [], [], None, None
        while not (dut.in_gap.value and since_fetch):
            due = None if since_fetch is None else since_fetch - 5
            dut.data.value = frame[due] if due is not None and 0 <= due < length else chance.randrange(256)
            dut.last.value = due == length - 1
            dut.ce.value = 1  # fetch is with it
            await cocotb.triggers.Timer(1, "ps")
            fetch = bool(dut.fetch.value)
            dut.ce.value = 0
            octet = await byte_time(divider)
            if octet is not None:
                sent.append(octet)
                halves.append(bool(dut.gmii_half.value))
            if toggled_at is None and int(dut.sfd_toggle.value) != toggle:
                toggled_at, toggle = len(sent), int(dut.sfd_toggle.value)
            if fetch:
                since_fetch = 0
            if since_fetch is not None:
                since_fetch += 1
        fcs = expected.fcs(frame)
        fcs = bytes(octet ^ 0xFF for octet in fcs) if bad else fcs
        assert bytes(sent) == bytes([0x55] * 7 + [0xD5]) + frame + fcs + bytes(dribble)
        assert halves == [False] * (len(sent) - dribble) + [True] * dribble
        assert toggled_at == (8 if counted else None)
        assert await byte_time(divider) is None


def test_framer():
    simulate("framer", ["rtl/transmit/framer.sv"], __file__)
