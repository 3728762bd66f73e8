"""uart.sv: bytes both ways at several rates, a far end up to 2 % off, spikes, bytes without a stop bit."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, RisingEdge, Timer
from simulate import simulate

CLOCK_PS = 8000


class Bench:
    """The line's far end, and the reader of what was received."""

    def __init__(self, dut, deviation: float = 0.0) -> None:
        self.dut = dut
        clocks = (int(dut.CLOCKS_PER_SECOND.value) + int(dut.BAUD.value) // 2) // int(dut.BAUD.value)
        self.bit_ps = round(clocks * CLOCK_PS * (1 + deviation))
        self.received = bytearray()
        self.rng = random.Random(1)

    async def start(self) -> None:
        """Resets."""
        dut = self.dut
        dut.rx.value, dut.send_valid.value, dut.received_ready.value = 1, 0, 1
        dut.rst.value = 1
        Clock(dut.clk, CLOCK_PS, unit="ps").start()
        await ClockCycles(dut.clk, 4)
        dut.rst.value = 0
        cocotb.start_soon(self._read())

    async def _read(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.received_valid)
            await ReadOnly()
            self.received.append(int(dut.received.value))

    async def send_bits(self, bits: list[int]) -> None:
        """Sends bits on the line."""
        for bit in bits:
            self.dut.rx.value = bit
            await Timer(self.bit_ps, "ps")

    async def send(self, byte: int, stop: int = 1) -> None:
        """Sends a byte on the line."""
        await self.send_bits([0, *(byte >> i & 1 for i in range(8)), stop])


@cocotb.test()
@cocotb.parametrize(deviation=[0.0, 0.02, -0.02])
async def test_bytes_arrive(dut, deviation) -> None:
    bench = Bench(dut, deviation)
    await bench.start()
    await Timer(bench.bit_ps * 2, "ps")
    data = bytes([0x00, 0xFF, 0x55, 0xAA, 0x7E, 0x7D]) + bench.rng.randbytes(30)
    for byte in data:
        await bench.send(byte)
    await Timer(bench.bit_ps * 2, "ps")
    assert bytes(bench.received) == data


@cocotb.test()
async def test_noise_is_no_byte(dut) -> None:
    bench = Bench(dut)
    await bench.start()
    await Timer(bench.bit_ps * 2, "ps")
    dut.rx.value = 0
    await Timer(bench.bit_ps // 4, "ps")
    dut.rx.value = 1
    await Timer(bench.bit_ps * 12, "ps")
    await bench.send(0x12, stop=0)
    await bench.send_bits([1] * 12)
    await bench.send(0x34)
    await bench.send_bits([1] * 2)
    assert bytes(bench.received) == b"\x34"


@cocotb.test()
async def test_bytes_leave(dut) -> None:
    bench = Bench(dut)
    await bench.start()
    data = bytes([0x00, 0xFF, 0x7E]) + bench.rng.randbytes(20)
    seen = bytearray()

    async def listen() -> None:
        while len(seen) < len(data):
            await FallingEdge(dut.tx)
            await Timer(bench.bit_ps * 3 // 2, "ps")
            byte = 0
            for i in range(8):
                byte |= int(dut.tx.value) << i
                await Timer(bench.bit_ps, "ps")
            assert dut.tx.value, "stop bit"
            seen.append(byte)

    listener = cocotb.start_soon(listen())
    for byte in data:
        dut.send.value, dut.send_valid.value = byte, 1
        await ReadOnly()
        if not dut.send_ready.value:
            await RisingEdge(dut.send_ready)
        await RisingEdge(dut.clk)
        dut.send_valid.value = 0
        if bench.rng.random() < 0.3:
            await ClockCycles(dut.clk, bench.rng.randrange(300))
    await listener
    assert bytes(seen) == data


@pytest.mark.parametrize("baud", [115_200, 3_000_000])
def test_uart(baud: int) -> None:
    simulate("uart", ["rtl/cdc/sync_bit.sv", "rtl/fifo/sync_fifo.sv", "rtl/link/uart.sv"], __file__, {"BAUD": baud})
