"""Counts in classes: error rates and powers summed over all outcomes, or by SciPy's binomial; no draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from keisoku.ground.statistics.multinomial import (
    CONFIDENCE,
    POWER,
    chance_of_less,
    deviating,
    deviation_found,
    number_needed,
    shares,
)

EXPECTED = ([0.5, 0.5], [1 / 3] * 3, [0.25, 0.5, 0.25], [0.1, 0.9])


def outcomes(whole: int, classes: int) -> list[tuple[int, ...]]:
    """Every way in which things can fall into classes."""
    found = itertools.product(range(whole + 1), repeat=classes - 1)
    return [(*own, whole - sum(own)) for own in found if sum(own) <= whole]


def chance(counts: tuple[int, ...], expected: list[float]) -> float:
    return float(stats.multinomial.pmf(counts, sum(counts), expected))


@pytest.mark.parametrize("expected", EXPECTED)
@pytest.mark.parametrize("whole", [5, 20, 40])
def test_counts_that_are_as_expected_are_called_deviating_in_one_percent_of_cases_at_most(
    whole: int, expected: list[float]
) -> None:
    every = outcomes(whole, len(expected))
    wrong = math.fsum(chance(counts, expected) for counts in every if deviating(counts, expected))
    assert wrong <= 1 - CONFIDENCE


def test_a_class_is_deviating_where_its_share_is_outside_the_interval_that_is_shown() -> None:
    counts, expected = (310, 230, 230, 230), [0.25] * 4
    assert deviating(counts, expected) == [0]
    low, high = shares(counts)[0]
    assert 0.25 < low < 0.31 < high
    # Clopper and Pearson's ends are where the tail of the count has a quarter of 1 %, halved.
    assert stats.binom.sf(309, 1000, low) == pytest.approx(0.01 / 8)
    assert stats.binom.cdf(310, 1000, high) == pytest.approx(0.01 / 8)


@pytest.mark.parametrize("expected", [*EXPECTED, [1 / 8] * 8, [1 / 64] * 64])
@pytest.mark.parametrize("deviation", [0.02, 0.04, 0.1])
def test_so_many_things_show_a_deviation_with_the_power_that_is_promised(
    deviation: float, expected: list[float]
) -> None:
    """And a tenth fewer do not, at the share that is the hardest to tell apart."""

    def powers(number: int) -> list[float]:
        tail = (1 - CONFIDENCE) / len(expected) / 2
        found = []
        for share in set(expected):
            most, least = stats.binom.isf(tail, number, share), stats.binom.ppf(tail, number, share)
            if share + deviation < 1:
                found.append(stats.binom.sf(most, number, share + deviation))
            if share > deviation:
                found.append(stats.binom.cdf(least - 1, number, share - deviation))
        return found

    number = number_needed(expected, deviation)
    assert min(powers(number)) >= POWER - 1e-9
    assert min(powers(math.ceil(0.9 * number))) < POWER
    found = deviation_found(number, expected)
    assert found is not None and found == pytest.approx(deviation, abs=0.0011)


def test_two_things_show_nothing() -> None:
    assert deviation_found(2, [0.5, 0.5]) is None


@pytest.mark.parametrize("deviation", [1.0, 1e-5])
def test_a_deviation_that_cannot_be_shown_is_refused(deviation: float) -> None:
    with pytest.raises(ValueError, match=r"no share can|more than"):
        number_needed([0.5, 0.5], deviation)


@pytest.mark.parametrize("expected", EXPECTED)
def test_the_chance_of_less_is_the_sum_over_all_outcomes_that_are_as_near(expected: list[float]) -> None:
    whole, every = 12, outcomes(12, len(expected))
    shares_ = np.array(expected)

    def furthest(counts: tuple[int, ...]) -> float:
        return float(np.max(np.abs(np.array(counts) - whole * shares_) / np.sqrt(whole * shares_ * (1 - shares_))))

    for counts in every[:: max(1, len(every) // 15)]:
        near = math.fsum(chance(own, expected) for own in every if furthest(own) <= furthest(counts) + 1e-9)
        assert chance_of_less(counts, expected) == pytest.approx(near, rel=1e-9)


def test_things_in_turn_are_more_even_than_by_chance() -> None:
    assert chance_of_less([250] * 4, [0.25] * 4) < 1e-4
    assert chance_of_less([236, 262, 244, 258], [0.25] * 4) > 0.1
