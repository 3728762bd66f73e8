"""Loads through a lab device that queues, polices or filters, and what it counted of them by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.lab.device.counted import Counted
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial
from support.lab_trials import Rows, on_lab, plan_for
from support.trials import carried, incomplete

FCS_BYTES = 4
"""The kernel counts a frame without it."""
FRAME_BYTES = 128
SETTLE_S = 1.5
"""In which the engine's warm-up has left a slow device's queue."""


@dataclass(frozen=True)
class Seen:
    """One trial from port 1 to 2, and what the device counted at both its ports meanwhile."""

    frame_bytes: int
    facts: Facts
    rows: NDArray[np.void]
    counted: tuple[Counted, Counted]

    @property
    def lost(self) -> int:
        return self.facts.tracked.lost_frames

    @property
    def forwarded(self) -> int:
        return self.facts.tracked.forwarded_frames

    @property
    def offered(self) -> int:
        return self.facts.sent.offered_frames

    def latencies_ns(self) -> NDArray[np.int64]:
        """Of each frame that arrived, in the order of arrival."""
        return np.asarray(self.rows["receive_ns"] - self.rows["transmit_ns"], np.int64)

    def bits_per_second(self, skipped: int) -> float:
        """At which frames of one size arrived, as the kernel counts their bytes, without the first ones."""
        at_ns = np.sort(self.rows["receive_ns"])[skipped:]
        bits = 8 * (self.frame_bytes - FCS_BYTES) * (len(at_ns) - 1)
        return float(bits / (at_ns[-1] - at_ns[0]) * NS_PER_S)


def through(device: str, frames: int, frames_per_second: float, drain_s: float = 0.3, **source: Any) -> Seen:
    """A trial on ports that were opened by another one, whose frames have left the device's queues."""
    plan = plan_for(device, **({"frame_bytes": [FRAME_BYTES]} | source))
    size = plan.frame_bytes[0]

    def trial(count: int, rate: float, rest_s: float, learning: bool) -> Trial:
        return Trial(
            purpose="test",
            frame_bytes=size,
            frames_per_second=rate,
            duration_ns=round(count / rate * NS_PER_S),
            phases=Phases(
                learning=learning,
                learning_wait_ns=20_000_000,
                drain_ns=round(drain_s * NS_PER_S),
                rest_ns=round(rest_s * NS_PER_S),
            ),
        )

    with Lab(device, own_core=False) as lab:
        engine = on_lab(plan, lab)
        kept: list[Rows] = []
        before: list[Counted] = []

        def sink() -> Rows:
            kept.append(Rows())
            before[:] = lab.counted() if lab.device.counts else []
            return kept[-1]

        try:
            engine.start(trial(10, 100.0, SETTLE_S, True), stream=1, seed=0)
            engine.finish()
            wanted = trial(frames, frames_per_second, 0.0, False)  # the device would count learning frames too
            facts, _ = carried(engine, wanted, incomplete, stream=100, streams=64, sink=sink)
            after = lab.counted() if lab.device.counts else []
        finally:
            engine.close()
    one, other = [_since(*pair) for pair in zip(before, after, strict=True)] or [Counted(0, 0, 0)] * 2
    return Seen(size, facts, kept[-1].rows(), (one, other))


def _since(before: Counted, after: Counted) -> Counted:
    return Counted(
        after.passed_frames - before.passed_frames,
        after.dropped_frames - before.dropped_frames,
        after.marked_frames - before.marked_frames,
    )
