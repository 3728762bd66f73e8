"""Comparison of two figures: they differ only if their intervals do not overlap; one is worse only beyond a margin.

Knows no run and no measurement. Uncertainties are expanded (k = 2) and assumed to be independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from keisoku.analysis.quantity import Quantity

Better = Literal["higher", "lower", "neither"]
Verdict = Literal["lower", "higher", "equal", "cannot be told apart"]
Change = Literal["regression", "worse within the margin", "better", "cannot be judged", "cannot be told apart", "equal"]

_FLOAT = 1e-12
"""Relative difference below which two figures differ only by rounding in the arithmetic."""


def without_rounding(figure: Quantity) -> Quantity:
    """The figure, made exact if its uncertainty comes only from the arithmetic (a line through points without
    scatter)."""
    if figure.uncertainty is None or figure.uncertainty > _FLOAT * abs(figure.value):
        return figure
    return figure.model_copy(update={"uncertainty": 0.0})


def difference(one: Quantity, other: Quantity) -> Quantity:
    """`one` - `other` with its expanded uncertainty (GUM 5.1.2), which is not known if either's is not.

    Raises ValueError for figures of different units.
    """
    if one.unit != other.unit:
        raise ValueError(f"{one.unit} cannot be subtracted from {other.unit}")
    mine, its = _side(one, other), _side(other, one)
    uncertainty = None if mine is None or its is None else math.hypot(mine, its)
    return Quantity(value=one.value - other.value, unit=one.unit, uncertainty=uncertainty)


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
    """How much worse a figure may become: a share of the old value, or an amount in the figure's own unit."""

    share: float = 0.0
    amount: float = 0.0

    def of(self, old: Quantity) -> float:
        """The margin in the unit of `old`."""
        return self.share * abs(old.value) + self.amount


def change(new: Quantity, old: Quantity, better: Better, margin: Margin) -> Change:
    """A regression if `new` is worse by more than the margin even after the uncertainty of the difference is
    subtracted.

    With d = how much worse, U = sqrt(U_new² + U_old²) and m the margin: regression if d - U > m, worse within the
    margin if d - U > 0, better if -d - U > 0. Where neither way is better, d is the distance.
    """
    found = difference(new, old)
    if found.uncertainty is None or not math.isfinite(found.value):
        return "cannot be judged"
    worse = {"lower": found.value, "higher": -found.value, "neither": abs(found.value)}[better]
    uncertainty = found.uncertainty + _rounding(new, old)
    if worse - uncertainty > margin.of(old):
        return "regression"
    if worse - uncertainty > 0:
        return "worse within the margin"
    if -worse - uncertainty > 0:
        return "better"
    return "equal" if found.uncertainty == 0 else "cannot be told apart"


def _side(figure: Quantity, other: Quantity) -> float | None:
    """How far the figure's interval extends towards the other one; None if that is not known."""
    if figure.interval is None:
        return figure.uncertainty
    down, up = figure.value - figure.interval.lower, figure.interval.upper - figure.value
    if figure.value == other.value:
        return max(down, up)
    return down if other.value < figure.value else up


def _rounding(one: Quantity, other: Quantity) -> float:
    return _FLOAT * max(abs(one.value), abs(other.value))
