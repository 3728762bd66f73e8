"""Variance, standard deviation and their intervals, against SciPy's chi-squared."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from keisoku.ground.statistics import budget

VALUES = [3.0, 5.0, 10.0, 11.0, 6.0]


def test_a_variance_has_the_interval_of_chi_squared() -> None:
    found = budget.variance(VALUES, "(Mb/s)²")
    square = float(np.var(VALUES, ddof=1))
    low, high = (4 * square / stats.chi2.ppf(chance, 4) for chance in (0.975, 0.025))
    assert found.value == pytest.approx(square) and found.unit == "(Mb/s)²"
    assert found.bounds == pytest.approx((low, high))
    assert found.uncertainty == pytest.approx(high - square), "the longer side"


def test_a_standard_deviation_has_the_roots_of_it() -> None:
    found, square = budget.spread(VALUES, "Mb/s"), budget.variance(VALUES, "")
    assert found.value == pytest.approx(math.sqrt(square.value)) and found.unit == "Mb/s"
    assert square.bounds is not None
    assert found.bounds == pytest.approx(tuple(math.sqrt(end) for end in square.bounds))


def test_a_mean_has_students_interval_and_one_value_none() -> None:
    found = budget.mean(VALUES, "ns")
    known = stats.t.interval(0.95, 4, np.mean(VALUES), stats.sem(VALUES))
    assert found.bounds == pytest.approx(known)
    assert budget.mean([3.0], "ns").uncertainty is None
