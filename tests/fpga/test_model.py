"""What leaves the instrument's GMIIs, byte time by byte time, and what it measures on devices whose truth is known.

KEISOKU_EVERY_SIZE=1 tries every size from 64 to 16 000 byte, as the long ladder does, and not a sample of them.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from support.fpga_bench import STREAMS, Bench, device, frames_of, needs_model
from support.fpga_truth import expected

from keisoku.errors import PlanError
from keisoku.ground.fpga.cable import bare_cable
from keisoku.ground.fpga.link import Link
from keisoku.ground.fpga.sim import Model, Surroundings, check_device
from keisoku.ground.fpga.sim_server import SimServer
from keisoku.ground.simulated_device.device import SimulatedDevice, find_device, list_devices, parse_device

pytestmark = [needs_model, pytest.mark.timeout(3600)]

LINE_RATE_64 = 1_488_095
SIZES = list(range(64, 16_001))
if not os.environ.get("KEISOKU_EVERY_SIZE"):
    SIZES = [*range(64, 130), *range(130, 16_000, 397), 1518, 9000, 15_999, 16_000]
PROGRAM = 1024
NS_PER_M = 4.72284


def sent_by(rows: np.ndarray, port: int) -> np.ndarray:
    return rows[(rows["from_port"] == port) & (rows["is_copy"] == 0)]


def test_line_rate_at_every_size_on_both_ports_at_once() -> None:
    with Bench(device(output={"buffer_bytes": 4_000_000}, clock_offset_ppm={"1": 100.0, "2": -100.0})) as bench:
        for start in range(0, len(SIZES), PROGRAM):
            sizes = SIZES[start : start + PROGRAM]
            told, rows = bench.trial(frames_of(sizes), len(sizes), drain_ns=3_000_000)
            for port in (0, 1):
                sent = sent_by(rows, port)
                assert sent["stream"].tolist() == [STREAMS[port]] * len(sizes)
                assert sent["number"].tolist() == list(range(len(sizes)))
                assert sent["frame_bytes"].tolist() == sizes
                assert set(sent["gap_bytes"][1:]) == {12}
                assert set(sent["preamble_bytes"]) == {8}
                assert told[port].counted.forwarded_frames == told[port].counted.received_frames == len(sizes)


def test_frames_of_64_byte_leave_at_the_line_rate_of_both_ports() -> None:
    with Bench(device()) as bench:
        _, rows = bench.trial(frames_of([64]), 3000)
    for port in (0, 1):
        starts_ps = sent_by(rows, port)["sent_ps"]
        rate = (len(starts_ps) - 1) / (int(starts_ps[-1] - starts_ps[0]) * 1e-12)
        assert int(rate) == LINE_RATE_64
        assert set(np.diff(starts_ps)) == {84 * 8000}


def test_gaps_are_as_programmed_in_single_byte_times() -> None:
    gaps = [8, 9, 10, 11, 12, 13, 27, 100, 1000, 8, 8]
    frames = frames_of([64, 65, 1518, 100, 83, 64, 64, 64, 70, 71, 72], gaps)
    with Bench(device(output={"buffer_bytes": 4_000_000})) as bench:
        _, rows = bench.trial(frames, 5 * len(frames))
    for port in (0, 1):
        assert sent_by(rows, port)["gap_bytes"][1:].tolist() == (gaps * 5)[:-1]


def test_a_constant_rate_is_kept_to_a_byte_time() -> None:
    interval = Fraction(1000, 3)
    with Bench(device()) as bench:
        _, rows = bench.trial(frames_of([64]), 3001, interval_bytes=interval)
    for port in (0, 1):
        starts = (sent_by(rows, port)["sent_ps"] // 8000).astype(float)
        ideal = starts[0] + np.arange(len(starts)) * float(interval)
        assert np.abs(starts - ideal).max() <= 1


def test_the_latency_of_a_stored_frame_is_its_line() -> None:
    sizes = [64, 128, 256, 512, 1024, 1280, 1518, 4000, 9000]
    means: dict[int, tuple[float, float]] = {}
    with Bench(find_device("gs908e"), Surroundings(seed=3)) as bench:
        for size in sizes:
            told, _ = bench.trial(frames_of([size], [113]), 200)
            means[size] = tuple(each.latencies.sum_ns / each.latencies.count for each in told)  # type: ignore[assignment]
    for port in (0, 1):
        slope, constant = np.polyfit(sizes, [means[size][port] for size in sizes], 1)
        assert slope == pytest.approx(8.0, abs=0.001)
        # The instrument's own share is calibrated on a cable; the phases of the clocks leave half a step.
        assert constant == pytest.approx(811 + own_latency_ns(), abs=4.5)


def own_latency_ns() -> float:
    """What the instrument adds to every latency, from a cable of a known delay."""
    with Bench(bare_cable(100 / NS_PER_M)) as bench:
        told, _ = bench.trial(frames_of([64], [77]), 400)
    latencies = told[0].latencies
    return latencies.sum_ns / latencies.count - 100


def test_latencies_on_a_cable_fall_in_two_bins_of_8_ns() -> None:
    with Bench(bare_cable(10.0), Surroundings(phy_tx_ns=(200.0, 200.0), phy_rx_ns=(256.0, 256.0))) as bench:
        first, _ = bench.trial(frames_of([64]), 3000)
        for port in (0, 1):
            least_ns = first[port].latencies.min_ns
            assert first[port].latencies.max_ns - least_ns < 16
        told, _ = bench.trial(frames_of([64]), 3000, origin_ns=first[0].latencies.min_ns)
    assert set(told[0].latencies.bins) <= {0, 1}


@pytest.mark.long  # tests/fpga/test_engine.py has its like for the whole engine.
def test_a_series_of_cables_gives_the_speed_in_them() -> None:
    lengths_m = [0.20, 1.04, 5.05, 10.04, 15.09, 25.25]
    around = Surroundings(phy_tx_ns=(200.0, 204.0), phy_rx_ns=(256.0, 259.913))
    means = []
    for length_m in lengths_m:
        with Bench(bare_cable(length_m), around) as bench:
            told, rows = bench.trial(frames_of([64], [77]), 3000)
        truth = expected(rows, 0).first_arrivals
        delay_ns = (truth["received_ps"] - truth["sent_ps"]) / 1000
        assert set(np.round(delay_ns, 3)) == {round(459.913 + round(length_m * NS_PER_M, 3), 3)}
        means.append(told[0].latencies.sum_ns / told[0].latencies.count)
    slope, _ = np.polyfit(lengths_m, means, 1)
    # Mean errors of a clock locked to the frames' stay below 0.7 ns (fpga/rtl/time/time_base.sv).
    assert slope == pytest.approx(NS_PER_M, abs=2 * 0.7 / (max(lengths_m) - min(lengths_m)))
    constants = np.array(means) - np.array(lengths_m) * NS_PER_M
    assert constants.max() - constants.min() < 2 * 0.7


def test_ports_of_100_mb_per_s_send_and_receive() -> None:
    slow = parse_device("link_bits_per_second = 1e8\nforwarding = { ns_per_byte = 80.0, constant_ns = 5000.0 }", "slow")
    with Bench(slow) as bench:
        assert [bench.instrument.link_bits_per_second(port) for port in (0, 1)] == [100_000_000] * 2
        told, rows = bench.trial(frames_of([64, 1518, 65], [12, 15, 12]), 90)
    for port in (0, 1):
        assert told[port].counted.forwarded_frames == 90
        assert set(sent_by(rows, port)["gap_bytes"][1:]) == {12, 15}


def test_the_same_seed_gives_the_same_run_and_another_does_not() -> None:
    dut = device(loss={"ratio": 0.1}, jitter={"distribution": "normal", "spread_ns": 50.0})
    runs = []
    for seed in (1, 1, 2):
        with Bench(dut, Surroundings(seed=seed)) as bench:
            runs.append(bench.trial(frames_of([64], [40]), 500)[1])
    assert runs[0].tobytes() == runs[1].tobytes() != runs[2].tobytes()


def test_a_host_reaches_the_model_over_tcp_and_a_terminal() -> None:
    with Model(device()) as model, SimServer(model) as server:
        host, port = server.listen()
        with Link.open(f"{host}:{port}") as link:
            assert link.read(0x0)[0] == 0x4B45_4953
    with Model(device(), Surroundings(link_baud=12e6)) as model, SimServer(model) as server:
        pytest.importorskip("serial")
        with Link.open(server.open_terminal()) as link:
            assert link.read(0xC)[0] == 2


def test_a_server_refuses_addresses_that_others_can_reach() -> None:
    with Model(device()) as model, SimServer(model) as server, pytest.raises(PlanError, match="other machines"):
        server.listen("0.0.0.0")


@pytest.mark.parametrize("dut", list_devices(), ids=lambda dut: dut.name)
def test_every_device_that_comes_with_keisoku_can_be_put_between_the_ports(dut: SimulatedDevice) -> None:
    check_device(dut)


@pytest.mark.parametrize(
    ("toml", "field"),
    [
        ("input = { buffer_bytes = 4096 }", "input"),
        ("address_table = { entries = 5 }", "address_table"),
        ("link_bits_per_second = 2.5e9", "link_bits_per_second"),
        ("forwarding = { constant_ns = 10.0 }", "forwarding.constant_ns"),
        ("max_frame_bytes = 1518\nforwarding = { mode = 'cut-through', constant_ns = 500.0 }", "max_frame_bytes"),
        ("loss = { ratio = 0.1 }\ncable = {}\nforwarding = { mode = 'cut-through', ns_per_byte = 0.0 }", "loss.ratio"),
    ],
)
def test_what_the_model_cannot_do_is_refused(toml: str, field: str) -> None:
    with pytest.raises(PlanError) as refused:
        check_device(parse_device(toml, "bench"))
    assert refused.value.field == field
