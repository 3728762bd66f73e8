"""Scatter of samples: of the published size, of mean zero, and no frame waits for it."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from support.simulated_trials import carry_out, device

from keisoku.ground.simulated_device.device import list_devices, parse_device, read_device, write_device
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.procedure.own.latency_line import samples

SWEEP = Plan.model_validate(
    {
        "methods": ["sweep"],
        "dut": "sim:gs908e",
        "frame_bytes": [9000],
        "sweep": {"trial_s": 2.0, "sample_s": 0.01, "rate_fps": 5000},
    }
)


def test_samples_scatter_as_the_device_says_and_no_frame_waits() -> None:
    plain, scattered = (
        carry_out(SWEEP, device(f"{text}\n"))[1][0] for text in ("", "[scatter]\nspread_ns = 50\nevery_ns = 10_000_000")
    )
    quiet, found = samples(plain), samples(scattered)
    assert len(found) == len(quiet) and statistics.pstdev(quiet) < 1e-3
    assert statistics.stdev(found) == pytest.approx(50, rel=0.2)
    assert statistics.fmean(found) == pytest.approx(statistics.fmean(quiet), abs=4 * 50 / len(found) ** 0.5)
    tracked = scattered.facts.tracked
    assert tracked.forwarded_frames == scattered.facts.sent.offered_frames


def test_a_device_is_written_and_read_again(tmp_path: Path) -> None:
    for one in list_devices():
        path = tmp_path / f"{one.name}.toml"
        write_device(path, one)
        assert read_device(path) == one


def test_a_stall_has_one_kind_of_first_time() -> None:
    with pytest.raises(Exception, match="both first_ns and within_ns"):
        parse_device("[stall]\nfirst_ns = 1\nwithin_ns = 5\nduration_ns = 2", "x")
