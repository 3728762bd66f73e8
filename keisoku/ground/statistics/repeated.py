"""One figure from several repetitions of a whole measurement: their median, with an interval of 95 %.

From six repetitions on the interval lies between two of the repetitions in order: it contains the median of what
repetitions give with at least 95 %, whatever their distribution (David and Nagaraja, Order Statistics, 7.1). Fewer than
six cannot say this; there it is Student's interval of the mean, which contains their median as well
(`benchmarks/accuracy/repeated.py` has the coverage of both). Each end is taken over that end of the repetitions' own
intervals, so the resolution of a single run is added, and a repetition that is only a bound counts as what it is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import CONFIDENCE, half_width

FROM_ORDER = 6
"""Two to the power of 1 - 6 is the first below 5 %."""


def combined(figures: Sequence[Quantity], least: float = -math.inf) -> Quantity:
    """The figure of all repetitions; a bound if the median of the repetitions is one. Its
    interval does not reach below `least`, such as 0 for a time.

    With a single repetition it is that one's figure. Raises ValueError for none, or for different units.
    """
    if len({figure.unit for figure in figures}) != 1:
        raise ValueError("repetitions of one figure have one unit")
    if len(figures) == 1:
        return figures[0]
    unit = figures[0].unit
    lowest = [-math.inf if figure.bound == "at most" else figure.value for figure in figures]
    most = [math.inf if figure.bound == "at least" else figure.value for figure in figures]
    low, high = statistics.median_low(lowest), statistics.median_high(most)
    if math.isinf(low) and math.isinf(high):  # as many bounds from above as from below: nothing is between them
        low = statistics.median([figure.value for figure in figures])
        return Quantity(value=low, unit=unit)
    if math.isinf(high):
        return Quantity(value=low, unit=unit, bound="at least")
    if math.isinf(low):
        return Quantity(value=high, unit=unit, bound="at most")
    value = statistics.median([figure.value for figure in figures])
    ends = [figure.bounds or (figure.value, figure.value) for figure in figures]
    lower, upper = _low_end([end for end, _ in ends]), -_low_end([-end for _, end in ends])
    if not math.isfinite(upper - lower):  # bounds reach into the interval, but not to the median
        return Quantity(value=value, unit=unit)
    lower, upper = max(min(lower, value), min(least, value)), max(upper, value)
    return Quantity(
        value=value,
        unit=unit,
        uncertainty=max(value - lower, upper - value),
        interval=Interval(lower=lower, upper=upper, confidence=CONFIDENCE) if lower < upper else None,
        covers="repetitions" if all(figure.covers == "repetitions" for figure in figures) else "",
    )


def _low_end(ends: Sequence[float]) -> float:
    """Lower end of the interval of the lower ends of repetitions."""
    count = len(ends)
    if count >= FROM_ORDER:
        return sorted(ends)[_place(count)]
    if not all(map(math.isfinite, ends)):
        return -math.inf
    return statistics.fmean(ends) - half_width(ends)


@lru_cache(maxsize=1024)
def _place(count: int) -> int:
    """How many of the lowest may be left out: the largest k with 2 · P(binomial(count, 1/2) < k) at most 5 %."""
    below, chance = 0, 0.0
    while (chance := chance + math.comb(count, below) / 2**count) <= (1 - CONFIDENCE) / 2:
        below += 1
    return below - 1
