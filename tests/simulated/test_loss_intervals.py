"""The interval of a loss ratio contains the device's own ratio as often as it says."""

from __future__ import annotations

import pytest
from support.simulated_trials import carry_out, device, plan

from keisoku.subjects.device.analysis.loss_ratio import loss_of

LOST, CORRUPT = 0.004, 0.02
RUNS = 40


@pytest.fixture(scope="module")
def faulty() -> str:
    return f"[loss]\nratio = {LOST}\n[faults]\ncorrupt_ratio = {CORRUPT}\n"


def test_corrupt_frames_are_in_the_interval_of_the_loss(faulty: str) -> None:
    """With the scatter of lost frames alone it contained the truth in 59 % of runs."""
    truth = 100 * (LOST + (1 - LOST) * CORRUPT)
    hits = 0
    for seed in range(RUNS):
        _, records = carry_out(plan("trial", seed=seed, trial={"trial_s": 0.3, "rate_fps": 50_000}), device(faulty))
        bounds = loss_of(records[0]).bounds
        hits += bounds is not None and bounds[0] <= truth <= bounds[1]
    assert hits >= 0.87 * RUNS


def test_without_a_wait_frames_under_way_are_no_loss() -> None:
    """With waits of 0 a device that loses nothing had a throughput of 0 and a loss of 100 %."""
    phases = {"drain_s": 0.0, "rest_s": 0.0, "learning_wait_s": 0.0}
    result, records = carry_out(plan("throughput", phases=phases, throughput={"trial_s": 0.05}), device(""))
    assert not result.rows[0].figures
    assert all("nothing waited for them: give --waits" in " ".join(one.invalid_because) for one in records)
