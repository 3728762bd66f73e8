"""Runs a method on a simulated device in memory: what tests of methods need, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keisoku.calibration.bias import Bias
from keisoku.engine.simulated import SimulatedEngine, routes_between
from keisoku.engine.traffic import Traffic
from keisoku.method import begin
from keisoku.plan.device import Device, parse_device
from keisoku.plan.plan import Plan, parse
from keisoku.record.result import Result
from keisoku.record.trial import Facts, Trial, TrialRecord
from keisoku.record.validity import reasons


def device(toml: str) -> Device:
    return parse_device(toml, "test")


def plan(method: str, **source: Any) -> Plan:
    return parse({"methods": [method], "dut": "sim:test", **source})


def carry_out(
    plan: Plan,
    device: Device,
    spoil: Callable[[int, Trial, Facts], Facts] = lambda index, trial, facts: facts,
    engine: SimulatedEngine | None = None,
) -> tuple[Result, list[TrialRecord]]:
    """The last method's result and all trials; `spoil` may change what the tester says it did.

    `engine` is a tester on other ports of the device than its first two.
    """
    ports = [int(text) for _, text in plan.port_fields()]
    traffic = Traffic(routes_between(plan.pairs()), plan.contents(), plan.seed)
    engine = engine or SimulatedEngine(device, ports, traffic)
    bias = Bias(exact=True, resolution_ns=engine.capabilities.resolution_ns)
    records: list[TrialRecord] = []
    results: dict[str, Result] = {}
    for name in plan.methods:
        method = begin(name, plan, engine.capabilities, bias, results)
        reply = None
        while True:
            try:
                trial = method.send(reply)  # type: ignore[arg-type]
            except StopIteration as stop:
                results[name] = stop.value
                break
            engine.start(trial, stream=1, seed=plan.seed + len(records))
            facts, seconds = engine.finish()
            facts = spoil(len(records), trial, facts)
            reply = TrialRecord(
                index=len(records),
                method=name,
                trial=trial,
                facts=facts,
                started_at="",
                engine_seconds=seconds,
                invalid_because=reasons(trial, facts),
            )
            records.append(reply)
    return results[plan.methods[-1]], records
