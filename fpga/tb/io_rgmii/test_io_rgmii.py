"""The RGMII port at its pins against cocotbext-eth's PHY: bytes both ways, in-band status, delays in picoseconds."""

import os
import random
import warnings

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, RisingEdge, Timer
from simulate import simulate

SOURCES = [
    "rtl/cdc/sync_bit.sv",
    "rtl/cdc/sync_pulse.sv",
    "rtl/io/delay_line.sv",
    "rtl/io/behavioural_delay.sv",
    "rtl/io/behavioural_rgmii.sv",
    "rtl/io/rgmii_port.sv",
    "tb/io_rgmii/rgmii_bench.sv",
]
MB_PER_S = {0: 10, 1: 100, 2: 1000}
CLOCKS_OF_A_BYTE = {0: 100, 1: 10, 2: 1}
TAP_PS = 25


async def start(dut, speed):
    """Out of reset at a speed, with the transmit clock 2 ns late as a PHY without delays needs it."""
    for name in ("tx_strobe", "txd", "tx_en", "tx_er", "tx_half", "rx_taps", "tx_taps"):
        getattr(dut, name).value = 0
    dut.pin_rx_clk.value = dut.pin_rx_ctl.value = dut.pin_rxd.value = 0
    dut.speed.value = speed
    dut.tx_clock_taps.value = 80
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 8, "ns").start())
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 16 * 90)  # the delay line takes 16 clocks a tap


def phy(dut, speed):
    from cocotbext.eth import RgmiiPhy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RgmiiPhy(
            dut.pin_txd, dut.pin_tx_ctl, dut.pin_tx_clk, dut.pin_rxd, dut.pin_rx_ctl, dut.pin_rx_clk,
            speed=MB_PER_S[speed] * 1_000_000,
        )  # fmt: skip


async def send(dut, speed, octets, error_at=None, half_at=None):
    """Octets as the generator gives them, a strobe each, then a gap of twelve."""
    for place, octet in enumerate([*octets, *[None] * 12]):
        dut.tx_strobe.value = 1
        dut.txd.value = octet or 0
        dut.tx_en.value = octet is not None
        dut.tx_er.value = place == error_at
        dut.tx_half.value = place == half_at
        await RisingEdge(dut.clk)
        if speed != 2:
            dut.tx_strobe.value = 0
            await ClockCycles(dut.clk, CLOCKS_OF_A_BYTE[speed] - 1)


def frames(speed, seed):
    chance = random.Random(seed)
    sizes = (60, 61, 200, 1514) if speed == 2 else (60, 61)
    return [bytes(chance.randrange(256) for _ in range(size)) for size in sizes]


@cocotb.test()
async def frames_leave(dut):
    from cocotbext.eth import GmiiFrame

    speed = int(os.environ["SPEED"])
    await start(dut, speed)
    wire = phy(dut, speed)
    wire.tx.mii_mode = speed != 2
    for payload in frames(speed, 1):
        frame = GmiiFrame.from_payload(payload)
        await send(dut, speed, frame.data)
        arrived = await wire.tx.recv()
        assert arrived.get_payload() == payload and arrived.check_fcs() and not arrived.error


@cocotb.test()
async def an_error_leaves(dut):
    from cocotbext.eth import GmiiFrame

    speed = int(os.environ["SPEED"])
    await start(dut, speed)
    wire = phy(dut, speed)
    wire.tx.mii_mode = speed != 2
    frame = GmiiFrame.from_payload(bytes(60))
    await send(dut, speed, frame.data, error_at=30)
    arrived = await wire.tx.recv(compact=False)
    assert [place for place, error in enumerate(arrived.error) if error] == [30]


@cocotb.test()
async def a_frame_ends_in_the_middle_of_a_byte(dut):
    speed = int(os.environ["SPEED"])
    await start(dut, speed)
    nibbles = []

    async def wire():
        while True:
            await RisingEdge(dut.pin_tx_clk)
            if int(dut.pin_tx_ctl.value):
                nibbles.append(int(dut.pin_txd.value))

    cocotb.start_soon(wire())
    await send(dut, speed, [0x55, 0xD5, 0x12, 0x34], half_at=3)
    assert nibbles == [5, 5, 5, 0xD, 2, 1, 4]


