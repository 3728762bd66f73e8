"""Counters and references of known rate, offset, drift and noise, for tests of estimators: no clock is read."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from keisoku.subjects.clock.reading import Reading

HZ = 2_596_096_018.5
START_TICKS = 1 << 47
START_NS = 1_800_000_000_000_000_000


@dataclass
class SyntheticClock:
    """Readings of a counter with `hz` ticks a second of the reference.

    Brackets are `width_ticks` wide with the truth anywhere inside; a share of `wide` are interrupted, by up to 100 µs.
    """

    hz: float = HZ
    drift_per_s: float = 0.0
    """Relative change of the rate in a second."""
    width_ticks: int = 104
    wide: float = 0.05
    step_at_s: float | None = None
    step_ns: int = 0
    """By which the reference is set ahead at that time."""
    seed: int = 1
    _random: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def ticks_at(self, at_s: float) -> float:
        """The counter's true value since the start."""
        return self.hz * (at_s + self.drift_per_s * at_s**2 / 2)

    def reading(self, at_s: float) -> Reading:
        """One at this time."""
        width = self.width_ticks
        if self._random.random() < self.wide:
            width += self._random.randrange(int(self.hz * 1e-4))
        before = round(self.ticks_at(at_s) - self._random.random() * width)
        shown = math.floor(at_s * 1e9)
        if self.step_at_s is not None and at_s >= self.step_at_s:
            shown += self.step_ns
        return Reading(START_TICKS + before, START_NS + shown, START_TICKS + before + width + 1)

    def exchange(self, at_s: float, way_s: float, queue_s: float) -> Reading:
        """With a server: two ways of the same length, and queues in both that only ever add."""
        there, back = (way_s + self._random.expovariate(1 / queue_s) for _ in range(2))
        before, after = self.ticks_at(at_s - there), self.ticks_at(at_s + back)
        return Reading(START_TICKS + math.floor(before), START_NS + math.floor(at_s * 1e9), START_TICKS + round(after))

    def readings(self, count: int, over_s: float) -> list[Reading]:
        """Evenly over that time."""
        return [self.reading(index * over_s / max(1, count - 1)) for index in range(count)]
