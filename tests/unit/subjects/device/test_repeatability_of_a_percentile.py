"""How well percentiles repeat: their stated standard error against the scatter of many runs of the same device."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support import synthetic_runs

from keisoku.subjects.device.analysis import repeatability
from keisoku.subjects.device.analysis.histogram import merged
from keisoku.subjects.device.analysis.percentile import bucket_shape, narrowed, percentile
from keisoku.subjects.device.analysis.samples import Sample
from keisoku.subjects.device.record.counts import Buckets, Latency

FRAMES = 4000


def latency(values: NDArray[np.float64], edges: NDArray[np.int64]) -> Latency:
    counts, _ = np.histogram(values, edges)
    held = np.flatnonzero(counts)
    return synthetic_runs.latency(
        values,
        Buckets(
            negative=0,
            lower_ns=edges[held].tolist(),
            upper_ns=edges[held + 1].tolist(),
            counts=counts[held].tolist(),
        ),
    )


def of_trials(trials: list[Latency], percent: float) -> tuple[float, float]:
    """The percentile of all trials, and the standard error that is stated for it."""
    histograms = [one.histogram for one in trials]
    ends = min(one.min_ns for one in trials), max(one.max_ns for one in trials)
    found = percentile(merged(histograms), percent, *ends, bucket_shape(trials))
    assert found is not None
    value = narrowed(found, percent, trials).value_ns
    return value, repeatability.of_percentile(percent, histograms, trials, [])


def runs(trials: int, width: int, percent: float, chance: np.random.Generator) -> tuple[float, float]:
    """The scatter of sixty runs, and the median of what they state; even latencies of 40 000 to 41 000 ns in buckets of
    this width."""
    edges = np.arange(30_000, 60_001, width)
    found = [
        of_trials([latency(40_000 + 1000 * chance.random(FRAMES), edges) for _ in range(trials)], percent)
        for _ in range(40)
    ]
    values, errors = np.array(found).T
    return float(values.std()), float(np.median(errors))


@pytest.mark.parametrize("percent", [50.0, 99.0])
@pytest.mark.parametrize("trials", [1, 2, 10])
def test_trials_that_one_bucket_holds_are_not_taken_for_alike_beyond_chance(trials: int, percent: float) -> None:
    """Each trial's percentile had the shape of all trials: ten of them stated 0.03 of the scatter of their median."""
    scatter, stated = runs(trials, 30_000, percent, np.random.default_rng(5))
    assert 0.8 * scatter < stated < 1.6 * scatter


@pytest.mark.parametrize("percent", [99.0, 99.9])
def test_a_percentile_between_the_edges_of_a_bucket_repeats_better_than_a_single_frame(percent: float) -> None:
    """That of the rank alone was 2.7 and 1.9 times the scatter."""
    scatter, stated = runs(1, 250, percent, np.random.default_rng(5))
    assert 0.7 * scatter < stated < 1.5 * scatter


@pytest.mark.parametrize("width", [30_000, 30])
@pytest.mark.parametrize(("power", "share"), [(1.0, 0.9), (0.5, 0.7), (0.25, 0.6)])
def test_a_least_latency_to_which_few_frames_come_near_is_as_uncertain_as_it_is(
    power: float, share: float, width: int
) -> None:
    """29 of 35 least latencies were inside: where frames wait for each other hardly one has the least there can be.

    Where the share of latencies below x goes with its square or fourth power, 15 and 0.2 % were inside."""
    chance, inside = np.random.default_rng(6), 0
    for _ in range(300):
        values = 1000 * chance.random((25, 100)) ** power
        intervals = [
            Sample(number, number + 1, float(own.mean()), float(own.min()), float(own.max()), 100, 0)
            for number, own in enumerate(values)
        ]
        whole = latency(40_000 + values.ravel(), np.arange(30_000, 60_001, width))
        inside += float(values.min()) <= 2 * repeatability.of_least([whole], [intervals])
    assert inside >= share * 300
