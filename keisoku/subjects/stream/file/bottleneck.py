"""The stage that limits a transfer, from the throughput of each stage by itself and of all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.subjects.stream.best_set import best_set


@dataclass(frozen=True)
class Bottleneck:
    """`stages`: those not distinguishable from the slowest one, slowest first; a single one is `named`."""

    stages: tuple[str, ...]

    @property
    def named(self) -> str | None:
        """The stage that limits; None if that is not certain."""
        return self.stages[0] if len(self.stages) == 1 else None


def find_bottleneck(bps: Mapping[str, Sequence[float]], confidence: float = 0.95) -> Bottleneck:
    """From bit/s of each stage. Times for a byte are compared: the greatest mean is the slowest stage.

    With the confidence given the stage that is truly slowest is among `stages`. Raises ValueError if one has no figure
    above zero.
    """
    if any(not values or min(values) <= 0 for values in bps.values()):
        raise ValueError("a stage was not measured")
    return Bottleneck(
        tuple(best_set({stage: [1 / value for value in values] for stage, values in bps.items()}, confidence))
    )


def hindrance(together: Sequence[float], slowest: Sequence[float]) -> float:
    """Throughput of the whole as a share of that of its slowest stage: well below 1, stages hinder each other."""
    return float(np.median(together) / np.median(slowest))
