"""jtag_user.sv: bytes both ways through scans, with TDI and TDO late by any number of clocks and rubbish before."""

import random
import sys

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, Timer
from simulate import FPGA, simulate

sys.path.insert(0, str(FPGA.parent))


class Bench:
    """A JTAG adapter on one side, the link's byte streams on the other."""

    def __init__(self, dut, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.received = bytearray()
        self.to_send = bytearray()

    async def start(self) -> None:
        """Resets both clocks' domains."""
        dut = self.dut
        dut.tck.value, dut.selected.value, dut.shift.value, dut.tdi.value = 0, 0, 0, 0
        dut.send_valid.value, dut.received_ready.value = 0, 0
        dut.rst.value, dut.tck_rst.value = 1, 1
        Clock(dut.clk, 8000, unit="ps").start()
        for _ in range(5):
            await self.tick()
        dut.rst.value, dut.tck_rst.value = 0, 0
        cocotb.start_soon(self._streams())

    async def tick(self) -> int:
        """A clock of TCK; returns TDO as it is before the rising edge."""
        await Timer(17, "ns")
        tdo = int(self.dut.tdo.value) if self.dut.tdo.value.is_resolvable else 0
        self.dut.tck.value = 1
        await Timer(17, "ns")
        self.dut.tck.value = 0
        return tdo

    async def _streams(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            dut.received_ready.value = self.rng.random() < 0.7
            dut.send_valid.value = bool(self.to_send)
            if self.to_send:
                dut.send.value = self.to_send[0]
            await ReadOnly()
            if dut.received_valid.value and dut.received_ready.value:
                self.received.append(int(dut.received.value))
            if dut.send_valid.value and dut.send_ready.value:
                del self.to_send[0]

    async def scan(self, bits: list[int], tdi_late: int, tdo_late: int) -> list[int]:
        """Shifts bits through the register, as the host sees it."""
        dut, rng = self.dut, self.rng
        dut.selected.value = 1
        await self.tick()
        dut.shift.value = 1
        rubbish = [rng.randrange(2) for _ in range(tdi_late)]
        late = [*rubbish, *bits][: len(bits)]
        out = []
        for bit in late:
            dut.tdi.value = bit
            out.append(await self.tick())
        dut.shift.value, dut.selected.value = 0, 0
        for _ in range(3):
            dut.tdi.value = rng.randrange(2)
            await self.tick()
        return [*(rng.randrange(2) for _ in range(tdo_late)), *out][: len(bits)]


@cocotb.test()
async def test_bytes_go_both_ways_whatever_is_late(dut) -> None:
    from keisoku.ground.fpga.jtag import bytes_of, scan_bits

    bench = Bench(dut, 1)
    await bench.start()
    sent, got, queued = b"", b"", b""
    for turn in range(40):
        more = bench.rng.randbytes(bench.rng.randrange(12))
        bench.to_send += more
        queued += more
        await ClockCycles(dut.clk, 40)
        data = bench.rng.randbytes(bench.rng.randrange(20))
        wanted = bench.rng.randrange(30)
        bits = await bench.scan(scan_bits(data, wanted), turn % 4, turn // 4 % 4)
        sent += data
        got += bytes_of(bits, wanted)
    bits = await bench.scan(scan_bits(b"", 400), 0, 0)
    got += bytes_of(bits, 400)
    await ClockCycles(dut.clk, 100)
    assert bytes(bench.received) == sent
    assert got == queued


@cocotb.test()
async def test_scans_of_nothing_bring_nothing(dut) -> None:
    from keisoku.ground.fpga.jtag import bytes_of, scan_bits

    bench = Bench(dut, 2)
    await bench.start()
    bench.to_send += b"abc"
    await ClockCycles(dut.clk, 40)
    for bits in ([0] * 5, [1] * 8, [0] * 100, [1] * 8 + [0] * 60):
        await bench.scan(bits, 0, 0)
    assert not bench.received
    assert bytes_of(await bench.scan(scan_bits(b"x", 3), 1, 1), 3) == b"abc"
    await ClockCycles(dut.clk, 100)
    assert bytes(bench.received) == b"x"


def test_jtag_user() -> None:
    simulate("jtag_user", ["rtl/cdc/sync_bit.sv", "rtl/cdc/async_fifo.sv", "rtl/link/jtag_user.sv"], __file__)
