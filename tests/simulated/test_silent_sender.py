"""A sender that the host stopped for a whole trial."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pytest
from support.simulated_trials import carry_out, plan

from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.device import find_device
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

PLANS: dict[str, dict[str, Any]] = {
    "loss": {"maximum_fps": 2000, "trial_s": 0.1},
    "calibrate": {"trial_s": 0.01, "repetitions": 2, "loads_percent": [10]},
    "reordering": {"trial_s": 0.01},
    "sweep": {"trial_s": 0.01, "rate_fps": 1000},
    "forwarding": {"trial_s": 0.01},
}


def measured(procedure: str, silent: Container[int]) -> tuple[Result, list[TrialRecord]]:
    """The result and all trials; those with these numbers sent no frame."""

    def stopped(index: int, trial: Trial, facts: Facts) -> Facts:
        if index not in silent:
            return facts
        senders = [
            one.model_copy(update={"sent": one.sent.model_copy(update={"offered_frames": 0})})
            for one in facts.transmitters
        ]
        return Facts(**dict(facts) | {"transmitters": senders})  # A copy would keep the sums that were computed.

    name = "cable" if procedure == "calibrate" else "gs908e"
    own = plan(procedure, frame_bytes=[64], calibration="none", **{procedure: PLANS[procedure]})
    return carry_out(own, find_device(name), stopped)


@pytest.mark.parametrize("procedure", PLANS)
def test_trials_without_any_frame_change_no_figure(procedure: str) -> None:
    """`loss` and `calibrate` ended with "frames_per_second: 0 is not a rate" when the host stopped a whole trial."""
    result, records = measured(procedure, ())
    found, more = measured(procedure, (0, 2, 3))
    heard = [record.trial for record in more if record.facts.sent.offered_frames]
    assert [trial.frames_per_second for trial in heard] == [record.trial.frames_per_second for record in records]
    assert len(heard) < len(more)
    assert [row.figures.keys() for row in found.rows] == [row.figures.keys() for row in result.rows]
    assert found.deviations == result.deviations, "no maximum is said to be the tester's"


def test_the_loads_of_a_loss_rate_are_those_that_were_asked_for() -> None:
    found, records = measured("loss", (0,))
    asked = [record.trial.frames_per_second for record in records]
    assert asked[:2] == [2000.0, 2000.0] and min(asked) > 0
    assert [row.figures["load"].value for row in found.rows] == [100.0, 90.0]
    assert not any("the most the tester could offer" in deviation for deviation in found.deviations)


@pytest.mark.parametrize("procedure", PLANS)
def test_a_tester_that_never_sends_has_no_figure_of_a_device(procedure: str) -> None:
    """It was also asked for a load of 0 frames/s."""
    found, _ = measured(procedure, range(10_000))
    assert not any(name in row.figures for row in found.rows for name in ("loss", "bias", "throughput"))
