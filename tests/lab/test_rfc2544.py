"""RFC 2544's further procedures once for real, with short trials, on the lab's devices."""

from __future__ import annotations

from typing import Any

import pytest
from support.lab_passages import needs
from support.trials import drive, never, of_no_use

from keisoku.errors import PlanError
from keisoku.ground.lab.device.lab import RESET_S
from keisoku.ground.lab.device.vswitch import PROGRAMS
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.record.trial_record import TrialRecord

pytestmark = [pytest.mark.lab, pytest.mark.alone]
PHASES = {"learning_wait_s": 0.02, "drain_s": 0.1, "rest_s": 0.0}
CALM = {"rate_fps": 20_000}
"""What every device forwards, on a busy machine too."""


KNOWN = Result(
    measurement="throughput",
    rows=[Row(frame_bytes=128, figures={"throughput": Quantity(value=20_000, unit="frames/s")})],
)
"""Found before: a search takes long on a busy machine."""


def plan_for(method: str, device: str, **source: Any) -> Plan:
    return parse({"methods": [method], "dut": f"lab:{device}", "frame_bytes": [128], "phases": PHASES, **source})


def carry_out(plan: Plan) -> tuple[Result, list[TrialRecord]]:
    """The whole procedure."""
    result, records = run(plan)
    assert result is not None
    return result, records


def first_trial(plan: Plan) -> TrialRecord:
    """Of the procedure: a busy machine may want the others again and again."""
    return run(plan, most=1)[1][0]


def run(plan: Plan, most: int | None = None) -> tuple[Result | None, list[TrialRecord]]:
    with open_engine(plan) as engine:
        method = begin(plan.methods[0], plan, engine.capabilities, Bias(), {"throughput": KNOWN})
        # A device that is overloaded or reset spoils trials by itself; methods repeat them, and say so in the end.
        return drive(plan.methods[0], method, engine, never if most is None else of_no_use, most=most)


@pytest.mark.parametrize("device", ["bridge", "router", "firewall?rules=25"])
@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_a_reset_in_the_middle_of_a_trial_is_found(device: str, engine: str) -> None:
    plan = plan_for("reset", device, engine=engine, reset={**CALM, "stable_s": 0.2, "watch_s": 1.0, "repetitions": 1})
    result, records = carry_out(plan)
    last = records[-1]
    end_ns = last.facts.sent.last_sent_ns
    gaps = [(gap.before_ns or end_ns) - (gap.after_ns or 0) for gap in last.facts.tracked.lost]
    assert max(gaps) >= 0.9 * RESET_S * 1e9, "on a busy machine too, which sends fewer frames"
    figures = result.rows[0].figures
    if last.valid and "reset_by_loss" in figures:
        one, other = figures["reset_by_loss"].value, figures["reset_by_stamps"].value
        assert one > 0.9 * RESET_S * 1e9 and one == pytest.approx(other, rel=0.2)
    assert result.remarks[-1] == "The device was reset by the engine."


@pytest.mark.parametrize("device", ["cable", "faulty"])
def test_a_device_that_nobody_can_reset_is_refused_before_the_first_frame(device: str) -> None:
    with pytest.raises(PlanError, match="cannot be reset"):
        carry_out(plan_for("reset", device))


def test_bursts_fill_the_queue_of_a_bridge() -> None:
    plan = plan_for(
        "back_to_back",
        "bridge?capacity=200kpps&burst=5ms",
        back_to_back={"repetitions": 1, "limit_s": 0.1, "step_frames": 1000},
    )
    result, records = carry_out(plan)
    row = result.rows[0]
    assert any("what the tester can offer" in remark for remark in result.remarks)
    assert row.remark or row.figures["burst"].value > 0
    assert len(records) > 2


def test_recovery_after_an_overload() -> None:
    plan = plan_for("recovery", "bridge", recovery={**CALM, "overload_s": 0.2, "watch_s": 0.3, "repetitions": 1})
    result, records = carry_out(plan)
    streams = records[-1].facts.streams
    assert len(streams) == 2
    if records[-1].valid:
        assert streams[0].offered_frames == pytest.approx(1.1 * 20_000 * 0.2, rel=0.02)
        assert streams[1].offered_frames == pytest.approx(0.55 * 20_000 * 0.3, rel=0.02)
    assert result.rows[0].figures["offered"].value == pytest.approx(22_000)


def test_frames_beside_the_test_frames_reach_a_router_and_are_no_loss() -> None:
    plan = plan_for(
        "loss",
        "router",
        frame_bytes=[256],
        modifiers="broadcast,management,routing",
        networks=256,
        loss={"trial_s": 1, "maximum_fps": 3000},
    )
    facts = first_trial(plan).facts
    broadcast, queries, updates = facts.beside
    assert (queries.offered_frames, updates.offered_frames) == (1, 1)
    assert broadcast.offered_frames == pytest.approx(facts.sent.offered_frames / 99, rel=0.1)
    assert broadcast.tracked.forwarded_frames == 0, "a router forwards none"
    assert facts.tracked.forwarded_frames > 0.9 * facts.sent.offered_frames, "all 256 networks are led to port 2"


def test_a_bridge_has_no_address_for_a_management_query_and_floods_broadcasts() -> None:
    with pytest.raises(PlanError, match="no IP address for management queries"):
        carry_out(plan_for("loss", "bridge", modifiers="management"))
    plan = plan_for("loss", "bridge", modifiers="broadcast", loss={"trial_s": 0.2, "maximum_fps": 5000})
    broadcast = first_trial(plan).facts.beside[0]
    assert broadcast.tracked.forwarded_frames == broadcast.offered_frames > 0


@pytest.mark.parametrize("rules", [1, 25])
def test_filters_are_those_of_the_firewall(rules: int) -> None:
    plan = plan_for("loss", f"firewall?rules={rules}", filters=rules, loss={"trial_s": 0.2, "maximum_fps": 2000})
    assert first_trial(plan).facts.tracked.forwarded_frames > 0
    with pytest.raises(PlanError, match=r"firewall has 25|rules=1 has 1"):
        carry_out(plan_for("loss", f"firewall?rules={rules}", filters=7))


@needs(*PROGRAMS)
@pytest.mark.parametrize(
    ("action", "headers", "size"),
    [("push", "ipv4", 64), *(pytest.param(action, "mpls", 68, marks=pytest.mark.long) for action in ("swap", "pop"))],
)
def test_one_label_is_pushed_swapped_and_popped(action: str, headers: str, size: int) -> None:
    dut, common = f"ovs-mpls?action={action}", {"headers": headers, "frame_bytes": [size]}
    plan = plan_for("latency", dut, **common, latency={"trial_s": 0.2, "rate_fps": 1000, "repetitions": 1})
    result, records = carry_out(plan)
    assert "RFC 5695 §4.1.3: labels are static, not learned by a label distribution protocol" in result.deviations
    for method in ("loss", "throughput"):
        plan = plan_for(method, dut, **common, **{method: {"trial_s": 0.2, "maximum_fps": 1000}})
        records.append(first_trial(plan))
    for record in records:
        assert record.facts.tracked.forwarded_frames > 0
        assert record.facts.tracked.corrupt_arrivals == 0


def test_a_label_has_the_sizes_of_rfc_5695() -> None:
    assert parse({"methods": ["loss"], "dut": "lab:bridge", "headers": "mpls"}).frame_bytes[:2] == (68, 132)
