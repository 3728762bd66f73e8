"""Percentiles of latencies that one bucket holds, for distributions of which nothing but the moments is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from support import synthetic_runs

from keisoku.subjects.device.analysis.percentile import latency_percentile
from keisoku.subjects.device.analysis.shape import Moments, moments, shape_of
from keisoku.subjects.device.record.counts import Buckets, Latency

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
SHAPES: dict[str, Draw] = {
    "even": lambda chance, frames: chance.random(frames),
    "normal": lambda chance, frames: chance.normal(size=frames),
    "triangle": lambda chance, frames: chance.triangular(0, 0.2, 1, frames),
    "waiting": lambda chance, frames: chance.gamma(4, 1, frames),
    "weibull": lambda chance, frames: chance.weibull(2, frames),
}


def latency(values: NDArray[np.float64]) -> Latency:
    return synthetic_runs.latency(
        values, Buckets(negative=0, lower_ns=[30_000], upper_ns=[60_000], counts=[len(values)])
    )


@pytest.mark.parametrize("percent", [50.0, 99.0, 99.9])
@pytest.mark.parametrize("name", SHAPES)
def test_a_percentile_within_one_bucket_is_off_by_no_more_than_it_states_whatever_the_shape(
    name: str, percent: float
) -> None:
    chance = np.random.default_rng(7)
    truth = 40_000 + 100 * float(np.quantile(SHAPES[name](chance, 1_000_000), percent / 100))
    inside = 0
    for _ in range(20):
        values = 40_000 + 100 * SHAPES[name](chance, 20_000)
        found = latency_percentile(latency(values), percent)
        assert found is not None
        # A sample's own percentile scatters about that of the distribution.
        scatter = abs(float(np.quantile(values, percent / 100)) - truth)
        inside += abs(found.value_ns - truth) <= 2 * found.half_width_ns / math.sqrt(3) + scatter
    assert inside >= 18


def test_even_latencies_have_an_even_shape() -> None:
    """Moments that leave room for one give a beta distribution with their mean and variance."""
    found = shape_of(Moments(20_000, 40_050.0, 100 / math.sqrt(12), 40_000.0, 40_100.0))
    assert found is not None
    assert (found.alpha, found.beta) == pytest.approx((1, 1), abs=0.05)
    assert found.below(40_025.0) == pytest.approx(0.25, abs=0.01)
    assert found.between(40_020.0, 40_060.0, 0.5) == pytest.approx(40_040, abs=1)
    assert found.beyond(40_010.0, 40_080.0) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(("mean", "deviation"), [(40_000.0, 5.0), (40_100.0, 5.0), (40_050.0, 50.0), (40_050.0, 0.0)])
def test_moments_that_no_single_peak_has_give_no_shape(mean: float, deviation: float) -> None:
    assert shape_of(Moments(1000, mean, deviation, 40_000.0, 40_100.0)) is None


def test_no_shape_is_fitted_to_latencies_of_two_values() -> None:
    assert shape_of(moments([latency(np.repeat([40_000.0, 40_100.0], 500))])) is None
    assert shape_of(moments([latency(np.full(1000, 40_000.0))])) is None
