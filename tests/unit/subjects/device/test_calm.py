"""The calm level of batch times: the same beside a slow neighbour, and none where no run met a calm moment."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.subjects.device.analysis.calm import LEAST_CALM, calm

BATCHES = 1500


def run(level_ns: float, calm_share: float, seed: int, slower: float = 1.3) -> list[tuple[int, int]]:
    """Batches around the level, of which all but a share are slower, and a few far more."""
    chance = random.Random(seed)
    times = []
    for _ in range(BATCHES):
        factor = 1.0 if chance.random() < calm_share else chance.uniform(slower, slower + 0.2)
        times.append(round(level_ns * factor * (1 + abs(chance.gauss(0, 0.01)))))
    return sorted(Counter([*times, 50 * round(level_ns)]).items())


@pytest.mark.parametrize("shares", [(0.9,) * 8, (0.2,) * 8, (0.9, 0.0, 0.1, 0.0, 0.5, 0.0, 0.08, 0.3)])
def test_the_level_is_that_of_undisturbed_batches(shares: tuple[float, ...]) -> None:
    found = calm([run(80_000, share, seed) for seed, share in enumerate(shares)])
    assert found.slow_runs == sum(share < LEAST_CALM for share in shares)
    assert all(level == pytest.approx(80_600, rel=0.01) for level in found.levels_ns if level is not None)
    assert found.share == pytest.approx(sum(shares) / len(shares), abs=0.03)


def test_runs_that_were_all_slow_are_known_by_the_level_of_earlier_ones() -> None:
    slow = [run(80_000, 0.0, seed) for seed in range(3)]
    assert calm(slow).calm_runs == 3, "among themselves they look calm"
    assert calm(slow, known_ns=80_000).calm_runs == 0
    assert calm([*slow, run(80_000, 0.5, 9)], known_ns=80_000).slow_runs == 3


def test_a_run_that_was_a_little_slower_as_a_whole_is_left_out() -> None:
    """7 % more lie within the cluster of one run; beside the others, or the level of earlier ones, they are seen."""
    calm_runs, slower = [run(80_000, 0.5, seed) for seed in range(4)], run(86_000, 0.5, 9)
    assert calm([*calm_runs, slower]).levels_ns[4] is None and calm([*calm_runs, slower]).calm_runs == 4
    assert calm([slower], known_ns=80_600).calm_runs == 0 and calm([slower]).calm_runs == 1


def test_a_short_calm_moment_is_enough_where_the_level_is_known() -> None:
    short = [run(80_000, 0.03, seed) for seed in range(2)]
    assert calm(short).calm_runs == 0
    assert calm(short, known_ns=80_600).calm_runs == 2


def test_a_core_that_was_slow_all_the_time_is_known_by_its_speed() -> None:
    slow, mixed = ([run(80_000, share, seed) for seed in range(6)] for share in (0.0, 0.3))
    assert calm(slow, [1.5, 1.6, 1.4, 1.55, 1.45, 1.5]).calm_runs == 0
    assert calm(mixed, [1.5, 1.3, 1.4, 1.45, 1.35, 1.4]).calm_runs == 6, "as slow as its share of calm batches says"
    assert calm(slow, [1.05, 1.1, 1.0, 1.02, 1.1, 1.0]).calm_runs == 6, "a device is slower and the core is not"


def test_without_batches_there_is_no_level() -> None:
    assert calm([]).levels_ns == () and calm([]).share == 0
    assert calm([[], []]).slow_runs == 2 and calm([[], []]).calm_runs == 0


@given(st.lists(st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 50)), max_size=20), max_size=6))
def test_every_level_lies_within_the_lowest_cluster(runs: list[list[tuple[int, int]]]) -> None:
    found = calm(runs)
    assert len(found.shares) == len(runs) and all(0 <= share <= 1 for share in found.shares)
    assert len(found.levels_ns) == len(runs)
    for level, own in zip(found.levels_ns, runs, strict=True):
        assert level is None or level <= max(ns for ns, _ in own)
