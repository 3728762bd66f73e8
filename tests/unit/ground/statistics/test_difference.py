"""The interval of a difference, whose ends are each of their own side."""

from __future__ import annotations

import random
from statistics import mean

import pytest

from keisoku.ground.statistics.difference import Margin, change, difference
from keisoku.ground.statistics.quantity import Interval, Quantity


def between(value: float, lower: float, upper: float) -> Quantity:
    ends = Interval(lower=lower, upper=upper)
    return Quantity(value=value, unit="ns", uncertainty=max(value - lower, upper - value), interval=ends)


def test_the_far_side_of_an_interval_was_not_in_a_difference() -> None:
    """5.0 ± 0.7 µs was said of 5.3 µs that may have been 10."""
    found = difference(between(5300.0, 4600.0, 10_000.0), Quantity(value=300.0, unit="ns", uncertainty=2.0))
    assert found.bounds == pytest.approx((4300.0, 9700.0), abs=1)
    assert found.uncertainty == pytest.approx(4700.0, abs=1)


def test_equal_sides_have_one_uncertainty() -> None:
    found = difference(*(Quantity(value=value, unit="ns", uncertainty=3.0) for value in (10.0, 4.0)))
    assert found.interval is None and found.uncertainty == pytest.approx(18**0.5)


def test_of_two_bounds_on_one_side_only_the_difference_of_what_was_seen_is_known() -> None:
    one, other = (Quantity(value=value, unit="ns", bound="at least") for value in (10.0, 4.0))
    assert difference(one, other) == Quantity(value=6.0, unit="ns")
    below = difference(one, Quantity(value=4.0, unit="ns", uncertainty=1.0))
    assert (below.value, below.bound) == (5.0, "at least")


def test_a_change_is_judged_by_the_side_that_reaches_the_margin() -> None:
    old = Quantity(value=100.0, unit="ns", uncertainty=1.0)
    assert change(between(110.0, 108.0, 200.0), old, "lower", Margin(share=0.05)) == "regression"
    assert change(between(110.0, 103.0, 111.0), old, "lower", Margin(share=0.05)) == "worse within the margin"
    assert change(between(90.0, 20.0, 92.0), old, "lower", Margin()) == "better"
    assert change(between(90.0, 89.0, 130.0), old, "lower", Margin()) == "cannot be told apart"


def test_a_change_of_a_bound_is_judged_by_all_that_it_may_be() -> None:
    """Whatever its unit: these differ by less than one of it."""
    old = Quantity(value=0.5, unit="s", uncertainty=0.1)
    below, above = (Quantity(value=0.3, unit="s", bound="at most"), Quantity(value=0.9, unit="s", bound="at least"))
    assert change(below, old, "lower", Margin()) == change(above, old, "higher", Margin()) == "better"
    assert change(above, old, "lower", Margin()) == change(below, old, "higher", Margin()) == "regression"
    assert change(above, old, "lower", Margin(amount=0.4)) == "worse within the margin"
    for bound, value in (("at most", 0.9), ("at least", 0.3)):
        unclear = Quantity(value=value, unit="s", bound=bound)
        assert {change(unclear, old, better, Margin()) for better in ("lower", "higher")} == {"cannot be told apart"}
    assert change(below, below, "lower", Margin()) == "cannot be told apart"
    assert change(above, Quantity(value=0.5, unit="s"), "lower", Margin()) == "cannot be judged"
    longest = Quantity(value=0.9, unit="s", uncertainty=0.1, covers="observed")
    assert change(longest, old, "lower", Margin()) == "cannot be judged"


def test_it_contains_the_true_difference_of_skewed_figures_as_often_as_each_does() -> None:
    chance = random.Random(5)
    inside = []
    for _ in range(2000):
        sides = []
        for _ in range(2):
            late = chance.expovariate(1.0)  # within (0.025, 3.69) in 95 %
            sides.append(between(100 + late, 100 + late - 3.69, 100 + late - 0.025))
        found = difference(*sides)
        assert found.bounds
        inside.append(found.bounds[0] <= 0 <= found.bounds[1])
    assert 0.93 < mean(inside) < 0.99
