"""One small trial, or one procedure, through a lab: what tests of traffic need, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import numpy as np

from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.run.result import Result
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan_testbed import wanted_testbed, wanted_traffic
from keisoku.subjects.device.record.arrival import ENTRY
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Flow, Phases, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.testbed.lab import LabTestbed
from support.trials import Spoiled, carried, drive, incomplete, of_no_use

FRAMES = 240
"""Of each port: fewer than a veth holds, so that no device loses one while a CPU stands still; divisible by the
numbers of streams and sizes that tests use."""
_PATIENCE_NS = 20 * NS_PER_S
_WAITS = {"learning_wait_s": 0.02, "drain_s": 0.1, "rest_s": 0}
_STREAMS = 2048
"""Numbers set aside for each attempt."""


class Rows:
    """Keeps what the core hands over."""

    def __init__(self) -> None:
        self.entries = b""

    def append(self, entries: bytes) -> None:
        self.entries += entries

    def rows(self) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        return np.frombuffer(self.entries, ENTRY)


def plan_for(device: str, **source: Any) -> Plan:
    return parse({"methods": ["loss"], "dut": f"lab:{device}", **source})


def on_lab(plan: Plan, lab: Lab) -> Engine:
    """The plan's engine on a lab that is already there."""
    return LabTestbed(wanted_testbed(plan), lab).engine(wanted_traffic(plan))


def measured(
    lab: Lab,
    method: str,
    size: int = 64,
    again: Spoiled = of_no_use,
    *,
    waits: Mapping[str, float] = _WAITS,
    engine: str | None = None,
    **settings: Any,
) -> tuple[Result, list[TrialRecord]]:
    """A procedure on a lab that is there. Trials that are done again are no part of the records."""
    source: dict[str, Any] = {"methods": [method], "dut": f"lab:{lab.device.name}", "frame_bytes": [size]}
    plan = parse(source | {"phases": dict(waits), method: settings} | ({"engine": engine} if engine else {}))
    with closing(on_lab(plan, lab)) as tester:
        own = begin(method, plan, tester.capabilities, Bias(), {})
        result, records = drive(method, own, tester, again, seed=lambda index: index, streams=16)
    assert result is not None
    return result, records


def trial(plan: Plan, frames: int = FRAMES, frames_per_second: float = 4000.0) -> Trial:
    return Trial(
        purpose="test",
        frame_bytes=plan.frame_bytes[0],
        frames_per_second=frames_per_second,
        duration_ns=round(frames / frames_per_second * 1e9),
        phases=Phases(learning_wait_ns=20_000_000, drain_ns=100_000_000, rest_ns=0),
    )


def patient_trial(frames: int, frame_bytes: int, frames_per_second: float = 10_000.0) -> Trial:
    """One way from the first port to the second; a sender that is held up has time to send all of it, and then it ends.

    For tests of what frames are and what becomes of them: nobody may ask it for a rate.
    """
    return Trial(
        purpose="test",
        frame_bytes=frame_bytes,
        frames_per_second=frames_per_second,
        duration_ns=_PATIENCE_NS,
        phases=Phases(learning_wait_ns=20_000_000, drain_ns=100_000_000, rest_ns=0),
        flows=(Flow(transmit=0, receive=1, duration_ns=round(frames / frames_per_second * NS_PER_S)),),
    )


def carry_out(
    plan: Plan,
    frames: int = FRAMES,
    frames_per_second: float = 4000.0,
    before: Callable[[Lab], None] = lambda lab: None,
    again: Spoiled = incomplete,
) -> tuple[Facts, np.ndarray[tuple[int], np.dtype[np.void]]]:
    """The facts and rows of one trial on a lab of the plan's device, with as many ports as the plan has."""
    ports = max(2, *(int(port) for _, port in plan.port_fields()))
    with Lab(str(plan.dut).removeprefix("lab:"), ports=ports) as lab:
        engine = on_lab(plan, lab)
        try:
            before(lab)
            kept: list[Rows] = []

            def sink() -> Rows:
                kept.append(Rows())
                return kept[-1]

            wanted = trial(plan, frames, frames_per_second)
            facts, _ = carried(engine, wanted, again, streams=_STREAMS, seed=plan.seed, sink=sink)
            return facts, kept[-1].rows()
        finally:
            engine.close()
