"""The short form of `make soak`: four seconds through the bridge, memory flat, counts exact, a row for every frame."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from soak import inexact, long_trial, soak_plan
from support.lab_trials import on_lab

from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, ENTRY

pytestmark = [pytest.mark.lab, pytest.mark.alone]

FRAMES_PER_SECOND = 20_000
"""Modest: any machine can offer it. Frames that a busy one loses must be accounted for, too."""
SECONDS = 4


class Seen:
    """Marks each frame that has a row; its memory does not grow with the trial."""

    def __init__(self, frames: int) -> None:
        self.intact = np.zeros(frames, np.uint8)
        self.flags: Counter[int] = Counter()

    def append(self, entries: bytes) -> None:
        rows = np.frombuffer(entries, ENTRY)
        np.add.at(self.intact, rows["sequence"][rows["flags"] & CORRUPT == 0].astype(np.int64), 1)
        self.flags.update(rows["flags"].tolist())


def test_memory_stays_flat_and_counts_stay_exact() -> None:
    plan, frames = soak_plan(), FRAMES_PER_SECOND * SECONDS
    seen = Seen(frames)
    with Lab("bridge") as lab:
        engine = on_lab(plan, lab)
        try:
            outcome = long_trial(plan, engine, FRAMES_PER_SECOND, SECONDS, seen)
        finally:
            engine.close()
    facts, tracked = outcome.facts, outcome.facts.tracked
    assert inexact(facts) == []
    assert outcome.is_flat, f"{outcome.first_bytes} byte became {outcome.last_bytes}"
    assert seen.flags.total() == tracked.received_frames - tracked.foreign_frames
    assert sum(count for flags, count in seen.flags.items() if flags & DUPLICATE) == tracked.duplicated.count
    assert int((seen.intact > 0).sum()) == tracked.forwarded_frames
    lost = {number for gap in tracked.lost for number in range(gap.first, gap.last + 1)}
    assert set(np.flatnonzero(seen.intact[: facts.sent.offered_frames] == 0).tolist()) == lost
