"""One small trial through a lab: what tests of traffic need, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keisoku.engine.opening import on_lab
from keisoku.lab import Lab
from keisoku.plan.plan import Plan, parse
from keisoku.record.frames import ENTRY
from keisoku.record.trial import Facts, Phases, Trial

_ATTEMPTS = 5
"""A machine that is busy with something else may keep the tester from sending what it should."""
FRAMES = 240
"""Of each port: divisible by the numbers of streams and sizes that tests use."""


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


def trial(plan: Plan, frames: int = FRAMES, frames_per_second: float = 4000.0) -> Trial:
    return Trial(
        purpose="test",
        frame_bytes=plan.frame_bytes[0],
        frames_per_second=frames_per_second,
        duration_ns=round(frames / frames_per_second * 1e9),
        phases=Phases(learning_wait_ns=20_000_000, drain_ns=100_000_000, rest_ns=0),
    )


def carry_out(
    plan: Plan,
    frames: int = FRAMES,
    frames_per_second: float = 4000.0,
    before: Callable[[Lab], None] = lambda lab: None,
) -> tuple[Facts, np.ndarray[tuple[int], np.dtype[np.void]]]:
    """The facts and rows of one trial on a lab of the plan's device, with as many ports as the plan has."""
    ports = max(2, *(int(port) for _, port in plan.port_fields()))
    with Lab(str(plan.dut).removeprefix("lab:"), ports=ports) as lab:
        engine = on_lab(plan, lab)
        try:
            before(lab)
            wanted = trial(plan, frames, frames_per_second)
            for _ in range(_ATTEMPTS):
                rows = Rows()
                engine.start(wanted, stream=1, seed=plan.seed, frames=rows)
                facts, _ = engine.finish()
                if facts.sent.offered_frames == wanted.frames * len(facts.transmitters):
                    break
            return facts, rows.rows()
        finally:
            engine.close()
