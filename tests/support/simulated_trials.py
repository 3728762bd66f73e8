"""Runs a method on a simulated device in memory: what tests of methods need, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.device import SimulatedDevice, parse_device
from keisoku.ground.statistics.seed import mixed
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.method.assumption.contradiction import with_contradictions
from keisoku.subjects.device.method.evidence import agreed
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from support.trials import drive

Spoil = Callable[[int, Trial, Facts], Facts]
"""What the tester says of the trial of this number, instead of these facts."""


def untouched(index: int, trial: Trial, facts: Facts) -> Facts:
    """The tester says what it did."""
    return facts


def device(toml: str) -> SimulatedDevice:
    return parse_device(toml, "test")


def plan(method: str, **source: Any) -> Plan:
    return parse({"methods": [method], "dut": "sim:test", **source})


def carry_out(
    plan: Plan,
    device: SimulatedDevice,
    spoil: Spoil = untouched,
    engine: SimulatedEngine | None = None,
) -> tuple[Result, list[TrialRecord]]:
    """The last method's result and all trials; `spoil` may change what the tester says it did.

    The tester has the plan's ports; or it is `engine`.
    """
    results, records = _carried(plan, device, spoil, engine)
    return results[-1], records


def measured(plan: Plan, device: SimulatedDevice, engine: SimulatedEngine | None = None) -> list[Result]:
    """The results of all methods as a run gives them: with what its trials contradict."""
    results, records = _carried(plan, device, untouched, engine)
    return with_contradictions(agreed(results, records), records)


def _carried(
    plan: Plan, device: SimulatedDevice, spoil: Spoil, engine: SimulatedEngine | None
) -> tuple[list[Result], list[TrialRecord]]:
    if engine is None:
        ports = [int(text) for _, text in plan.port_fields()]
        sent = routes_between(plan.pairs()), plan.contents(), plan.seed, plan.modifiers, plan.listening()
        engine = SimulatedEngine(device, ports, Traffic(*sent))
    bias = Bias(exact=True, resolution_ns=engine.capabilities.resolution_ns)
    records: list[TrialRecord] = []
    results: dict[str, Result] = {}
    for name in plan.methods:
        method = begin(name, plan, engine.capabilities, bias, results)
        seeds = partial(mixed, plan.seed)
        result, own = drive(name, method, engine, seed=seeds, streams=0, change=spoil, first=len(records))
        assert result is not None
        results[name] = result
        records += own
    return list(results.values()), records
