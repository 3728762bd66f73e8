"""When a comparison is looked at while it grows, and how much of its probability of error each look may use.

An interval that is looked at many times misses the truth more often than one that is looked at once. Here the
probability of error of all looks together is kept by giving each look a part of it (alpha spending: Lan and DeMets,
Biometrika 70, 1983): after a share t of the budget, t to the power of `POWER` has been used. The parts are added up, so
nothing is assumed about how the looks depend on each other, nor how many pairs the budget will hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.ground.statistics.signed_rank import smallest_error

POWER = 3.0
"""A higher one finds small differences with fewer pairs, and large ones later (`benchmarks/detection/paired.py`)."""
GROWTH = 1.3
"""Between looks the used share of the budget grows at least by this factor."""


@dataclass(frozen=True)
class Look:
    """One look at a comparison."""

    pairs: int
    """Pairs that there are then."""
    share: float
    """Share of the probability of error that this look may use."""


def looks(used: Sequence[float], error: float) -> list[Look]:
    """The looks so far. `used` has the share of the budget that was used up after each pair; `error` is the
    probability of error of one interval, and a look is left out while no interval can be as certain as its part."""
    found: list[Look] = []
    before = 0.0
    for pairs, share in enumerate(used, 1):
        last = share >= 1.0
        now = min(1.0, share)
        part = now**POWER - before**POWER
        if (last or now >= GROWTH * before) and smallest_error(pairs) <= error * part:
            found.append(Look(pairs, part))
            before = now
        if last:
            break
    return found
