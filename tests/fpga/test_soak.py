"""Both ports at once through a bad switch on clocks of its own: what accounting says of every frame is the truth.

40 000 frames a port; KEISOKU_SOAK_FRAMES asks for another number, as the long ladder does for a million.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from support.fpga_bench import Bench, Told, device, frames_of, needs_model
from support.fpga_truth import Expected, expected, spread

from keisoku.ground.fpga.events import EventKind
from keisoku.ground.fpga.sim import Surroundings

pytestmark = [needs_model, pytest.mark.timeout(3600)]

FRAMES = int(os.environ.get("KEISOKU_SOAK_FRAMES", "40000"))
STEP_NS = 320 / 41 + 1
"""A step of the time base, and the whole nanosecond to which stamps are cut."""
BAD = {
    "loss": {"ratio": 0.01},
    "faults": {"duplicate_ratio": 0.004, "reorder_ratio": 0.006, "corrupt_ratio": 0.005},
    "clock_offset_ppm": {"1": 100.0, "2": -100.0},
}
# Sizes up to 200 byte make the frame rate high, the gaps leave room for the copies at the slow output.
SIZES = [64, 65, 66, 67, 128, 64, 99, 200]
GAPS = [12, 13, 14, 40, 8, 64, 12]


def check_told(told: Told, truth: Expected) -> None:
    """Every list and count of one direction against the truth."""
    counted = told.counted
    assert told.sent == truth.sent == FRAMES
    np.testing.assert_array_equal(spread(told.lost), truth.lost)
    np.testing.assert_array_equal(told.numbers(EventKind.DUPLICATED), truth.duplicated)
    np.testing.assert_array_equal(told.numbers(EventKind.REORDERED), truth.reordered)
    np.testing.assert_array_equal(told.numbers(EventKind.CORRUPT), truth.corrupt)
    assert not len(told.numbers(EventKind.LATE)) and not len(told.numbers(EventKind.DROPPED))
    assert counted.forwarded_frames == len(truth.first_arrivals)
    assert counted.lost_frames == len(truth.lost)
    assert counted.duplicated_frames == len(truth.duplicated)
    assert counted.reordered_frames == len(truth.reordered)
    assert counted.corrupt_frames == len(truth.corrupt)
    assert (counted.foreign_frames, counted.other_frames, counted.late_frames, counted.dropped_frames) == (0, 0, 0, 0)


def check_latencies(told: Told, truth: Expected) -> None:
    """Each sampled frame within one step of the clock, the sums within what that allows for all."""
    own_ns = (truth.first_arrivals["received_ps"] - truth.first_arrivals["sent_ps"]) / 1000
    by_number: dict[int, list[float]] = {}
    for row in truth.intact:
        by_number.setdefault(int(row["number"]), []).append((row["received_ps"] - row["sent_ps"]) / 1000)
    sampled = [event for event in told.events if event.kind is EventKind.FRAME]
    assert len(sampled) > FRAMES // 200
    # Copies are sampled as well: the nearest of a number's arrivals is meant.
    errors = np.array([min((event.latency_ns - ns for ns in by_number[event.first]), key=abs) for event in sampled])
    constant_ns = (errors.max() + errors.min()) / 2
    assert np.abs(errors - constant_ns).max() <= STEP_NS
    latencies = told.latencies
    assert latencies.count == len(own_ns)
    assert abs(latencies.min_ns - own_ns.min() - constant_ns) <= 2 * STEP_NS
    assert abs(latencies.max_ns - own_ns.max() - constant_ns) <= 2 * STEP_NS
    assert abs(latencies.sum_ns / latencies.count - own_ns.mean() - constant_ns) < 1
    assert sum(latencies.bins.values()) == latencies.count


@pytest.mark.parametrize("bad_fcs_ratio", [pytest.param(0.0, marks=pytest.mark.long), 0.5])
def test_every_fate_of_every_frame_is_told_as_it_was(bad_fcs_ratio: float) -> None:
    around = Surroundings(seed=5, bad_fcs_ratio=bad_fcs_ratio, corrupt_from=14)
    frames = frames_of([SIZES[place % len(SIZES)] for place in range(56)], GAPS)
    with Bench(device(**BAD), around) as bench:
        told, rows = bench.trial(frames, FRAMES, sample_every=64, shift=6)
    for port in (0, 1):
        truth = expected(rows, port)
        assert min(map(len, (truth.lost, truth.duplicated, truth.reordered, truth.corrupt))) > FRAMES // 1000
        check_told(told[port], truth)
        check_latencies(told[port], truth)


def test_an_overload_loses_runs_of_frames_and_all_are_told() -> None:
    slow = device(output={"service_bits_per_second": 400e6, "buffer_bytes": 4096})
    with Bench(slow) as bench:
        told, rows = bench.trial(frames_of([64]), FRAMES // 5)
    for port in (0, 1):
        truth = expected(rows, port)
        assert len(truth.lost) > FRAMES // 20
        np.testing.assert_array_equal(spread(told[port].lost), truth.lost)
        assert told[port].counted.lost_frames == len(truth.lost)
        assert told[port].counted.forwarded_frames == len(truth.first_arrivals)
