"""A sender that the host stopped for a whole trial."""

from __future__ import annotations

import numpy as np
from support.synthetic_runs import record

from keisoku.device.calibration.bias import Bias
from keisoku.device.plan.plan import parse
from keisoku.device.plan_testbed import open_engine
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.device.runner import proceed

LATENCIES_NS = np.full(200, 5000.0)


def test_a_trial_without_any_frame_lowers_no_maximum() -> None:
    """`loss` ended with "frames_per_second: 0 is not a rate" when the host stopped its first trial as a whole."""
    plan = parse(
        {
            "methods": ["loss"],
            "dut": "sim:gs908e",
            "frame_bytes": [64],
            "loss": {"maximum_fps": 2000, "trial_s": 0.1},
            "calibration": "none",
        }
    )
    with open_engine(plan) as engine:
        capabilities = engine.capabilities
    asked: list[float] = []

    def carried(index: int, method: str, trial: Trial) -> TrialRecord:
        asked.append(trial.frames_per_second)
        rate, duration_ns = trial.frames_per_second, trial.duration_ns
        made = record(index, method, trial.purpose, 64, rate, LATENCIES_NS, duration_ns=duration_ns)
        if index:
            return made
        sent = made.facts.transmitters[0].sent.model_copy(update={"offered_frames": 0})
        transmitter = made.facts.transmitters[0].model_copy(update={"sent": sent})
        facts = made.facts.model_copy(update={"transmitters": [transmitter]})
        return made.model_copy(update={"facts": facts, "invalid_because": ["the tester offered 0 of 200 frames"]})

    [result] = proceed(plan, capabilities, Bias(), carried)
    assert asked[:2] == [2000.0, 2000.0] and min(asked) > 0
    loads = [row.figures["load"].value for row in result.rows]
    assert loads == [100.0, 90.0]
    assert not any("the most the tester could offer" in deviation for deviation in result.deviations)
