"""Batches at one pace of the core: with and without a boost, and beside a neighbour that slows it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.subjects.device.analysis.calm import calm
from keisoku.subjects.device.analysis.pace import at_pace, usual_ns
from keisoku.subjects.device.record.counts import PacedBatches

PACE_NS, BATCH_NS = 2240, 56_000


def run(usual: int = 0, boosted: int = 0, slowed: int = 0, unknown: int = 0) -> PacedBatches:
    """So many batches of each kind: the boost is of a seventh, the neighbour costs batches less than pieces of work."""
    kinds = [
        (PACE_NS, BATCH_NS, usual),
        (round(PACE_NS / 1.17), round(BATCH_NS / 1.17), boosted),
        (round(1.5 * PACE_NS), round(1.3 * BATCH_NS), slowed),
        (0, 2 * BATCH_NS, unknown),
    ]
    return [each for each in kinds if each[2]]


def level_ns(own: PacedBatches, known_ns: float | None = None) -> float | None:
    return calm([at_pace(own, usual_ns([own], known_ns))]).levels_ns[0]


@pytest.mark.parametrize("slowed", [0, 900])
def test_the_pace_is_that_of_most_batches_without_a_neighbour(slowed: int) -> None:
    assert usual_ns([run(usual=95, boosted=5, slowed=slowed)]) == pytest.approx(PACE_NS, rel=0.005)
    assert usual_ns([run(boosted=50, slowed=slowed), run(usual=60)]) == pytest.approx(PACE_NS, rel=0.005)
    assert usual_ns([run(boosted=50, slowed=slowed)]) == pytest.approx(PACE_NS / 1.17, rel=0.005)


def test_a_short_boost_made_equal_sides_differ_by_a_seventh() -> None:
    """The lowest cluster of batches was taken, which a boost of the clock made on one side."""
    assert level_ns(run(usual=970, boosted=30)) == pytest.approx(BATCH_NS, rel=0.001)
    assert level_ns(run(usual=30, boosted=970), PACE_NS) == pytest.approx(BATCH_NS, rel=0.001)
    assert level_ns(run(usual=100, slowed=900)) == BATCH_NS


def test_a_core_that_only_had_a_neighbour_says_nothing_once_its_pace_is_known() -> None:
    assert level_ns(run(slowed=1000), PACE_NS) is None
    assert level_ns(run(unknown=1000), PACE_NS) is None
    assert usual_ns([run(slowed=1000)], PACE_NS) == PACE_NS


def test_a_pace_that_was_known_from_a_slow_core_is_given_up() -> None:
    assert usual_ns([run(usual=100)], 1.5 * PACE_NS) == PACE_NS
    assert usual_ns([run(boosted=100)], PACE_NS) == PACE_NS, "a boost is no other core"


def test_without_a_pace_batches_are_as_they_were() -> None:
    own = run(unknown=10)
    assert usual_ns([own]) is None and usual_ns([]) is None
    assert at_pace(own, None)[-1] == (2 * BATCH_NS, 10)


@given(st.lists(st.tuples(st.integers(0, 10**5), st.integers(1, 10**9), st.integers(1, 50)), max_size=30))
def test_no_batch_gets_lost_and_none_shorter_than_a_boost_explains(own: PacedBatches) -> None:
    usual = usual_ns([own])
    found = at_pace(own, usual)
    assert [count for _, count in found] == [count for _, _, count in own]
    for (ns, _), (_, took_ns, _) in zip(found, own, strict=True):
        assert math.isinf(ns) or 0.95 * took_ns <= ns <= 1.26 * took_ns
