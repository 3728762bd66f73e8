"""Comparison of two figures: they differ only if their intervals do not overlap; one is worse only beyond a margin.

Knows no run and no measurement. Uncertainties are expanded (k = 2) and assumed to be independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from keisoku.ground.statistics.quantity import Covers, Interval, Quantity

Better = Literal["higher", "lower", "neither"]
Verdict = Literal["lower", "higher", "equal", "cannot be told apart"]
Change = Literal["regression", "worse within the margin", "better", "cannot be judged", "cannot be told apart", "equal"]

ROUNDING = 1e-12
"""Relative difference below which two figures differ only by rounding in the arithmetic."""


def without_rounding(figure: Quantity) -> Quantity:
    """The figure, made exact if its uncertainty comes only from the arithmetic (a line through points without
    scatter)."""
    if figure.uncertainty is None or not 0 <= figure.uncertainty <= ROUNDING * abs(figure.value):
        return figure
    return figure.model_copy(update={"uncertainty": 0.0})


def difference(one: Quantity, other: Quantity) -> Quantity:
    """`one` - `other` with its expanded uncertainty (GUM 5.1.2), which is not known if either's is not.

    Where either interval is not symmetrical, each end is that of its own side (MOVER: Donner and Zou, 2012). With a
    bound it is a bound itself, where there is one. Raises ValueError for figures of different units.
    """
    if one.unit != other.unit:
        raise ValueError(f"{one.unit} cannot be subtracted from {other.unit}")
    if one.bound or other.bound:
        return _bounded(one, other)
    value = one.value - other.value
    if abs(value) <= _rounding(one, other):
        value = 0.0
    covers = of_difference(one, other)
    if one.bounds is None or other.bounds is None or covers == "observed":
        return Quantity(value=value, unit=one.unit, covers=covers)
    (low, high), (its_low, its_high) = one.bounds, other.bounds
    down = math.hypot(one.value - low, its_high - other.value)
    up = math.hypot(high - one.value, other.value - its_low)
    ends = None if math.isclose(down, up) else Interval(lower=value - down, upper=value + up)
    return Quantity(value=value, unit=one.unit, uncertainty=max(down, up), interval=ends, covers=covers)


def ratio(one: Quantity, other: Quantity) -> Quantity | None:
    """`one` / `other` with an interval; None unless both values are above zero.

    The interval is Fieller's, which Donner and Zou (2012) extend to intervals that are not symmetrical (MOVER-R). It is
    not known if either's is not, or if `other` may be zero. With a bound the ratio is a bound itself, where there is
    one.
    """
    if not (0 < one.value < math.inf and 0 < other.value < math.inf):
        return None
    value = one.value / other.value
    unknown = Quantity(value=value, unit="")
    if one.bounds is None or other.bounds is None:
        return unknown
    (low, high), (its_low, its_high) = one.bounds, other.bounds
    if one.bound or other.bound:
        if math.isfinite(its_high) and low > 0:
            return Quantity(value=low / its_high, unit="", bound="at least")
        if math.isfinite(high) and its_low > 0:
            return Quantity(value=high / its_low, unit="", bound="at most")
        return None
    if its_low <= 0 or its_high >= 2 * other.value:
        return unknown
    ends = []
    for end, its_end, sign in ((low, its_high, -1), (high, its_low, 1)):
        side, its_side = end / one.value - 1, its_end / other.value - 1
        square = 1 - its_side**2
        root = math.sqrt(max(0.0, 1 - (1 - side**2) * square))
        ends.append(value * (1 + sign * root) / square)
    covers = of_difference(one, other)
    if ends[1] - ends[0] <= 2 * ROUNDING * value:
        return Quantity(value=value, unit="", uncertainty=0.0, covers=covers)
    return Quantity(value=value, unit="", interval=Interval(lower=ends[0], upper=ends[1]), covers=covers)


def verdict(one: Quantity, other: Quantity) -> Verdict:
    """Verdict on `one` against `other`: 'lower' or 'higher' only if value ± uncertainty of both do not overlap.

    'equal' is for exact figures of the same value. With an unknown uncertainty the two cannot be distinguished.
    """
    mine, its = _side(one, other), _side(other, one)
    if mine is None or its is None:
        return "cannot be told apart"
    reach = mine + its + _rounding(one, other)
    distance = one.value - other.value
    if abs(distance) > reach:
        return "lower" if distance < 0 else "higher"
    return "equal" if mine == its == 0 else "cannot be told apart"


def ranked(figures: Sequence[Quantity]) -> list[list[int]]:
    """Indices of the figures from the lowest up, in groups: figures of different groups differ, those of one need not.

    Two members of a group may differ from each other if a third one overlaps both.
    """
    order = sorted(range(len(figures)), key=lambda index: figures[index].value)
    groups: list[list[int]] = []
    for place, index in enumerate(order):
        apart = all(verdict(figures[low], figures[high]) == "lower" for low in order[:place] for high in order[place:])
        if place == 0 or apart:
            groups.append([index])
        else:
            groups[-1].append(index)
    return groups


@dataclass(frozen=True)
class Margin:
    """How much worse a figure may become: a share of the old value, or an amount."""

    share: float = 0.0
    amount: float = 0.0
    unit: str | None = None
    """In which the amount was written; None of a share."""

    def in_unit_of(self, old: Quantity) -> float:
        """The margin in the unit of `old`."""
        return self.share * abs(old.value) + self.amount


def change(new: Quantity, old: Quantity, better: Better, margin: Margin) -> Change:
    """A regression if `new` is worse by more than the margin even after the uncertainty of the difference is
    subtracted.

    With d = how much worse, U = sqrt(U_new² + U_old²) and m the margin: regression if d - U > m, worse within the
    margin if d - U > 0, better if -d - U > 0. Where neither way is better, d is the distance. A bound is judged by the
    whole of where the figure may lie.
    """
    found = difference(new, old)
    if found.bounds is None and (new.bound or old.bound) and new.bounds and old.bounds:
        # Two bounds on one side do not say which figure is the larger one.
        return "cannot be told apart"
    if found.bounds is None or not math.isfinite(found.value):
        return "cannot be judged"
    rounding = _rounding(new, old)
    low, high = found.bounds[0] - rounding, found.bounds[1] + rounding
    least_worse = {"lower": low, "higher": -high, "neither": max(low, -high)}[better]
    least_better = {"lower": -high, "higher": low, "neither": -math.inf}[better]
    if least_worse > margin.in_unit_of(old):
        return "regression"
    if least_worse > 0:
        return "worse within the margin"
    if least_better > 0:
        return "better"
    return "equal" if found.uncertainty == 0 else "cannot be told apart"


def _bounded(one: Quantity, other: Quantity) -> Quantity:
    """The difference with a bound: 'at least 600' less 570 ± 10 is at least 20; of two alike nothing is known."""
    value = one.value - other.value
    mine, its = one.bounds, other.bounds
    if mine is None or its is None:
        return Quantity(value=value, unit=one.unit)
    low, high = mine[0] - its[1], mine[1] - its[0]
    if math.isfinite(low):
        return Quantity(value=low, unit=one.unit, bound="at least")
    if math.isfinite(high):
        return Quantity(value=high, unit=one.unit, bound="at most")
    return Quantity(value=value, unit=one.unit)


def of_difference(one: Quantity, other: Quantity) -> Covers:
    """What the uncertainty of a difference is that of: what one tester adds to both figures cancels."""
    both = one.covers or other.covers
    return "resolution" if both == "repetitions" else both


def _side(figure: Quantity, other: Quantity) -> float | None:
    """How far the figure's interval extends towards the other one; None if that is not known."""
    if figure.bound:
        open_side = other.value >= figure.value if figure.bound == "at least" else other.value <= figure.value
        return math.inf if open_side else 0.0
    if figure.covers == "observed":
        return None
    if figure.interval is None:
        return figure.uncertainty
    down, up = figure.value - figure.interval.lower, figure.interval.upper - figure.value
    if figure.value == other.value:
        return max(down, up)
    return down if other.value < figure.value else up


def _rounding(one: Quantity, other: Quantity) -> float:
    return ROUNDING * max(abs(one.value), abs(other.value))
