"""A figure as the first screen and sentences say it: one that is lost in its own uncertainty is only a bound."""

from __future__ import annotations

from keisoku.ground.statistics.quantity import Quantity


def headline(figure: Quantity) -> Quantity:
    """The figure itself, or the upper end of its interval as a bound where the interval is as wide as the figure.

    For what cannot be below zero, such as times, rates and losses; of differences and offsets that says nothing.
    """
    if figure.bound or figure.bounds is None:
        return figure
    low, high = figure.bounds
    if figure.value < 0 or high == low or high - low < figure.value:
        return figure
    return Quantity(value=high, unit=figure.unit, bound="at most", covers=figure.covers)
