"""The set of measured means that are not distinguishable from the best one.

Each is compared with the one of the greatest mean by Welch's test, one-sided, at a level divided by the number of
comparisons (Bonferroni). So the true best is in the set with at least the confidence given, whichever had the greatest
mean by chance: it is left out only if one of the comparisons is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from keisoku.ground.statistics.distribution import student_below
from keisoku.ground.statistics.uncertainty import effective_freedom, standard_error_of_mean

Key = TypeVar("Key", bound=Hashable)


def best_set(values: Mapping[Key, Sequence[float]], confidence: float = 0.95) -> list[Key]:
    """Keys from the greatest mean down. A key with fewer than two values is never left out, as its scatter is unknown.

    Values are in any one unit. Raises ValueError if there is nothing.
    """
    if not values or any(not some for some in values.values()):
        raise ValueError("nothing was measured of one of them")
    ordered = sorted(values, key=lambda key: -float(np.mean(values[key])))
    best = values[ordered[0]]
    level = (1 - confidence) / max(len(ordered) - 1, 1)
    return [ordered[0]] + [key for key in ordered[1:] if worse_by_chance(best, values[key]) >= level]


def worse_by_chance(best: Sequence[float], other: Sequence[float]) -> float:
    """Probability that `other` would be so much worse if both had one mean (Welch, one-sided)."""
    if min(len(best), len(other)) < 2:
        return 1.0
    apart = float(np.mean(best) - np.mean(other))
    errors = [(standard_error_of_mean(some), len(some) - 1) for some in (best, other)]
    error = math.hypot(*(each for each, _ in errors))
    if error == 0:
        return 1.0 if apart == 0 else 0.0
    return student_below(effective_freedom(errors), -apart / error)