@cocotb.test()
async def frames_arrive(dut):
    from cocotbext.eth import GmiiFrame

    speed = int(os.environ["SPEED"])
    await start(dut, speed)
    dut.rx_taps.value = 40
    await ClockCycles(dut.clk, 16 * 50)
    wire = phy(dut, speed)
    wire.rx.mii_mode = speed != 2
    for payload in frames(speed, 2):
        frame = GmiiFrame.from_payload(payload)
        await wire.rx.send(frame)
        seen = []
        while not seen or int(dut.rx_dv.value):
            await RisingEdge(dut.rx_clk)
            await ReadOnly()
            if int(dut.rx_dv.value):
                assert not int(dut.rx_er.value)
                seen.append(int(dut.rxd.value))
        if speed != 2:
            assert all(octet >> 4 == octet & 15 for octet in seen), "both halves of a slow clock are the same nibble"
            nibbles = [octet & 15 for octet in seen]
            seen = [low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=True)]
        assert bytes(seen) == bytes(GmiiFrame.from_payload(payload).data)


@cocotb.test()
async def status_between_frames_is_read(dut):
    speed = int(os.environ["SPEED"])
    await start(dut, speed)
    assert not int(dut.link_up.value)
    cocotb.start_soon(Clock(dut.pin_rx_clk, {0: 400, 1: 40, 2: 8}[speed], "ns").start())
    dut.pin_rxd.value = 0b1001 | speed << 1
    await ClockCycles(dut.pin_rx_clk, 60)
    assert (int(dut.link_up.value), int(dut.link_speed.value), int(dut.full_duplex.value)) == (1, speed, 1)
    dut.pin_rx_ctl.value = 1  # a frame says nothing of the link
    dut.pin_rxd.value = 0
    await ClockCycles(dut.pin_rx_clk, 60)
    assert int(dut.link_up.value)
    dut.pin_rx_ctl.value = 0
    await ClockCycles(dut.pin_rx_clk, 60)
    assert not int(dut.link_up.value)


@cocotb.test()
async def the_transmit_clock_moves_by_taps(dut):
    await start(dut, 2)
    dut.tx_en.value = dut.tx_er.value = dut.tx_strobe.value = 1  # every edge of the clock changes tx_ctl

    async def lateness():
        await FallingEdge(dut.pin_tx_ctl)
        fell = get_sim_time("ps")
        await FallingEdge(dut.pin_tx_clk)
        return get_sim_time("ps") - fell

    for data_taps, clock_taps in ((0, 80), (0, 120), (20, 120), (20, 30), (0, 1)):
        dut.tx_taps.value, dut.tx_clock_taps.value = data_taps, clock_taps
        await ClockCycles(dut.clk, 16 * 130)
        assert await lateness() == (clock_taps - data_taps) * TAP_PS


@cocotb.test()
async def the_eye_lies_where_the_delay_puts_it(dut):
    """Nibbles that come 1 ns before their edge: up to 39 taps they arrive in time, from 40 on the one before does."""
    await start(dut, 2)

    async def wire():
        while True:
            for edge, nibble in ((1, 0x6), (0, 0x9)):
                dut.pin_rxd.value = nibble
                await Timer(1000, "ps")
                dut.pin_rx_clk.value = edge
                await Timer(3000, "ps")

    cocotb.start_soon(wire())
    arrived = {}
    for taps in (0, 20, 38, 39, 40, 41, 60, 39):
        dut.rx_taps.value = taps
        await ClockCycles(dut.clk, 16 * 24)
        arrived[taps] = int(dut.rxd.value)
    assert arrived == {taps: 0x96 if taps < 40 else 0x69 for taps in (0, 20, 38, 39, 40, 41, 60)}


@pytest.mark.parametrize("speed", [2, 1, 0])
def test_rgmii(speed):
    everywhere = ["frames_leave", "frames_arrive", "an_error_leaves", "status_between_frames_is_read"]
    gigabit = ["the_transmit_clock_moves_by_taps", "the_eye_lies_where_the_delay_puts_it"]
    simulate(
        "rgmii_bench",
        SOURCES,
        __file__,
        testcase=everywhere + (gigabit if speed == 2 else ["a_frame_ends_in_the_middle_of_a_byte"]),
        arguments=["--timing", "-CFLAGS", "-fcoroutines", "--no-sched-zero-delay", "-Wno-TIMESCALEMOD"],
        environment={"SPEED": str(speed)},
    )
