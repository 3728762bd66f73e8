"""The receiver on the bus: each register and the mailbox at its address; cocotbext-eth is the PHY."""

import os
import random
import sys

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, FallingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.eth import GmiiFrame, GmiiSource
from reference_receiver import Counts, judge, signed, with_fcs
from simulate import FPGA, generated_registers, simulate

from keisoku.ground.fpga.mailbox import PortMailbox
from keisoku.ground.fpga.registers import REGISTERS

RECEIVE = REGISTERS.port[0].receive


class Bus:
    """Reads and writes words; a link as keisoku.ground.fpga.mailbox takes it, were it not for `await`."""

    def __init__(self, dut):
        self.dut = dut
        dut.request.value = 0

    async def _carry_out(self, address, write, data=0):
        dut = self.dut
        await FallingEdge(dut.clk)
        dut.request.value, dut.request_is_write.value = 1, write
        dut.address.value, dut.write_data.value = address, data
        await FallingEdge(dut.clk)
        dut.request.value = 0
        acknowledge = dut.write_ack if write else dut.read_ack
        for _ in range(40):
            if acknowledge.value:
                value = dut.read_data.value.to_unsigned()
                await FallingEdge(dut.clk)
                return value
            await FallingEdge(dut.clk)
        raise AssertionError(f"no answer from {address:#x}")

    async def read(self, register):
        """The word of a register, or at an address."""
        return await self._carry_out(getattr(register, "address", register), False)

    async def write(self, field, value):
        """Sets one field of a register, and the others to zero."""
        await self._carry_out(field.address, True, field.insert(value))


async def begin(dut, period_ns):
    """Clocks, reset, and a source whose frames keep 8 byte times between them."""
    dut.rst.value, dut.time_rst.value = 1, 1
    source = GmiiSource(dut.rxd, dut.rx_er, dut.rx_dv, dut.rx_clk, mii_select=dut.nibbles)
    source.ifg = 8
    dut.nibbles.value = period_ns > 8
    Clock(dut.clk, 8, "ns").start()
    Clock(dut.time_clk, 7804, "ps").start()

    async def tell_time():
        while True:
            await FallingEdge(dut.time_clk)
            dut.now_ns.value = int(get_sim_time("ns"))

    cocotb.start_soon(tell_time())
    bus = Bus(dut)
    await ClockCycles(dut.clk, 20)
    dut.rst.value, dut.time_rst.value = 0, 0
    # The PHY's clock may come long after the reset.
    await ClockCycles(dut.clk, 50)
    Clock(dut.rx_clk, period_ns, "ns").start()
    await Timer(20 * period_ns, "ns")
    return source, bus


async def check_counts(bus, counts):
    """Reads every count at its address."""
    shown = {
        name: await bus.read(getattr(RECEIVE.counts, name))
        for name in ("fcs_bad", "misaligned", "undersize", "oversize", "fragments", "jabbers")
    }
    for name in ("frames", "bytes"):
        high, low = [await bus.read(getattr(RECEIVE.counts, f"{name}_{part}")) for part in ("high", "low")]
        shown[name] = high << 32 | low
    assert shown == {name: getattr(counts, name) for name in shown}
    assert await bus.read(RECEIVE.counts.lost_arrivals) == 0


