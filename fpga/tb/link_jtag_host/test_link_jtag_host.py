"""The host's own driver, from words down to an adapter's USB commands, through jtag_user.sv and link.sv.

The adapter is a model of FTDI's MPSSE written from AN 108, the TAP one of IEEE 1149.1.
"""

import random
import sys

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, Timer
from simulate import FPGA, simulate

sys.path.insert(0, str(FPGA.parent))
HALF_TCK_NS = 50


class Adapter:
    """An FT232H in MPSSE mode: takes commands, moves the pins, keeps what it read until it is asked for."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.answers = bytearray()
        self.clocks = 0
        self.is_closed = False
        self._clock = resume(self._run)

    async def _run(self, steps: list[tuple[int, int]]) -> list[int]:
        found = []
        dut = self.dut
        for tms, tdi in steps:
            dut.tms.value, dut.tdi.value = tms, tdi
            await Timer(HALF_TCK_NS, "ns")
            found.append(int(dut.tdo.value) if dut.tdo.value.is_resolvable else 0)
            dut.tck.value = 1
            await Timer(HALF_TCK_NS, "ns")
            dut.tck.value = 0
        self.clocks += len(steps)
        return found

    def write_data(self, data: bytes) -> int:
        steps: list[tuple[int, int]] = []
        reads: list[tuple[int, int]] = []  # place of the first bit, and bits
        place = 0
        while place < len(data):
            command = data[place]
            if command == 0x87:
                place += 1
                continue
            assert command in (0x19, 0x39, 0x1B, 0x3B, 0x4B, 0x6B), f"{command:#x} is no command that was expected"
            if command in (0x19, 0x39):
                count = int.from_bytes(data[place + 1 : place + 3], "little") + 1
                octets = data[place + 3 : place + 3 + count]
                assert len(octets) == count
                parts = [[(0, octet >> bit & 1) for bit in range(8)] for octet in octets]
                place += 3 + count
            else:
                bits, octet = data[place + 1] + 1, data[place + 2]
                is_tms = command in (0x4B, 0x6B)
                assert bits <= (7 if is_tms else 8)
                parts = [[(octet >> bit & 1, octet >> 7) if is_tms else (0, octet >> bit & 1) for bit in range(bits)]]
                place += 3
            for part in parts:
                if command & 0x20:
                    reads.append((len(steps), len(part)))
                steps += part
        found = self._clock(steps)
        for first, count in reads:  # bits come in from the top of an octet
            self.answers.append(
                sum(bit << place for place, bit in enumerate(found[first : first + count])) << 8 - count
            )
        return len(data)

    def read_data_bytes(self, size: int, attempt: int) -> bytes:
        found = bytes(self.answers[:size])
        del self.answers[:size]
        return found

    def close(self) -> None:
        self.is_closed = True


async def started(dut) -> Adapter:
    dut.tck.value, dut.tms.value, dut.tdi.value, dut.rst.value = 0, 0, 0, 1
    Clock(dut.clk, 8, unit="ns").start()
    await ClockCycles(dut.clk, 10)
    dut.rst.value = 0
    return Adapter(dut)


@cocotb.test()
async def test_words_go_both_ways_through_the_pins(dut) -> None:
    from keisoku.ground.fpga.link import VERSION, Link
    from keisoku.ground.fpga.mpsse import MpsseWire
    from keisoku.ground.fpga.tap import JtagTransport

    adapter = await started(dut)
    chance = random.Random(1)
    bursts = [(0x40 + 4 * chance.randrange(200), chance.choices(range(2**32), k=words)) for words in (1, 2, 7, 256)]
    bursts.append((0x800, [0x7E7D_7E7D, 0xFFFF_FFFF, 0, 0x7D5E_7E5D]))  # what framing and start bits could trip over

    def work() -> None:
        with Link(JtagTransport(MpsseWire(adapter)), "bench", timeout_s=2.0) as link:
            assert link.read(0x0, 2) == [0x4B45_4953, VERSION]
            for address, words in bursts:
                link.write(address, words)
                assert link.read(address, len(words)) == words
            assert link.retries == 0
        # The next host resets the TAP, and with it one side of the queues only: old bytes may come out once more.
        with Link(JtagTransport(MpsseWire(adapter)), "bench", timeout_s=2.0) as link:
            link.write(0x44, 0x1234_5678)
            assert link.read(0x44) == [0x1234_5678]

    await bridge(work)()
    assert adapter.is_closed and not adapter.answers


@cocotb.test()
async def test_bytes_that_nobody_asked_for_wait(dut) -> None:
    from keisoku.ground.fpga.framing import framed
    from keisoku.ground.fpga.link import Opcode, request
    from keisoku.ground.fpga.mpsse import MpsseWire
    from keisoku.ground.fpga.tap import JtagTransport

    adapter = await started(dut)

    def work() -> tuple[bytes, bytes]:
        transport = JtagTransport(MpsseWire(adapter))
        transport.read(100, 0.0)  # what the test before left in the queues
        transport.write(framed(request(0, Opcode.READ, 0, 1)))
        first = transport.read(3, 0.0)
        return first, transport.read(100, 0.0)

    first, rest = await bridge(work)()
    answer = first + rest
    assert len(first) == 3 and answer[0] == answer[-1] == 0x7E
    assert bytes.fromhex("4b454953") in answer


@cocotb.test()
async def test_a_cable_without_a_part_is_said(dut) -> None:
    from keisoku.errors import EngineError
    from keisoku.ground.fpga.mpsse import MpsseWire
    from keisoku.ground.fpga.tap import Tap

    adapter = await started(dut)
    for period, words in ([1], "there is no answer"), ([0, 1], "no ECP5"):
        adapter._clock = lambda steps, period=period: (period * len(steps))[: len(steps)]
        with pytest.raises(EngineError, match=words):
            Tap(MpsseWire(adapter))


def test_link_jtag_host() -> None:
    from keisoku.ground.fpga.link import VERSION

    link = ["link_pkg.sv", "unframe.sv", "frame.sv", "link.sv", "jtag_user.sv"]
    sources = ["rtl/cdc/sync_bit.sv", "rtl/cdc/async_fifo.sv", *(f"rtl/link/{name}" for name in link)]
    simulate("jtag_bench", [*sources, "tb/link_jtag_host/jtag_bench.sv"], __file__, {"VERSION": VERSION})
