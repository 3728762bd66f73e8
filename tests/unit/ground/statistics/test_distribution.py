"""Distributions against SciPy's, from one degree of freedom to a thousand million frames."""

from __future__ import annotations

import math
import random

import pytest
from scipy import special

from keisoku.ground.statistics import distribution

CHANCES = 1e-4, 0.025, 0.3, 0.5, 0.975, 0.9999


@pytest.mark.parametrize("seed", range(40))
def test_beta(seed: int) -> None:
    chance = random.Random(seed)
    alpha, beta = (10 ** chance.uniform(-0.3, 9) for _ in range(2))
    for share in CHANCES:
        value = float(special.betaincinv(alpha, beta, share))
        assert distribution.beta_quantile(alpha, beta, share) == pytest.approx(value, rel=1e-6)
        if value < 1:
            assert distribution.beta_below(alpha, beta, value) == pytest.approx(
                float(special.betainc(alpha, beta, value)), rel=1e-6
            )


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 7, 30, 999.5, 1e5])
def test_student_fisher_and_chi_squared(freedom: float) -> None:
    for share in CHANCES:
        found = distribution.student_quantile(freedom, share)
        assert found == pytest.approx(float(special.stdtrit(freedom, share)), rel=1e-8, abs=1e-12)
        assert distribution.student_below(freedom, found) == pytest.approx(share, rel=1e-7)
        assert distribution.chi_squared_quantile(freedom, share) == pytest.approx(
            float(special.chdtri(freedom, share)), rel=1e-8
        )
    for other in (1, 5, 400):
        for ratio in (0.02, 0.9, 1.1, 30):
            expected = float(special.fdtrc(freedom, other, ratio))
            assert distribution.fisher_above(freedom, other, ratio) == pytest.approx(expected, rel=1e-7, abs=1e-300)
        assert distribution.fisher_above(other, math.inf, 1.3) == pytest.approx(
            float(special.chdtrc(other, 1.3 * other))
        )


def test_the_ends_are_certain() -> None:
    assert [distribution.beta_below(2, 3, value) for value in (-1, 0, 1, 2)] == [0, 0, 1, 1]
    assert [distribution.beta_quantile(2, 3, share) for share in (0, 1)] == [0, 1]
    assert distribution.chi_squared_above(3, 0) == 1 and distribution.fisher_above(3, 4, 0) == 1