@cocotb.test()
async def receives_what_the_source_sends(dut):
    """Frames of all kinds; arrivals, counts and stamps are as the reference's;at 1 Gb/s or 100 Mb/s."""
    period_ns = int(os.environ["PERIOD_NS"])
    chance = random.Random(1)
    source, bus = await begin(dut, period_ns)
    await bus.write(RECEIVE.checked_from.bytes, 42)
    await bus.write(RECEIVE.max_frame_bytes.bytes, 1000)
    assert await bus.read(RECEIVE.checked_from) == 42
    counts, wanted, sent = Counts(), [], []
    for number in range(60 if period_ns == 8 else 12):
        size = chance.choice([30, 59, 60, 61, 90, 200, 996, 997, 1200])
        body = bytearray(chance.randbytes(size))
        body[42 : max(42, size - 18)] = bytes(max(0, size - 60))
        frame = with_fcs(signed(bytes(body), 5, number, number * 1000))
        if chance.random() < 0.2:
            frame = frame[:-1] + bytes([frame[-1] ^ 1])
        errors = [int(chance.random() < 0.002) for _ in range(8 + len(frame))]
        wanted.append(judge(frame, 42, failed=any(errors)))
        counts.add(frame, wanted[-1], 1000)
        sent.append(GmiiFrame(bytes([0x55] * 7 + [0xD5]) + frame, errors))
    seen, sfds = [], []

    async def watch():
        while True:
            await FallingEdge(dut.clk)
            if dut.arrival_valid.value:
                seen.append(dut.arrival.value.to_unsigned())

    cocotb.start_soon(watch())
    for frame in sent:
        frame.tx_complete = lambda done: sfds.append(done.sim_time_sfd)
        await source.send(frame)
    await source.wait()
    await ClockCycles(dut.rx_clk, 40)
    await ClockCycles(dut.clk, 40)
    assert len(seen) == len(wanted)
    for bits, arrival, sfd in zip(seen, wanted, sfds, strict=True):
        flags = bits >> 175 & 0xF
        assert flags == arrival.fcs_bad << 3 | arrival.misaligned << 2 | arrival.marked << 1 | arrival.sums_to_zero
        assert bits >> 160 & 0x7FFF == arrival.frame_bytes
        if arrival.marked:
            assert (bits >> 96 & 0xFFFF, bits >> 48 & (1 << 48) - 1, bits & (1 << 48) - 1) == (
                arrival.stream,
                arrival.number,
                arrival.sent_ns,
            )
        late_ns = (bits >> 112 & (1 << 48) - 1) - sfd / 1000
        # The source's time is that of the clock after the SFD; the toggle comes a clock later, then stamp.sv.
        assert period_ns + 2 * 7.8 - 5 <= late_ns <= period_ns + 3 * 7.8 + 1
    await check_counts(bus, counts)
    await bus.write(RECEIVE.control.clear, 1)
    await check_counts(bus, Counts())


@cocotb.test()
async def shows_the_host_its_mailbox(dut):
    """What `fpga.mailbox` reads over the bus is what came in, in order; a write to it is answered and ignored."""
    chance = random.Random(2)
    source, bus = await begin(dut, 8)
    frames = [chance.randbytes(size) for size in (60, 61, 62, 63, 1514)]
    read = []

    class Link:
        """The host's link, whose words the bus carries while the host waits."""

        @resume
        async def read(self, address, words=1):
            return [await bus.read(address + 4 * at) for at in range(words)]

        @resume
        async def write(self, address, words):
            await bus._carry_out(address, True, words)

    box = PortMailbox(Link(), 0, lambda frame: None)
    for frame in frames[:4]:
        await source.send(GmiiFrame.from_payload(frame))
    await source.wait()
    await ClockCycles(dut.clk, 60)
    await bus._carry_out(REGISTERS.mailbox[0].address, True, 0xFFFFFFFF)
    read.append(await bridge(box.receive)())
    await source.send(GmiiFrame.from_payload(frames[4]))
    await source.wait()
    await ClockCycles(dut.clk, 60)
    for _ in range(5):
        read.append(await bridge(box.receive)())
    assert read == [*frames, None]
    assert await bus.read(RECEIVE.counts.mailbox_missed) == 0


@pytest.mark.parametrize(
    ("case", "period_ns"),
    [
        ("receives_what_the_source_sends", 8),
        pytest.param("receives_what_the_source_sends", 40, marks=pytest.mark.long),
        ("shows_the_host_its_mailbox", 8),
    ],
)
def test_receive_port(case, period_ns):
    """With the register block as registers.rdl has it."""
    sources = [
        *generated_registers(),
        *(f"rtl/cdc/{name}.sv" for name in ("sync_bit", "async_fifo")),
        "rtl/time/stamp.sv",
        *sorted(str(path.relative_to(FPGA)) for path in (FPGA / "rtl/receive").glob("*.sv")),
        "tb/receive_port/receive_port_bench.sv",
    ]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PERIOD_NS": str(period_ns)}
    simulate(
        "receive_port_bench",
        sources,
        __file__,
        testcase=case,
        environment=environment,
        arguments=["-Wno-fatal", "-Wno-BLKANDNBLK", "--output-split", "0", "--x-initial", "0"],
    )
