"""RFC 8219 and RFC 4737 on the lab's devices: what a bridge and a device that swaps known frames do to real ones."""

from __future__ import annotations

import pytest
from support.lab_trials import on_lab
from support.trials import drive, incomplete

from keisoku.ground.lab.device.faults import Faults
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.run.result import Result
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.record.trial_record import TrialRecord

pytestmark = [pytest.mark.lab, pytest.mark.alone]

_WAITS = {"learning_wait_s": 0.02, "drain_s": 0.1, "rest_s": 0.0}


def plan_for(device: str, method: str, **settings: object) -> Plan:
    return parse(
        {"methods": [method], "dut": f"lab:{device}", "frame_bytes": [128], "phases": _WAITS, method: settings}
    )


def carry_out(plan: Plan, lab: Lab) -> tuple[Result, list[TrialRecord]]:
    engine = on_lab(plan, lab)
    try:
        method = begin(plan.methods[0], plan, engine.capabilities, Bias(), {})
        result, records = drive(plan.methods[0], method, engine, incomplete)
    finally:
        engine.close()
    assert result is not None
    return result, records


@pytest.mark.parametrize("method", [pytest.param("delay", marks=pytest.mark.long), "delay_variation"])
def test_a_bridge_has_a_delay_and_a_signed_variation(method: str) -> None:
    plan = plan_for("bridge", method, trial_s=0.3, repetitions=5, rate_fps=1000)
    with Lab("bridge") as lab:
        result, records = carry_out(plan, lab)
    (row,) = result.rows
    figures = {name: figure.value for name, figure in row.figures.items()}
    # On a busy machine the tester may have spoiled every trial: then there is no figure, and it says why.
    assert figures or row.remark
    if figures and method == "delay":
        assert 0 < figures["typical_p1"] <= figures["typical"] <= figures["typical_p99"]
        assert figures["typical"] <= figures["worst_case"]
    if figures and method == "delay_variation":
        assert figures["ipdv_min"] <= figures["ipdv_median"] <= figures["ipdv_max"]
        assert figures["pdv"] >= 0
    for record in records:
        tracked = record.facts.tracked
        assert tracked.latency is not None
        if method == "delay":
            assert tracked.variation is None and tracked.latency_since_tag is not None
            assert 0 < sum(tracked.latency_since_tag.counts) < tracked.forwarded_frames
            continue
        assert tracked.variation is not None
        if tracked.lost_frames == 0:
            assert tracked.variation.count == tracked.forwarded_frames - 1
        assert sum(tracked.variation.histogram.counts) == tracked.variation.count
        width = tracked.latency.max_ns - tracked.latency.min_ns
        assert -width <= tracked.variation.min_ns < 0 < tracked.variation.max_ns <= width


def test_known_swaps_are_what_is_reordered() -> None:
    swaps = tuple(range(10, 700, 23))
    plan = plan_for("faulty", "reordering", trial_s=0.2, loads_percent=(50, 100), maximum_fps=4000)
    with Lab("faulty", faults=Faults(swap=swaps)) as lab:
        result, records = carry_out(plan, lab)
    for record in records:
        tracked = record.facts.tracked
        own = [number for number in swaps if number + 1 < record.facts.sent.offered_frames]
        assert tracked.reordered.count == len(own)
        assert [first for first, _ in tracked.reordered.ranges] == own
        found = tracked.reordering
        assert found is not None
        assert found.extent.max_frames == 1 and found.extent.sum_frames == len(own)
        assert found.n_reordered == [len(own)]
        assert dict(found.displacement)[1] == dict(found.displacement)[-1] == len(own)
        assert found.gap.sum_frames == own[-1] - own[0]
    assert [row.case for row in result.rows] == ["100 %", "50 %"] or any(not record.valid for record in records)
