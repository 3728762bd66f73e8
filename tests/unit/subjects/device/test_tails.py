"""Percentiles of two-peaked latencies, and means of latencies without a variance, contain the truth as said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.analysis.samples import Sample
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.latency_figures import latency_figures
from keisoku.subjects.device.record.counts import Buckets, Latency

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
EDGES = np.concatenate(
    [np.arange(256), *(2.0**power * (1 + np.arange(128) / 128) for power in range(8, 34)), [2.0**34]]
)
"""Buckets of the core: 1 ns below 256 ns, 1/128 of a power of two above."""
SEEDS = range(1000, 1030)


def peaks(share: float, low: float, high: float, spread: float) -> Draw:
    return lambda chance, count: (
        np.where(chance.random(count) < share, high, low) + spread * chance.standard_normal(count)
    )


def pareto(power: float) -> Draw:
    return lambda chance, count: 10_000 * (1 - chance.random(count)) ** (-1 / power)


def figures(draw: Draw, frames: int, seed: int) -> dict[str, Quantity]:
    """Of one trial of twenty intervals."""
    values = draw(np.random.default_rng(seed), frames)
    counts = np.histogram(values, EDGES)[0]
    held = counts > 0
    lower, upper = np.floor(EDGES[:-1][held]).astype(int), np.ceil(EDGES[1:][held]).astype(int)
    whole = Latency(
        count=frames,
        min_ns=values.min(),
        max_ns=values.max(),
        mean_ns=values.mean(),
        deviation_ns=values.std(),
        histogram=Buckets(lower_ns=lower.tolist(), upper_ns=upper.tolist(), counts=counts[held].tolist()),
    )
    samples = [
        Sample(number / 20, (number + 1) / 20, own.mean(), own.min(), own.max(), len(own), 0)
        for number, own in enumerate(np.array_split(values, 20))
    ]
    return latency_figures(Bias(exact=True), [whole], 512, 1e4, samples=[samples])


def inside(draw: Draw, frames: int, name: str, truth: float) -> int:
    ends = [figures(draw, frames, seed)[name].bounds for seed in SEEDS]
    return sum(each is not None and each[0] <= truth <= each[1] for each in ends)


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (peaks(0.02, 30_000, 90_000, 200), "p99"),
        (peaks(0.01, 30_000, 90_000, 200), "p99"),
        (peaks(0.3, 30_000, 30_700, 20), "p99"),
        (peaks(0.3, 30_000, 30_700, 20), "p50"),
        (peaks(0.02, 30_000, 90_000, 200), "p99.9"),
    ],
)
def test_a_percentile_of_two_peaks_contains_the_truth(draw: Draw, name: str) -> None:
    """0 to 14 of 30 did: the latencies of a peak were taken to lie evenly in a bucket."""
    many = draw(np.random.default_rng(7), 2_000_000)
    truth = float(np.percentile(many, float(name[1:]), method="inverted_cdf"))
    assert inside(draw, 50_000, name, truth) >= 0.85 * len(SEEDS)


@pytest.mark.parametrize("share", [0.002, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("spread", [20, 200])
def test_a_percentile_in_a_small_second_peak_contains_the_truth(share: float, spread: float) -> None:
    """19 of 38 did with 5000 frames: those of a narrow peak were taken to lie evenly up to the longest of them."""
    draw = peaks(share, 30_000, 90_000, spread)
    many = draw(np.random.default_rng(7), 2_000_000)
    truth = float(np.percentile(many, 99.9, method="inverted_cdf"))
    told = [found for seed in SEEDS if not (found := figures(draw, 5000, seed)["p99.9"]).covers]
    inside = [found.bounds is not None and found.bounds[0] <= truth <= found.bounds[1] for found in told]
    assert len(told) >= 0.6 * len(SEEDS) and sum(inside) >= 0.85 * len(told)


@pytest.mark.parametrize(("power", "share"), [(1.2, 0.75), (1.5, 0.85), (2.5, 0.85)])
@pytest.mark.parametrize("frames", [5000, 50_000])
def test_a_mean_without_a_variance_contains_the_truth(power: float, frames: int, share: float) -> None:
    """With a power of 1.2, 17 of 40 did: the longest latencies, which decide it, had not come yet."""
    assert inside(pareto(power), frames, "mean", 10_000 * power / (power - 1)) >= share * len(SEEDS)


def test_the_tail_adds_hardly_anything_to_a_mean_that_has_a_variance() -> None:
    found = figures(peaks(0.0, 30_000, 30_000, 200), 5000, 1)["mean"]
    assert found.uncertainty is not None and found.uncertainty < 1.5 * 2 * 200 / 5000**0.5


def test_a_percentile_that_too_few_frames_reach_is_an_observation() -> None:
    """The 99.9th percentile of 500 frames was ± 0.5 %, with 4 of 40 inside."""
    found = figures(pareto(2.5), 500, 1)
    assert found["p99.9"].covers == found["pdv"].covers == "observed"
    assert figures(pareto(2.5), 50_000, 1)["p99.9"].covers == ""
