"""Student's factors, degrees of freedom and intervals of means, against published tables and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from keisoku.ground.statistics.uncertainty import (
    deviation,
    effective_freedom,
    expanded,
    half_width,
    half_width_of_sum,
    student,
)


@pytest.mark.parametrize(
    ("freedom", "confidence", "factor"),
    [
        (1, 0.95, 12.706),
        (2, 0.95, 4.303),
        (10, 0.95, 2.228),
        (math.inf, 0.95, 1.960),
        (5, 0.99, 4.032),
        (3, 0.5, 0.765),
    ],
)
def test_students_factor_is_that_of_the_tables(freedom: float, confidence: float, factor: float) -> None:
    assert student(freedom, confidence) == pytest.approx(factor, abs=5e-4)


def test_the_interval_of_a_mean_is_students() -> None:
    values = [3.0, 5.0, 10.0, 11.0]
    known = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert half_width(values) == pytest.approx((known[1] - known[0]) / 2)
    assert half_width(values, 0.5) < half_width(values) < half_width(values, 0.99)
    assert half_width([3.0]) == half_width([]) == math.inf


def test_a_fit_leaves_fewer_degrees_of_freedom() -> None:
    residuals = [1.0, -2.0, 1.0, 0.0]
    assert deviation(residuals) == pytest.approx(math.sqrt(6 / 3))
    assert deviation(residuals, fitted=2) == pytest.approx(math.sqrt(6 / 2))
    assert deviation([0.1] * 3) == 0
    assert deviation([7.0, 9.0], fitted=0) == 1
    with pytest.raises(ValueError, match="2 values of which 2 were fitted"):
        deviation([1.0, 2.0], fitted=2)


def test_effective_degrees_of_freedom_are_those_of_gum_g_4_1() -> None:
    """Its example: 0.25 % of ten readings, 0.57 % of five, 0.82 % of fifteen: 1.03 % with 19.0."""
    assert effective_freedom([(0.25, 9), (0.57, 4), (0.82, 14)]) == pytest.approx(19.0, abs=0.05)
    assert effective_freedom([(0.0, 3), (2.0, 7)]) == pytest.approx(7)
    assert effective_freedom([(0.0, 3)]) == math.inf


def test_a_difference_of_means_has_welchs_interval() -> None:
    one, other = [10.1, 9.8, 10.4, 10.0, 9.9], [12.5, 11.0, 13.1]
    known = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert half_width_of_sum([one, other], [1.0, -1.0]) == pytest.approx((known.high - known.low) / 2)
    assert half_width_of_sum([one], [-3.0]) == pytest.approx(3 * half_width(one))
    assert half_width_of_sum([one, [1.0]], [1.0, 1.0]) == math.inf


def test_an_expanded_uncertainty_has_the_factor_that_is_asked_for() -> None:
    assert expanded(2.5, 3.0) == 7.5
