"""A sender that the host stopped for a whole trial."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pytest
from support.trials import drive

from keisoku.device.calibration.bias import Bias
from keisoku.device.method.method import begin
from keisoku.device.plan.plan import parse
from keisoku.device.plan_testbed import open_engine
from keisoku.device.record.trial import Facts, Trial, TrialRecord
from keisoku.run.result import Result

PLANS: dict[str, dict[str, Any]] = {
    "loss": {"maximum_fps": 2000, "trial_s": 0.1},
    "calibrate": {"trial_s": 0.01, "repetitions": 2, "loads_percent": [10]},
    "reordering": {"trial_s": 0.01},
    "sweep": {"trial_s": 0.01, "rate_fps": 1000},
    "forwarding": {"trial_s": 0.01},
}


def measured(procedure: str, silent: Container[int]) -> tuple[Result, list[TrialRecord]]:
    """The result and all trials; those with these numbers sent no frame."""
    dut = "sim:gs908e" if procedure != "calibrate" else "sim:cable"
    own = {procedure: PLANS[procedure]}
    plan = parse({"methods": [procedure], "dut": dut, "frame_bytes": [64], "calibration": "none", **own})

    def stopped(index: int, trial: Trial, facts: Facts) -> Facts:
        if index not in silent:
            return facts
        senders = [
            one.model_copy(update={"sent": one.sent.model_copy(update={"offered_frames": 0})})
            for one in facts.transmitters
        ]
        return Facts(**dict(facts) | {"transmitters": senders})  # A copy would keep the sums that were computed.

    with open_engine(plan) as engine:
        method = begin(procedure, plan, engine.capabilities, Bias(), {})
        result, records = drive(procedure, method, engine, change=stopped)
    assert result is not None
    return result, records


@pytest.mark.parametrize("procedure", PLANS)
def test_trials_without_any_frame_change_no_figure(procedure: str) -> None:
    """`loss` and `calibrate` ended with "frames_per_second: 0 is not a rate" when the host stopped a whole trial."""
    result, records = measured(procedure, ())
    found, more = measured(procedure, (0, 2, 3))
    heard = [record.trial for record in more if record.facts.sent.offered_frames]
    assert [trial.frames_per_second for trial in heard] == [record.trial.frames_per_second for record in records]
    assert len(heard) < len(more)
    assert [row.figures.keys() for row in found.rows] == [row.figures.keys() for row in result.rows]


@pytest.mark.parametrize("procedure", PLANS)
def test_a_tester_that_never_sends_has_no_figure_of_a_device(procedure: str) -> None:
    """It was also asked for a load of 0 frames/s."""
    found, _ = measured(procedure, range(10_000))
    assert not any(name in row.figures for row in found.rows for name in ("loss", "bias", "throughput"))
