"""The median of delay variations: how it repeats, against draws of independent latencies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from keisoku.ground.statistics.uncertainty import student
from keisoku.subjects.device.analysis.rises import error_of_median, error_of_medians
from keisoku.subjects.device.record.counts import Buckets, Variation


def even(count: int = 1200, most_ns: int = 1000) -> Variation:
    """Differences that are spread evenly from -most to most."""
    lower = list(range(-most_ns, most_ns, 10))
    counts = [count // len(lower)] * len(lower)
    return Variation(
        count=count,
        min_ns=-most_ns,
        max_ns=most_ns,
        mean_ns=0.0,
        histogram=Buckets(lower_ns=lower, upper_ns=[one + 10 for one in lower], counts=counts),
    )


def test_the_number_of_rises_decides_how_the_median_repeats() -> None:
    """Of n differences the share that are rises scatters by the root of (n + 1) / 12 of n (Mann 1945)."""
    found = error_of_median(even())
    assert found == pytest.approx(2000 * math.sqrt(1201 / 12) / 1200, rel=0.02)


def test_it_is_how_medians_of_independent_latencies_scatter() -> None:
    chance = np.random.default_rng(3)
    medians, errors = [], []
    for _ in range(300):
        differences = np.diff(chance.normal(0, 100_000, 1001))
        counts, edges = np.histogram(differences, np.arange(-600_000, 600_001, 2000))
        own = Variation(
            count=1000,
            min_ns=float(differences.min()),
            max_ns=float(differences.max()),
            mean_ns=float(differences.mean()),
            histogram=Buckets(
                lower_ns=edges[:-1].astype(int).tolist(),
                upper_ns=edges[1:].astype(int).tolist(),
                counts=counts.tolist(),
            ),
        )
        medians.append(float(np.median(differences)))
        errors.append(error_of_median(own))
    assert np.mean(errors) == pytest.approx(np.std(medians), rel=0.15)


def test_trials_that_differ_more_than_that_decide_it_themselves() -> None:
    own = error_of_median(even())
    assert error_of_medians([], []) == 0
    assert error_of_medians([even()], [0.0]) == pytest.approx(own)
    assert error_of_medians([even()] * 2, [0.0, 900.0]) == pytest.approx(own / math.sqrt(2))
    # The median of three and more trials is known worse than their mean.
    assert error_of_medians([even()] * 3, [0.0, 0.0, 0.0]) == pytest.approx(own * math.sqrt(math.pi / 6))
    apart = error_of_medians([even()] * 4, [-900.0, -300.0, 300.0, 900.0])
    scatter = math.sqrt((2 * 900**2 + 2 * 300**2) / 3)
    assert apart == pytest.approx(scatter * math.sqrt(math.pi / 8) * student(3) / 2)
