"""Values with how often each came, as the core keeps single reads: their quantiles with confidence intervals.

A tally is (value, count) in ascending order of values, with counts above zero.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

Tally = Sequence[tuple[int, int]]
_NORMAL_95 = 1.96


def total(tally: Tally) -> int:
    """How many values there are."""
    return sum(count for _, count in tally)


def quantile(tally: Tally, share: float) -> int:
    """The smallest value that at least `share` (0 to 1) of all do not exceed. Raises ValueError if there is none."""
    return at_rank(tally, math.ceil(share * total(tally)))


def quantile_range(tally: Tally, share: float) -> tuple[int, int]:
    """Between which values the quantile lies with 95 % confidence, by the ranks of a binomial count.

    Too few values above it for an upper end: the largest value, which is then no bound at all.
    """
    count = total(tally)
    spread = _NORMAL_95 * math.sqrt(count * share * (1 - share))
    return at_rank(tally, math.floor(count * share - spread)), at_rank(tally, math.ceil(count * share + spread))


def at_rank(tally: Tally, rank: int) -> int:
    """The value of this rank, 1 being the smallest; ranks beyond either end are the end's."""
    if not tally:
        raise ValueError("no values have no ranks")
    ranks = list(accumulate(count for _, count in tally))
    return tally[min(bisect_left(ranks, max(rank, 1)), len(tally) - 1)][0]
