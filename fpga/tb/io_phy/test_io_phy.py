"""The PHYs' registers through the host's bus: MDIO against a model of clause 22, speed, delays, receive clock."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer
from simulate import generated_registers, simulate

from keisoku.fpga.registers import REGISTERS

OF_THE_GENERATED_BLOCK = (
    "UNUSEDSIGNAL", "WIDTHEXPAND", "WIDTHTRUNC", "GENUNNAMED", "MULTIDRIVEN", "BLKANDNBLK", "UNDRIVEN", "BLKSEQ",
)  # fmt: skip
SOURCES = [
    "rtl/cdc/sync_bit.sv",
    "rtl/cdc/sync_pulse.sv",
    "rtl/io/clock_meter.sv",
    "rtl/io/mdio.sv",
    "rtl/io/phy_port.sv",
    "tb/io_phy/phy_bench.sv",
]


class Phys:
    """PHYs on one pair of MDIO pins (IEEE 802.3 §22.2.4.5): they listen at the rising edge of MDC and answer after it."""

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


async def transfer(dut, acknowledge):
    """One request; the clock in which the answer stands is the request's or a later one."""
    dut.bus_req.value = 1
    for _ in range(10):
        await FallingEdge(dut.clk)
        answered = int(acknowledge.value)
        data = int(dut.bus_rd_data.value)
        await RisingEdge(dut.clk)
        dut.bus_req.value = 0
        if answered:
            return data
    raise AssertionError("the registers do not answer")


async def write(dut, address, value):
    dut.bus_addr.value, dut.bus_wr_data.value, dut.bus_req_is_wr.value = address, value, 1
    await transfer(dut, dut.bus_wr_ack)


async def read(dut, address):
    dut.bus_addr.value, dut.bus_req_is_wr.value = address, 0
    return await transfer(dut, dut.bus_rd_ack)


async def start(dut):
    for name in ("bus_req", "bus_req_is_wr", "bus_addr", "bus_wr_data", "rx_clk_0", "rx_clk_1", "link_up", "full_duplex"):
        getattr(dut, name).value = 0
    dut.link_speed.value = 0b1010
    dut.mdio_in.value = 1
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 8, "ns").start())
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 4)


def request(port, phy, register, data=None):
    fields = REGISTERS.port[port].phy.mdio
    word = fields.phy.put(phy) | fields.register.put(register)
    return word if data is None else word | fields.write.put(1) | fields.data.put(data)


async def finished(dut, port):
    fields = REGISTERS.port[port].phy.mdio_answer
    for _ in range(100):
        await ClockCycles(dut.clk, 64)
        word = await read(dut, fields.address)
        if not fields.busy.of(word):
            return fields.data.of(word), fields.missing.of(word)
    raise AssertionError("MDIO does not end")


@cocotb.test()
async def both_ports_read_and_write_their_phys(dut):
    chance = random.Random(5)
    registers = {(phy, register): chance.randrange(1 << 16) for phy in (0, 1) for register in range(32)}
    await start(dut)
    phys = Phys(dut, registers)
    for _ in range(6):
        wanted = {}
        for port in (0, 1):  # at the same time: one waits for the other
            register, data = chance.randrange(32), chance.choice([None, chance.randrange(1 << 16)])
            wanted[port] = register, data
            await write(dut, REGISTERS.port[port].phy.mdio.address, request(port, port, register, data))
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
        await write(dut, REGISTERS.port[0].phy.mdio.address, request(0, phy, 2))
        assert await finished(dut, 0) == expected


@cocotb.test()
async def speed_follows_the_phy_or_the_host(dut):
    await start(dut)
    control = REGISTERS.port[1].phy.control
    status = REGISTERS.port[1].phy.status
    for said, runs in ((2, 2), (1, 1), (0, 0), (3, 2)):
        dut.link_speed.value = said << 2 | 2
        dut.link_up.value = 0b10
        await ClockCycles(dut.clk, 4)
        word = await read(dut, status.address)
        assert (status.link.of(word), status.speed.of(word), status.running.of(word)) == (1, said, runs)
        assert int(dut.speed.value) >> 2 == runs and int(dut.speed.value) & 3 == 2
    await write(dut, control.address, control.follow.put(0) | control.speed.put(1))
    await ClockCycles(dut.clk, 4)
    assert int(dut.speed.value) == 1 << 2 | 2


@cocotb.test()
async def delays_reach_their_port(dut):
    await start(dut)
    assert int(dut.rx_taps.value) == 80 << 7 | 80
    delays = REGISTERS.port[1].phy.delays
    await write(dut, delays.address, delays.rx.put(12) | delays.tx.put(34) | delays.tx_clock.put(127))
    await ClockCycles(dut.clk, 4)
    assert int(dut.rx_taps.value) == 12 << 7 | 80
    assert int(dut.tx_taps.value) == 34 << 7
    assert int(dut.tx_clock_taps.value) == 127 << 7


@cocotb.test()
async def the_receive_clock_is_measured(dut):
    await start(dut)
    cocotb.start_soon(Clock(dut.rx_clk_0, 8, "ns").start())
    cocotb.start_soon(Clock(dut.rx_clk_1, 40, "ns").start())
    await Timer(2 * 2**17 * 8 + 2000, "ns")
    fast = await read(dut, REGISTERS.port[0].phy.rx_clock.address)
    slow = await read(dut, REGISTERS.port[1].phy.rx_clock.address)
    assert abs(fast - 2048) <= 1 and abs(slow - 409.6) <= 1


def test_phy():
    sources = [*generated_registers(), *SOURCES]
    simulate("phy_bench", sources, __file__, arguments=[f"-Wno-{name}" for name in OF_THE_GENERATED_BLOCK])
