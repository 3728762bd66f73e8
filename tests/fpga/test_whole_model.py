"""What else the whole instrument must do around a device: bitmaps, resets, cut-through, PHYs' registers, mailboxes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.fpga_bench import Bench, Told, device, frames_of, needs_model
from support.fpga_truth import expected, spread

from keisoku.errors import EngineError
from keisoku.ground.fpga.cable import bare_cable
from keisoku.ground.fpga.registers import REGISTERS
from keisoku.ground.fpga.sim import VERDICTS, Surroundings
from keisoku.ground.simulated_device.device import parse_device
from keisoku.subjects.device.testbed.fpga_hosts import FpgaHosts
from keisoku.subjects.device.testbed.requirements import WantedTraffic

pytestmark = needs_model

FRAMES = 3000
PHYS = Surroundings(phy_tx_ns=(200.0, 204.0), phy_rx_ns=(256.0, 259.913))
REALTEK = 0x001C
BMCR, BMSR, IDENTIFIER = 0, 1, 2


def is_whole(told: Told, rows: np.ndarray, from_port: int) -> None:
    """Counts and numbers are those of the truth."""
    truth = expected(rows, from_port)
    assert told.sent == truth.sent
    assert told.counted.forwarded_frames == len(truth.first_arrivals)
    np.testing.assert_array_equal(spread(told.lost), truth.lost)


def test_losses_too_fast_for_the_memory_are_in_the_bitmaps() -> None:
    """Losses are told when they leave the window of 4096 frames, at the line rate one every 500 ns or so."""
    with Bench(device(loss={"ratio": 0.5}), Surroundings(memory_every=50, seed=3)) as bench:
        told, rows = bench.trial(frames_of([64]), 9000)
        status = bench.instrument._read(REGISTERS.memory.status.address)
        assert REGISTERS.memory.status.bitmap.extract(status) == 0b11
        assert REGISTERS.memory.status.bitmap_full.extract(status) == 0
    for port in (0, 1):
        # Losses in a bitmap have no time.
        assert sum(event.frames for event in told[port].events if event.time_ns == 0) > 3000
        is_whole(told[port], rows, port)


def test_a_device_that_resets_loses_what_comes_meanwhile() -> None:
    with Bench(device(reset={"at_ns": 400_000, "duration_ns": 200_000})) as bench:
        told, rows = bench.trial(frames_of([64]), FRAMES)
    for port in (0, 1):
        is_whole(told[port], rows, port)
        lost = spread(told[port].lost)
        # 672 ns a frame: 298 in the time of the reset, and those that were inside when it began.
        assert 298 <= len(lost) <= 305 and lost[-1] - lost[0] == len(lost) - 1
        of_port = rows[(rows["from_port"] == port) & np.isin(rows["number"], lost)]
        assert set(of_port["verdict"]) == {VERDICTS.index("reset")}


def test_a_device_is_reset_by_hand_between_two_trials() -> None:
    with Bench(device(reset={"duration_ns": 2_500_000})) as bench:
        bench.model.reset_device()
        told, rows = bench.trial(frames_of([64]), 100)
        assert told[0].counted.forwarded_frames == told[1].counted.forwarded_frames == 0
        is_whole(told[0], rows, 0)
        bench.model.run(2_500_000)
        told, rows = bench.trial(frames_of([64]), 100)
        assert told[0].counted.forwarded_frames == told[1].counted.forwarded_frames == 100


def test_a_cut_through_device_has_one_latency_for_all_sizes() -> None:
    cut = parse_device("forwarding = { mode = 'cut-through', ns_per_byte = 0.0, constant_ns = 1500.0 }", "cut")
    means = []
    with Bench(cut, Surroundings(phases_ps=(1000, 300, 2500, 6100))) as bench:
        for size in (64, 1518):
            interval = size + 100 + Fraction(1, 3)  # stamps meet the clock in many phases
            told, rows = bench.trial(frames_of([size]), 60, interval_bytes=interval)
            for port in (0, 1):
                is_whole(told[port], rows, port)
                truth = expected(rows, port).first_arrivals
                true_ns = (truth["received_ps"] - truth["sent_ps"]) / 1000
                own = told[port].latencies
                # From stamp to stamp: the byte times of both ends, and a step of the clock.
                assert own.min_ns - 24 <= true_ns.min() and true_ns.max() <= own.max_ns + 24
            means.append(told[0].latencies.sum_ns / told[0].latencies.count)
    assert max(means) - min(means) < 8


def test_phys_are_read_and_written_by_mdio() -> None:
    with Bench(bare_cable(1.0), PHYS) as bench:
        instrument = bench.instrument
        for port in (0, 1):
            assert instrument.mdio_read(port, port, IDENTIFIER) == REALTEK
            assert instrument.mdio_read(port, port, BMSR) & 0x0004
        instrument.mdio_write(0, 0, 16, 0x5A5A)
        instrument.mdio_write(1, 1, 16, 0xA5A5)
        assert (instrument.mdio_read(0, 0, 16), instrument.mdio_read(1, 1, 16)) == (0x5A5A, 0xA5A5)
        assert instrument.mdio_read(0, 1, 16) == 0xA5A5  # one pair of wires serves both
        bench.model.set_link_up(1, False)
        bench.model.run(1000)
        assert not instrument.mdio_read(1, 1, BMSR) & 0x0004
        assert instrument.mdio_read(0, 0, BMSR) & 0x0004
        assert instrument.link_bits_per_second(1) is None
        with pytest.raises(EngineError, match="no PHY has address 7"):
            instrument.mdio_read(0, 7, BMCR)


@pytest.mark.parametrize(
    ("addresses", "gateway"),
    [(["198.18.0.2", "198.18.0.9"], "198.18.0.9"), (["2001:2::2", "2001:2::8-2001:2::f"], "2001:2::c")],
    ids=["arp", "nd"],
)
def test_the_host_answers_for_its_addresses_through_the_mailboxes(addresses: list[str], gateway: str) -> None:
    """Port 0 asks for an address of port 1, whose answer comes back over the cable."""
    with Bench(bare_cable(1.0), PHYS) as bench:
        instrument = bench.instrument
        hosts = FpgaHosts(instrument, [0, 1], addresses, [gateway])
        let_pass = instrument.let_pass

        def answering(ns: int) -> None:
            let_pass(ns // 2)
            hosts.answer()
            let_pass(ns - ns // 2)

        instrument.let_pass = answering  # type: ignore[method-assign]
        (route,) = hosts.routes(WantedTraffic(((0, 1),)))
        assert route.forward.next_hop_mac == "02:00:00:00:00:01"
