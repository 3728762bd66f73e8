"""RFC 2544's further procedures once for real, with short trials, on the lab's devices."""

from __future__ import annotations

from typing import Any

import pytest

from keisoku.calibration.bias import Bias
from keisoku.engine.opening import open_engine
from keisoku.errors import PlanError
from keisoku.lab.lab import RESET_S
from keisoku.method import begin
from keisoku.plan.plan import Plan, parse
from keisoku.record.result import Result
from keisoku.record.trial import TrialRecord
from keisoku.record.validity import reasons

pytestmark = pytest.mark.lab
PHASES = {"learning_wait_s": 0.02, "drain_s": 0.1, "rest_s": 0.0}
CALM = {"rate_fps": 20_000}
"""What every device forwards, on a busy machine too."""


def plan_for(method: str, device: str, **source: Any) -> Plan:
    return parse({"methods": [method], "dut": f"lab:{device}", "frame_bytes": [128], "phases": PHASES, **source})


def carry_out(plan: Plan) -> tuple[Result, list[TrialRecord]]:
    records: list[TrialRecord] = []
    with open_engine(plan) as engine:
        method = begin(plan.methods[0], plan, engine.capabilities, Bias(), {})
        reply: TrialRecord | None = None
        while True:
            try:
                trial = method.send(reply)  # type: ignore[arg-type]  # a fresh generator takes None
            except StopIteration as stop:
                return stop.value, records
            engine.start(trial, stream=len(records) * 100 + 1, seed=1)
            facts, seconds = engine.finish()
            reply = TrialRecord(
                index=len(records),
                method=plan.methods[0],
                trial=trial,
                facts=facts,
                started_at="",
                engine_seconds=seconds,
                invalid_because=reasons(trial, facts),
            )
            records.append(reply)


@pytest.mark.parametrize("device", ["bridge", "router", "firewall?rules=25"])
@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_a_reset_in_the_middle_of_a_trial_is_found(device: str, engine: str) -> None:
    plan = plan_for("reset", device, engine=engine, reset={**CALM, "stable_s": 0.2, "watch_s": 0.4, "trials": 1})
    result, records = carry_out(plan)
    last = records[-1]
    gaps = [(gap.before_ns or 0) - (gap.after_ns or 0) for gap in last.facts.tracked.lost]
    assert max(gaps) >= 0.9 * RESET_S * 1e9, "on a busy machine too, which sends fewer frames"
    if last.valid:
        figures = result.rows[0].figures
        for name in ("reset_by_loss", "reset_by_stamps"):
            assert 0.9 * RESET_S * 1e9 < figures[name].value < 0.4e9
    assert result.remarks[-1] == "The device was reset by the engine."


@pytest.mark.parametrize("device", ["cable", "faulty"])
def test_a_device_that_nobody_can_reset_is_refused_before_the_first_frame(device: str) -> None:
    with pytest.raises(PlanError, match="cannot be reset"):
        carry_out(plan_for("reset", device))


def test_bursts_fill_the_queue_of_a_bridge() -> None:
    plan = plan_for(
        "back_to_back",
        "bridge",
        throughput={"trial_s": 0.1, "resolution_percent": 10},
        back_to_back={"trials": 1, "limit_s": 0.2, "step_frames": 50},
    )
    result, records = carry_out(plan)
    row = result.rows[0]
    assert any("what the tester can offer" in remark for remark in result.remarks)
    assert row.remark or row.figures["burst"].value > 0
    assert len(records) > 2


def test_recovery_after_an_overload() -> None:
    plan = plan_for("recovery", "bridge", recovery={**CALM, "overload_s": 0.2, "watch_s": 0.3, "trials": 1})
    result, records = carry_out(plan)
    streams = records[-1].facts.streams
    assert len(streams) == 2
    assert streams[0].offered_frames == pytest.approx(1.1 * 20_000 * 0.2, rel=0.02)
    assert streams[1].offered_frames == pytest.approx(0.55 * 20_000 * 0.3, rel=0.02)
    assert result.rows[0].figures["offered"].value == pytest.approx(22_000)
