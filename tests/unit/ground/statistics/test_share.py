"""The interval of a share of counted things: computed coverage of all outcomes, and published values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from keisoku.ground.statistics.share import clopper_pearson, share, share_of_groups


def coverage(whole: int, ratios: np.ndarray) -> np.ndarray:
    """The chance that the interval contains each true ratio: that of all counts whose interval does (binomial)."""
    counts = np.arange(whole + 1)
    lower, upper = np.array([clopper_pearson(count, whole) for count in counts.tolist()]).T
    inside = (lower[:, None] <= ratios) & (ratios <= upper[:, None])
    return (stats.binom.pmf(counts[:, None], whole, ratios) * inside).sum(axis=0)


@pytest.mark.parametrize("whole", [1, 2, 5, 10, 30, 100, 1000])
def test_every_true_ratio_is_in_the_interval_in_95_percent_of_all_cases(whole: int) -> None:
    """Rare and frequent ones: Wilson's interval held the ratio 0.000 18 in 84 % of all draws of 1000 only."""
    ends = np.unique([end for count in range(whole + 1) for end in clopper_pearson(count, whole)])
    beside = [np.nextafter(ends, side) for side in (0.0, 1.0)]  # where an interval ends, the coverage is least
    ratios = np.unique(np.concatenate([*beside, np.linspace(0.0, 1.0, 301), np.geomspace(1e-6, 0.5, 200)]))
    found = coverage(whole, ratios)
    assert found.min() >= 0.95 - 1e-9, ratios[found.argmin()]
    middle = coverage(whole, np.linspace(0.3, 0.7, 401))
    assert whole < 100 or middle.mean() < 0.97, "wider than exact"


def test_ends_are_the_published_ones() -> None:
    """10 of 100 and 0 of 20, which the tables of Clopper and Pearson (1934) give as 0.049, 0.176 and 0.168."""
    assert clopper_pearson(10, 100) == pytest.approx((0.0490, 0.1762), abs=1e-4)
    assert clopper_pearson(0, 20) == pytest.approx((0.0, 0.1684), abs=1e-4)
    assert clopper_pearson(20, 20) == pytest.approx((0.8316, 1.0), abs=1e-4)


@pytest.mark.parametrize("count", [0, 1, 7, 500_000_000, 999_999_999, 1_000_000_000])
def test_a_billion_frames_have_the_interval_of_their_rarer_part(count: int) -> None:
    whole = 1_000_000_000
    found = share(count, whole)
    lower, upper = found.bounds or (math.nan, math.nan)
    assert 0 <= lower <= found.value <= upper <= 100 and lower < upper
    mirrored = share(whole - count, whole).bounds or (math.nan, math.nan)
    assert (100 - mirrored[1], 100 - mirrored[0]) == pytest.approx((lower, upper), abs=1e-9)
    if count < 10:  # exact of Poisson, by chi-squared (Garwood 1936)
        assert upper == pytest.approx(100 * float(stats.chi2.ppf(0.975, 2 * count + 2)) / 2 / whole, rel=1e-6)


@pytest.mark.parametrize("groups", [3, 4, 10])
@pytest.mark.parametrize(("ratio", "spread"), [(0.02, 0.0), (0.02, 0.02), (0.3, 0.1), (0.9, 0.08)])
def test_groups_that_differ_are_covered_and_alike_ones_not_too_widely(groups: int, ratio: float, spread: float) -> None:
    """Each group has a ratio of its own, by a beta distribution; packets alone would say more than they know."""
    chance = np.random.default_rng(groups)
    inside, alone, runs = 0, 0, 400
    for _ in range(runs):
        size = ratio * (1 - ratio) / spread**2 - 1 if spread else 0.0
        own = chance.beta(ratio * size, (1 - ratio) * size, groups) if spread else np.full(groups, ratio)
        counts = chance.binomial(500, own).tolist()
        lower, upper = share_of_groups(counts, [500] * groups).bounds or (0.0, 0.0)
        assert 0 <= lower <= upper <= 100
        inside += lower <= 100 * ratio <= upper
        by_packet = share(sum(counts), 500 * groups).bounds or (0.0, 0.0)
        alone += by_packet[0] <= 100 * ratio <= by_packet[1]
    assert inside / runs >= 0.92
    assert not spread or alone / runs < 0.7, "these cases are hard: by packets alone most intervals are wrong"


def test_a_group_by_itself_counts_by_its_packets() -> None:
    assert share_of_groups([3], [40]) == share(3, 40)
    with pytest.raises(ValueError, match="of something"):
        share_of_groups([0, 0], [0, 0])


def test_groups_that_are_alike_have_the_interval_of_their_sum() -> None:
    assert share_of_groups([10, 10, 10], [100, 100, 100]).bounds == share(30, 300).bounds
