"""The host of a generator under test: writes programs, starts it, reads the log of what it sent.

Holds no expectations; the tests have them.
"""

from dataclasses import dataclass
from pathlib import Path

from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from keisoku.ground.fpga.program import Program

CLK_PS, TIME_CLK_PS = 8000, 7804
NS_PER_PS = 320_000 / 41 / TIME_CLK_PS / 1000
"""Of the time base, which is fast because 320000/41 ps are no whole number."""
PREAMBLE = bytes([0x55] * 7 + [0xD5])


@dataclass(frozen=True)
class Sent:
    """A frame on GMII."""

    gap_bytes: int
    preamble: bytes
    sfd_ps: int
    bytes_: bytes
    """With the FCS, and with the half byte of a dribble."""
    half: bool


class Host:
    """Of one bench."""

    def __init__(self, dut, divider=1):
        self.dut, self.divider = dut, divider
        self.log = Path("gmii.log")

    async def begin(self):
        dut = self.dut
        for name in ("write", "start", "stop", "timed", "mailbox_send"):
            getattr(dut, name).value = 0
        dut.divider.value = self.divider
        dut.rst.value = dut.time_rst.value = 1
        Clock(dut.clk, CLK_PS, "ps").start()
        Clock(dut.time_clk, TIME_CLK_PS, "ps").start()
        await ClockCycles(dut.clk, 8)
        await FallingEdge(dut.clk)
        dut.rst.value = dut.time_rst.value = 0
        self.at = self.log.stat().st_size  # of the tests before

    async def write(self, address, words):
        dut = self.dut
        await FallingEdge(dut.clk)
        for index, word in enumerate(words):
            dut.write.value, dut.write_address.value, dut.write_word.value = 1, address // 4 + index, word
            await FallingEdge(dut.clk)
        dut.write.value = 0

    async def load(self, program: Program):
        for address, words in program.writes:
            await self.write(address, words)
        self.dut.last_entry.value = program.last_entry

    async def pulse(self, name):
        await FallingEdge(self.dut.clk)
        getattr(self.dut, name).value = 1
        await FallingEdge(self.dut.clk)
        getattr(self.dut, name).value = 0

    async def start(self, frames, burst_frames=0, interval=(0, 0), stream=7, at_ns=None):
        dut = self.dut
        dut.frame_limit.value, dut.burst_frames.value, dut.stream.value = frames, burst_frames, stream
        dut.interval_bytes.value, dut.interval_fraction.value = interval
        dut.timed.value, dut.start_ns.value = at_ns is not None, at_ns or 0
        await ClockCycles(dut.clk, 3)
        await FallingEdge(dut.clk)
        await self.pulse("start")
        await ClockCycles(dut.clk, 4)

    async def finish(self, most_clocks=4_000_000):
        """Waits until the program is over. Raises AssertionError if it takes longer."""
        for _ in range(0, most_clocks, 100):
            if not self.dut.running.value:
                break
            await ClockCycles(self.dut.clk, 100)
        assert not self.dut.running.value
        await ClockCycles(self.dut.clk, 20 * self.divider)
        await FallingEdge(self.dut.clk)

    def sent(self):
        """What was sent since the last call."""
        with self.log.open() as log:
            log.seek(self.at)
            lines = log.read()
            self.at = log.tell()
        return [_sent(*line.split()) for line in lines.splitlines()]


def _sent(gap, preamble, sfd_ps, text, half):
    return Sent(int(gap), bytes.fromhex(preamble), int(sfd_ps), bytes.fromhex(text), half == "1")
