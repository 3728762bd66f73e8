"""The whole instrument with its ports joined: frames of a program cross both ways and are counted.

Run with unknown values by tests/fpga/test_four_state.py: all that a host reads and all on the wire must be known.
"""

import zlib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from instrument_words import Host

from keisoku.ground.fpga.program import PlannedFrame, encode
from keisoku.ground.fpga.registers import REGISTERS

FRAMES = 6
NAMES = ("received", "first", "duplicated", "reordered", "late", "untracked", "corrupt", "foreign", "other")
HEADER = bytes.fromhex("020000000002 020000000001 0800 4500002e000000004011f96bc0000201c0000202 00090009001a0000")


class Wire:
    """Collects the frames of a port; an unknown value on it is an error."""

    def __init__(self, dut, port):
        self.frames = []
        cocotb.start_soon(self.watch(dut, port))

    async def watch(self, dut, port):
        frame = bytearray()
        while True:
            await FallingEdge(dut.clk)
            if dut.tx_en.value.to_unsigned() >> port & 1:
                assert not dut.tx_er.value.to_unsigned() >> port & 1
                octet = dut.txd.value[8 * port + 7 : 8 * port]
                assert octet.is_resolvable, (
                    f"byte {len(frame)} of frame {len(self.frames)}: {octet}, after {frame.hex()}"
                )
                frame.append(octet.to_unsigned())
            elif frame:
                self.frames.append(bytes(frame))
                frame = bytearray()


@cocotb.test()
async def frames_cross(dut):
    """Three sizes both ways: good FCS, all received first and once, latency alike."""
    dut.rst.value = dut.time_rst.value = 1
    dut.link_in_valid.value = dut.link_in.value = 0
    Clock(dut.clk, 8000, "ps").start()
    Clock(dut.time_clk, 7804, "ps").start()
    await Timer(400, "ns")
    await FallingEdge(dut.clk)
    dut.rst.value = dut.time_rst.value = 0
    await Timer(400, "ns")
    host = Host(dut)
    assert await host.read(REGISTERS.id.address, 2) == [0x4B454953, 3]
    program = encode([PlannedFrame(HEADER, size, 12) for size in (64, 65, 90)])
    wires = [Wire(dut, port) for port in range(2)]
    for port in range(2):
        account = REGISTERS.port[port].account
        await host.write(account.stream.address, 7)
        await host.write(account.frame_bytes.address, 64 | 90 << 16)
        await host.write(account.control.address, account.control.reset.mask)  # takes longest
    for port in range(2):
        transmit = REGISTERS.port[port].transmit
        for at, words in program.writes:
            # Of the memories only what the program uses: the rest stays unknown.
            await host.write(REGISTERS.transmit_memory[port].address + at, *words)
        await host.write(transmit.last_entry.address, program.last_entry)
        await host.write(transmit.stream.address, 7)
        await host.write(transmit.frames_low.address, FRAMES)
        await host.write(REGISTERS.port[port].receive.checked_from.address, len(HEADER))
    for port in range(2):
        status = REGISTERS.port[port].account.status
        while status.busy.extract((await host.read(status.address))[0]):
            await Timer(2, "us")
    for port in range(2):
        control = REGISTERS.port[port].transmit.control
        await host.write(control.address, control.start.mask)
    for _ in range(100):
        if all(len(wire.frames) == FRAMES for wire in wires):
            break
        await Timer(1, "us")
    await Timer(4, "us")
    for port, wire in enumerate(wires):
        for frame, size in zip(wire.frames, (64, 65, 90) * 2, strict=True):
            assert frame[:8] == b"\x55" * 7 + b"\xd5" and len(frame) == 8 + size
            assert zlib.crc32(frame[8:]) == 0x2144DF1C
        registers = REGISTERS.port[port]
        assert await host.read(registers.transmit.sent_frames_low.address) == [FRAMES]
        assert await host.read(registers.receive.counts.frames_low.address) == [FRAMES]
        assert await host.read(registers.receive.counts.fcs_bad.address) == [0]
        figures = await host.read(registers.account.counts.received_low.address, 18)
        counts = dict(zip(NAMES, figures[::2], strict=True))
        assert counts == dict.fromkeys(NAMES, 0) | {"received": FRAMES, "first": FRAMES}
