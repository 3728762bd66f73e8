"""Whether B differs from A, from pairs of runs of both: judged while pairs come, and as soon as it can be said.

A pair's difference is log(B/A), or B - A where a figure can be zero. Each interval of a comparison holds for all its
looks together (`keisoku/ground/statistics/spending.py`), so that nothing is gained by stopping at a lucky moment.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics import biweight, signed_rank
from keisoku.ground.statistics.difference import Better
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.spending import looks

SHOWN_ERROR = 0.05
"""Of the interval that is shown."""
FALSELY_WORSE, FALSELY_BETTER = 0.008, 0.002
"""Of two equal sides, the shares of comparisons in which B is called worse, and better, at most. They differ: both
together are one in a hundred, and most of it serves to find that B is worse (`benchmarks/detection/paired.py`)."""
Verdict = Literal["worse", "better", "different", "equal", "precise", "no worse", "open", "undecided", "not measured"]
"""'different': where neither direction is better. 'equal': no difference beyond the margin. 'precise': the interval is
as narrow as was asked for. 'no worse': not beyond the margin. 'open': no difference was found. 'undecided': one beyond
the margin is neither shown nor excluded."""
Ends = tuple[float, float]
_NOWHERE: Ends = (-math.inf, math.inf)


@dataclass(frozen=True)
class Rule:
    """When a comparison ends."""

    better: Better
    margin: float = 0.0
    """How much worse B may be, as a share of A."""
    precision: float | None = None
    """Half the width of the interval that is narrow enough, as a share of A."""
    comparisons: int = 1
    """Figures that are compared side by side: each has its part of the probability of error."""


@dataclass(frozen=True)
class Differences:
    """The differences of the pairs; where one side is a bound the lowest or the highest is infinite, and where a side
    was not measured both are NaN."""

    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    resolution: float
    """How far a difference may be off by the resolution of single runs."""
    of_logs: bool
    """Differences of logarithms, and not in the unit of `scale`."""
    scale: float
    """The larger of the medians of both sides, of which differences that are not of logarithms are shares."""

    @property
    def resolved(self) -> float:
        """The resolution as a share of A."""
        return self.share(self.resolution)

    def share(self, difference: float) -> float:
        """How much larger B is than A, as a share of A; of the larger one for differences that are not of logarithms.

        Infinite stays infinite.
        """
        if not math.isfinite(difference):
            return difference
        if self.of_logs:
            return math.expm1(difference) if difference < 700 else math.inf
        return (
            difference / self.scale if self.scale else (0.0 if difference == 0 else math.copysign(math.inf, difference))
        )


@dataclass(frozen=True)
class Judgement:
    """What the pairs say of one figure. Ends are shares (0.05: B is 5 % larger)."""

    verdict: Verdict
    ended: bool
    """No further pair is needed."""
    pairs: int
    """Pairs that it rests on."""
    change: Ends
    """The estimate; its ends are equal unless sides are bounds."""
    shown: Ends
    """The interval of 95 %."""
    sure: Ends
    """The interval that decides, of `alarm_errors`."""
    bounds: bool = False
    """Both sides are bounds in each pair, so that no difference is known, however many there are."""


def differences(pairs: Sequence[tuple[Quantity, Quantity] | None]) -> Differences:
    """B against A for each pair of (A, B); None: a side was not measured."""
    known = [pair for pair in pairs if pair is not None]
    of_logs = all(figure.value > 0 for pair in known for figure in pair)
    middles = [abs(statistics.median([pair[side].value for pair in known])) for side in (0, 1)] if known else [0.0]
    ends = [(math.nan, math.nan) if pair is None else _ends(*pair, of_logs) for pair in pairs]
    widths = [width(*pair, of_logs) for pair in known]
    low, high = (np.array([each[side] for each in ends], dtype=np.float64) for side in (0, 1))
    return Differences(low, high, statistics.median(widths) if widths else 0.0, of_logs, max(middles))


def judge(found: Differences, used: Sequence[float], rule: Rule) -> Judgement:
    """The judgement at the first look that decides, else at the last one. `used` has the share of the budget that was
    used up after each pair."""
    ended = bool(used) and used[-1] >= 1
    made = looks(used, max(alarm_errors(rule.better)) / rule.comparisons)
    for place, look in enumerate(made, 1):
        said = _at(found, look.pairs, look.share / rule.comparisons, rule, ended and place == len(made))
        if said.ended or place == len(made):
            return said
    return _at(found, len(used), 0.0, rule, ended)  # too few pairs for any interval


def alarm_errors(better: Better) -> tuple[float, float]:
    """The probability of error of the interval whose lower end decides, and of that whose upper end does."""
    both = {
        "higher": (FALSELY_BETTER, FALSELY_WORSE),
        "lower": (FALSELY_WORSE, FALSELY_BETTER),
        "neither": ((FALSELY_WORSE + FALSELY_BETTER) / 2,) * 2,
    }
    low, high = both[better]
    return 2 * low, 2 * high


def _at(found: Differences, pairs: int, share: float, rule: Rule, last: bool) -> Judgement:
    known = ~np.isnan(found.lowest[:pairs])
    low, high = found.lowest[:pairs][known], found.highest[:pairs][known]
    if not low.size:
        return Judgement("not measured", last, 0, _NOWHERE, _NOWHERE, _NOWHERE)
    errors = [error * share for error in (SHOWN_ERROR, *alarm_errors(rule.better))]
    many = _of_many(low, errors) if np.array_equal(low, high) else None
    if np.isinf(low).all() and np.isinf(high).all():
        return Judgement("undecided", last, int(low.size), _NOWHERE, _NOWHERE, _NOWHERE, bounds=True)
    centre, ends = many or _of_few(low, high, errors)
    shown, lower, upper = (widened(each, centre, found.resolution) for each in ends)
    sure = lower[0], upper[1]
    change, shown, sure = ((found.share(ends[0]), found.share(ends[1])) for ends in (centre, shown, sure))
    return _judgement(int(low.size), change, shown, sure, rule, last)


def _of_few(low: NDArray[np.float64], high: NDArray[np.float64], errors: Sequence[float]) -> tuple[Ends, list[Ends]]:
    """Centre, and an interval for each error: exact for few pairs, and for bounds."""
    lowest = signed_rank.ranked(low)
    highest = lowest if np.array_equal(low, high) else signed_rank.ranked(high)
    centre = signed_rank.pseudo_median(lowest), signed_rank.pseudo_median(highest)
    return centre, [signed_rank.interval(lowest, highest, error) if error else _NOWHERE for error in errors]


def _of_many(differences: NDArray[np.float64], errors: Sequence[float]) -> tuple[Ends, list[Ends]] | None:
    """The same of many differences without bounds, where disturbed ones do not count; None if it has no answer."""
    found = [biweight.interval(differences, error) for error in errors if error]
    known = [each for each in found if each is not None]
    if len(known) < len(errors):
        return None
    return (known[0][0], known[0][0]), [(low, high) for _, low, high in known]


def final(pairs: int, change: Ends, shown: Ends, sure: Ends, rule: Rule, last: bool) -> Judgement:
    """The judgement that intervals of one look give: nothing is decided before it is the `last`."""
    found = _judgement(pairs, change, shown, sure, rule, last)
    return found if last else replace(found, verdict="undecided", ended=False)


def _judgement(pairs: int, change: Ends, shown: Ends, sure: Ends, rule: Rule, last: bool) -> Judgement:
    verdict = _verdict(shown, sure, rule)
    if verdict is not None:
        return Judgement(verdict, True, pairs, change, shown, sure)
    return Judgement(_at_last(shown, rule) if last else "undecided", last, pairs, change, shown, sure)


def _verdict(shown: Ends, sure: Ends, rule: Rule) -> Verdict | None:
    """What can be said for certain; None: not yet."""
    if sure[0] > rule.margin or sure[1] < -rule.margin:
        if rule.better == "neither":
            return "different"
        return "better" if (sure[0] > rule.margin) == (rule.better == "higher") else "worse"
    if -rule.margin <= shown[0] and shown[1] <= rule.margin:
        return "equal"
    if rule.precision is not None and (shown[1] - shown[0]) / 2 <= rule.precision:
        return "precise"
    return None


def _at_last(shown: Ends, rule: Rule) -> Verdict:
    """What is said when the budget is used up."""
    worse = {"higher": -shown[0], "lower": shown[1], "neither": max(-shown[0], shown[1])}[rule.better]
    if math.isinf(worse) or (rule.margin and worse > rule.margin):
        return "undecided"
    if rule.margin or worse <= 0:
        return "no worse"
    # An interval without zero is not enough for "worse", and too much for "no difference".
    return "open" if shown[0] <= 0 <= shown[1] else "undecided"


def widened(ends: Ends, centre: Ends, resolution: float) -> Ends:
    """The interval with the resolution of single runs, which is independent of how they vary (GUM 5.1.2), all in one
    unit."""
    if not resolution:
        return ends
    low, high = ends
    return (
        centre[0] - math.hypot(centre[0] - low, resolution) if math.isfinite(low) else low,
        centre[1] + math.hypot(high - centre[1], resolution) if math.isfinite(high) else high,
    )


def _ends(a: Quantity, b: Quantity, of_logs: bool) -> Ends:
    difference = math.log(b.value / a.value) if of_logs else b.value - a.value
    below = a.bound == "at least" or b.bound == "at most"
    above = a.bound == "at most" or b.bound == "at least"
    return -math.inf if below else difference, math.inf if above else difference


def width(a: Quantity, b: Quantity, of_logs: bool) -> float:
    """How far a difference may be off by the resolution of both runs, in their unit or as a ratio; what is not known is
    left out.

    It is their sum: a resolution is a limit, and the two sides may be off in opposite directions in every pair.
    """
    found = []
    for figure in (a, b):
        ends = None if figure.bound else figure.bounds
        half = (ends[1] - ends[0]) / 2 if ends is not None and math.isfinite(ends[1] - ends[0]) else 0.0
        found.append(half / figure.value if of_logs else half)
    return sum(found)
