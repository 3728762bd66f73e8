"""The PHYs' registers: MDIO against a model of clause 22, speed, delays, receive clock."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from simulate import generated_registers, simulate

SOURCES = [
    "rtl/cdc/sync_bit.sv",
    "rtl/cdc/sync_pulse.sv",
    "rtl/io/clock_meter.sv",
    "rtl/io/mdio.sv",
    "rtl/io/phy_port.sv",
    "tb/io_phy/phy_bench.sv",
]


class Phys:
    """PHYs on one pair of MDIO pins (IEEE 802.3 §22.2.4.5): they listen at rising edges of MDC, and answer after."""

    def __init__(self, dut, registers):
        self.dut, self.registers = dut, registers
        self.periods_ns = []
        self.bits = []
        dut.mdio_in.value = 1
        cocotb.start_soon(self.run())

    async def run(self):
        dut, last = self.dut, None
        answer = []
        while True:
            await RisingEdge(dut.mdc)
            now = get_sim_time("ns")
            if last is not None:
                self.periods_ns.append(now - last)
            last = now
            line = int(dut.mdio_out.value) if int(dut.mdio_drive.value) else int(dut.mdio_in.value)
            self.bits.append(line)
            if answer:
                await Timer(300, "ns")  # the latest that the standard allows
                dut.mdio_in.value = answer.pop(0)
                continue
            await Timer(300, "ns")
            dut.mdio_in.value = 1
            head = self.bits[-46:]
            if len(head) == 46 and head[:34] == [1] * 32 + [0, 1] and head[34:36] == [1, 0]:
                key = self.number(head[36:41]), self.number(head[41:46])
                if key in self.registers:
                    # A clock for the line to be let go, then zero and the word.
                    answer = [0, *(self.registers[key] >> i & 1 for i in range(15, -1, -1)), 1]
                    self.bits.clear()
                    await RisingEdge(dut.mdc)
                    assert not int(dut.mdio_drive.value), "the line is let go in the turnaround"
                    last = get_sim_time("ns")
                    await Timer(300, "ns")
                    dut.mdio_in.value = answer.pop(0)
            whole = self.bits[-64:]
            if len(whole) == 64 and whole[:36] == [1] * 32 + [0, 1, 0, 1] and whole[46:48] == [1, 0]:
                key = self.number(whole[36:41]), self.number(whole[41:46])
                if key in self.registers:
                    self.registers[key] = self.number(whole[48:])
                self.bits.clear()

    @staticmethod
    def number(bits):
        return int("".join(map(str, bits)), 2)


async def start(dut):
    for name in ("ask", "asked", "wanted_speed", "wanted_rx_taps", "rx_clk_0", "rx_clk_1", "link_up", "full_duplex"):
        getattr(dut, name).value = 0
    dut.follow.value = 0b11
    dut.link_speed.value = 0b1010
    dut.mdio_in.value = 1
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 8, "ns").start())
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 4)


async def ask(dut, requests):
    """The host writes a request (PHY, register, word or None to read) for each port named."""
    word = 0
    for port, (phy, register, data) in requests.items():
        request = (data is not None) << 26 | phy << 21 | register << 16 | (data or 0)
        word |= request << 27 * port
    dut.asked.value = word
    dut.ask.value = sum(1 << port for port in requests)
    await RisingEdge(dut.clk)
    dut.ask.value = 0


async def finished(dut, port):
    """What was read, and whether no PHY answered."""
    for _ in range(200):
        await ClockCycles(dut.clk, 64)
        word = int(dut.answered.value) >> 18 * port
        if not word >> 16 & 1:
            return word & 0xFFFF, word >> 17 & 1
    raise AssertionError("MDIO does not end")


@cocotb.test()
async def both_ports_read_and_write_their_phys(dut):
    chance = random.Random(5)
    registers = {(phy, register): chance.randrange(1 << 16) for phy in (0, 1) for register in range(32)}
    await start(dut)
    phys = Phys(dut, registers)
    for _ in range(6):
        wanted = {port: (chance.randrange(32), chance.choice([None, chance.randrange(1 << 16)])) for port in (0, 1)}
        await ask(dut, {port: (port, *request) for port, request in wanted.items()})  # one waits for the other
        for port, (register, data) in wanted.items():
            answer, missing = await finished(dut, port)
            assert not missing
            assert (answer if data is None else registers[port, register]) == (
                registers[port, register] if data is None else data
            )
    assert min(phys.periods_ns) >= 400, "clause 22 asks for 400 ns"
    assert not int(dut.mdio_drive.value)


@cocotb.test()
async def a_phy_that_is_not_there_is_missing(dut):
    await start(dut)
    Phys(dut, {(1, 2): 0x001C})
    for phy, expected in ((7, (0xFFFF, 1)), (1, (0x001C, 0))):
        await ask(dut, {0: (phy, 2, None)})
        assert await finished(dut, 0) == expected


@cocotb.test()
async def speed_follows_the_phy_or_the_host(dut):
    await start(dut)
    for said, runs in ((2, 2), (1, 1), (0, 0), (3, 2)):
        dut.link_speed.value = said << 2 | 2
        dut.link_up.value = 0b10
        await ClockCycles(dut.clk, 4)
        assert int(dut.status.value) >> 6 == runs << 4 | said << 1 | 1
        assert int(dut.speed.value) == runs << 2 | 2
    dut.follow.value = 0b01
    dut.wanted_speed.value = 0b0100
    await ClockCycles(dut.clk, 4)
    assert int(dut.speed.value) == 1 << 2 | 2


@cocotb.test()
async def delays_reach_their_port(dut):
    await start(dut)
    dut.wanted_rx_taps.value = 12 << 7 | 80
    await ClockCycles(dut.clk, 4)
    assert int(dut.rx_taps.value) == 12 << 7 | 80


@cocotb.test()
async def the_receive_clock_is_measured(dut):
    await start(dut)
    cocotb.start_soon(Clock(dut.rx_clk_0, 8, "ns").start())
    cocotb.start_soon(Clock(dut.rx_clk_1, 40, "ns").start())
    await Timer(2 * 2**17 * 8 + 2000, "ns")
    fast, slow = int(dut.rx_clock.value) & 0xFFF, int(dut.rx_clock.value) >> 12
    assert abs(fast - 2048) <= 1 and abs(slow - 409.6) <= 1


def test_phy():
    simulate("phy_bench", [generated_registers()[0], *SOURCES], __file__)
