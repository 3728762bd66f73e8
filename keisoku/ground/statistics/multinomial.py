"""Counts of things that each fall into one of several classes: exact simultaneous intervals of the classes' shares, how
many things a statement of a given precision needs, and whether the counts are more even than chance makes them.

All probabilities are exact: of binomials by incomplete beta functions, of all counts together by Levin's formula. It
draws nothing at random and knows no figure.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from keisoku.ground.statistics.distribution import beta_below
from keisoku.ground.statistics.share import clopper_pearson

CONFIDENCE = 0.99
"""Of all intervals of one set of counts together."""
POWER = 0.95
"""With which a deviation of the size that was asked for is found."""
_STEPS = 1000
_MOST = 10_000_000
"""Things; a statement that needs more is not worth the wait."""


def shares(counts: Sequence[int], confidence: float = CONFIDENCE) -> list[tuple[float, float]]:
    """For each class the ends of its share, as ratios; all of them contain the true shares with this confidence.

    Each is Clopper and Pearson's (1934) of its count, which is binomial, at the confidence that Bonferroni's inequality
    asks for (as Goodman 1965 does for approximate ones). Raises ValueError without any counts.
    """
    whole = sum(counts)
    if whole < 1:
        raise ValueError("a share is one of something")
    each = 1 - (1 - confidence) / len(counts)
    return [clopper_pearson(count, whole, each) for count in counts]


def deviating(counts: Sequence[int], expected: Sequence[float], confidence: float = CONFIDENCE) -> list[int]:
    """Indices of classes whose expected share, a ratio, is outside the interval of `shares`: some are named of counts
    that are as expected with a probability of at most 1 - `confidence`."""
    ends = shares(counts, confidence)
    return [place for place, (low, high) in enumerate(ends) if not low <= expected[place] <= high]


def number_needed(
    expected: Sequence[float], deviation: float, power: float = POWER, confidence: float = CONFIDENCE
) -> int:
    """How many things show by `deviating`, with this probability at least, that a class has `deviation` (a ratio of
    all) more or less than expected.

    The probability rises with the number in steps; it is that at the number which is returned. Raises ValueError for a
    deviation that no class can have, or that takes more than ten million.
    """
    if not _others(expected, deviation):
        raise ValueError(f"no share can deviate by {deviation:g}")

    def is_enough(number: int) -> bool:
        return _finds(number, expected, deviation, power, confidence)

    low, high = 0, 1
    while not is_enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise ValueError(f"a deviation of {deviation:g} needs more than {_MOST} things")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def deviation_found(
    number: int, expected: Sequence[float], power: float = POWER, confidence: float = CONFIDENCE
) -> float | None:
    """The deviation, a ratio of all, that so many things show with this probability; None if they show none at all."""
    largest = max(max(share, 1 - share) for share in expected)
    steps = [step * largest / _STEPS for step in range(1, _STEPS)]
    place = bisect_left(steps, True, key=lambda deviation: _finds(number, expected, deviation, power, confidence))
    return steps[place] if place < len(steps) else None


def _others(expected: Sequence[float], deviation: float) -> set[tuple[float, float]]:
    """Each share with what it is when it deviates, as far as a share can."""
    return {(share, other) for share in expected for other in (share - deviation, share + deviation) if 0 < other < 1}


def _finds(number: int, expected: Sequence[float], deviation: float, power: float, confidence: float) -> bool:
    tail = (1 - confidence) / len(expected) / 2
    return all(_found(number, share, other, tail) >= power for share, other in _others(expected, deviation))


def _found(number: int, share: float, other: float, tail: float) -> float:
    """The probability that a class with the share `other` is seen to have more (or less) than `share`."""
    if other < share:  # the same with the other classes together
        return _found(number, 1 - share, 1 - other, tail)
    # The least count that is too large: of more than it only with the probability `tail`.
    low, high = 0, number + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _at_least(number, share, middle) <= tail else (middle, high)
    return _at_least(number, other, high)


def _at_least(number: int, share: float, count: int) -> float:
    """The probability of so many of `number`, or more (DLMF 8.17.5)."""
    if count <= 0:
        return 1.0
    return beta_below(count, number - count + 1, share) if count <= number else 0.0


def chance_of_less(counts: Sequence[int], expected: Sequence[float]) -> float:
    """The probability that all counts are as near to the expected ones, in standard deviations, as the one of these
    counts that is furthest. A small one says that something makes them more even than chance does.

    Exact by Levin's representation of the multinomial by Poisson variables of a given sum (Annals of Statistics 9,
    1981, p. 1123), whose distributions are folded here.
    """
    import numpy as np  # not needed before the first counts

    whole = sum(counts)
    means = [whole * share for share in expected]
    deviations = [math.sqrt(mean * (1 - share)) for mean, share in zip(means, expected, strict=True)]
    pairs = list(zip(counts, means, deviations, strict=True))
    furthest = max((abs(count - mean) / deviation for count, mean, deviation in pairs if deviation), default=0.0)
    folded, first = np.ones(1), 0
    for _, mean, deviation in pairs:
        reach = furthest * deviation * (1 + 1e-9)
        low, high = max(0, math.ceil(mean - reach)), math.floor(mean + reach)
        if high < low:
            return 0.0
        numbers = np.arange(low, high + 1)
        logs = numbers * math.log(mean) - mean - np.array([math.lgamma(number + 1) for number in numbers])
        folded, first = np.convolve(folded, np.exp(logs)), first + low
    place = whole - first
    if not 0 <= place < len(folded):
        return 0.0
    given = math.exp(whole * math.log(whole) - whole - math.lgamma(whole + 1))
    return min(1.0, float(folded[place]) / given)
