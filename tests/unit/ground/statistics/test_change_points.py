"""Pieces of straight lines: the best of all divisions, and the noise around them whatever the lines do."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from keisoku.ground.statistics.change_points import local_noise, noise, penalty, pieces

Values = NDArray[np.float64]


def squares(x: Values, y: Values, sigma: Values) -> float:
    """Of the weighted line through these samples, in units of their noise; one or two lie on a line."""
    if len(x) <= 2:
        return 0.0
    slope, constant = np.polyfit(x, y, 1, w=1 / sigma)
    return float((((y - slope * x - constant) / sigma) ** 2).sum())


def best(x: Values, y: Values, sigma: Values) -> list[tuple[int, int]]:
    """Of all divisions, tried one by one."""
    count = len(x)
    divisions = [
        list(pairwise((0, *inner, count))) for number in range(count) for inner in combinations(range(1, count), number)
    ]
    return min(
        divisions,
        key=lambda parts: sum(
            squares(x[first:end], y[first:end], sigma[first:end]) + penalty(count) for first, end in parts
        ),
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_other_division_is_better(seed: int) -> None:
    chance = np.random.default_rng(seed)
    x = np.cumsum(chance.uniform(0.5, 2.0, 10)) + 1e4
    at = int(chance.integers(3, 8))
    y = 1e6 + 3 * x + np.where(np.arange(10) < at, 0.0, chance.choice([-40, 15, 60])) + chance.normal(0, 2, 10)
    sigma = chance.uniform(1, 4, 10)
    assert pieces(x, y, sigma) == best(x, y, sigma)
    assert pieces(x, y, np.float64(2.0)) == best(x, y, np.full(10, 2.0))


def test_a_piece_costs_four_logarithms_of_the_number_of_samples() -> None:
    assert penalty(100) == pytest.approx(4 * math.log(100))
    assert penalty(1) == penalty(2) == pytest.approx(4 * math.log(2))


def test_noise_is_that_around_lines_and_not_of_their_changes() -> None:
    chance = np.random.default_rng(5)
    x = np.arange(400.0)
    line = 7 * x + np.where(x < 150, 0.0, 900.0) - np.where(x < 300, 0.0, 12 * (x - 300))
    assert noise(line + chance.normal(0, 3, 400), 0.0) == pytest.approx(3, rel=0.15)
    assert noise(line, 0.25) == 0.25
    assert noise([1.0, 2.0], 0.5) == 0.5
    assert noise([0.0, 1.0, 0.0], 0.0) == pytest.approx(1.4826 * 2 / math.sqrt(6))


def test_noise_that_lasts_for_several_samples_is_not_taken_for_less() -> None:
    chance = np.random.default_rng(6)
    lasting = np.repeat(chance.normal(0, 3, 150), 4) + chance.normal(0, 0.1, 600)
    assert noise(lasting, 0.0) > 2
    # With few samples for it, a longer lag would see changes and not noise.
    assert noise(lasting[:59], 0.0) < 1


def test_noise_is_local_where_there_is_clearly_less_of_it() -> None:
    chance = np.random.default_rng(7)
    values = np.concatenate([chance.normal(0, 10, 100), chance.normal(0, 0.5, 100)])
    found = local_noise(values, 0.1)
    whole = noise(values, 0.0)
    assert found.shape == (200,) and (found >= 0.1).all()
    assert (found[120:] < 2).all() and (found[120:] >= 0.1).all()
    assert (found[:85] >= whole).all() and found[:85].max() > whole
    # The noisier side counts at the border.
    assert found[99] >= whole and found[100] >= whole
    assert local_noise(np.zeros(200), np.linspace(1, 2, 200)) == pytest.approx(np.linspace(1, 2, 200))
    short = local_noise(values[:14], 0.0)
    assert short == pytest.approx(np.full(14, noise(values[:14], 0.0)))
