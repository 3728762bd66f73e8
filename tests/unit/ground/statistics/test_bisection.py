"""The commit that changed a figure, from drawn differences: one, none, two, skipped ones, and the error said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from keisoku.ground.statistics.bisection import LEAST_OF_ENDS, Belief, Comparison, History
from keisoku.ground.statistics.bisection_belief import believe

LENGTH = 32
MARGIN = 0.02


def step(place: int, size: float) -> list[float]:
    """Levels of a history with one change."""
    return [math.log1p(size) if each >= place else 0.0 for each in range(LENGTH + 1)]


def bisected(
    levels: Sequence[float], noise: Callable[[], float], skipped: frozenset[int] = frozenset(), most: int = 120
) -> Belief:
    history = History(len(levels) - 1, MARGIN, 0.05, skipped)
    made: list[Comparison] = []
    belief = believe(history, made)
    while belief.answer == "undecided" and len(made) < most:
        place, against_bad = belief.next()
        assert place not in skipped
        apart = levels[place] - levels[-1 if against_bad else 0]
        made.append(Comparison(place, against_bad, apart + noise()))
        belief = believe(history, made)
    return belief


def noise(seed: int) -> Callable[[], float]:
    """1 % of scatter, and one difference in fifteen that is far off."""
    chance = np.random.default_rng(seed)
    return lambda: float(chance.normal(0, 0.01) + (chance.choice([-1, 1]) * 0.3 if chance.random() < 1 / 15 else 0.0))


@pytest.mark.parametrize("place", [1, 2, 17, 31, 32])
@pytest.mark.parametrize("size", [0.05, -0.05])
def test_the_commit_is_found_wherever_it_is(place: int, size: float) -> None:
    belief = bisected(step(place, size), noise(place))
    assert belief.answer == "one" and belief.place == (place, place)
    low, _, high = belief.change
    assert low < math.log1p(size) < high
    assert len(belief.comparisons) < 60


def test_no_change_is_said_from_the_ends_alone() -> None:
    belief = bisected([0.0] * (LENGTH + 1), noise(3))
    assert belief.answer == "none"
    assert {each.place for each in belief.comparisons} == {LENGTH}


def test_a_change_below_the_margin_is_none() -> None:
    assert bisected(step(9, 0.005), noise(4)).answer == "none"


@pytest.mark.parametrize("second", [5, 6, 30])
def test_two_changes_are_no_single_one(second: int) -> None:
    levels = [a + b for a, b in zip(step(4, 0.05), step(second, 0.05), strict=True)]
    belief = bisected(levels, noise(second))
    assert belief.answer == "more"
    first, last = belief.spans
    assert first[0] <= 4 <= first[1] and last[0] <= second <= last[1]


def test_commits_that_cannot_be_measured_are_part_of_the_answer() -> None:
    belief = bisected(step(12, 0.05), noise(6), skipped=frozenset({10, 11, 12, 13, 20}))
    assert belief.answer == "one" and belief.place == (10, 14)


def test_a_history_of_one_commit_needs_only_the_ends() -> None:
    belief = bisected([0.0, 0.05], noise(7))
    assert belief.answer == "one" and belief.place == (1, 1)
    assert len(belief.comparisons) >= LEAST_OF_ENDS


def test_equal_differences_leave_no_doubt() -> None:
    belief = bisected(step(20, 0.03), lambda: 0.0)
    assert belief.answer == "one" and belief.place == (20, 20)


def test_probabilities_are_of_everything_that_is_possible() -> None:
    history = History(LENGTH, MARGIN, 0.05)
    made = [Comparison(LENGTH, False, 0.05)] * 3 + [Comparison(16, True, -0.049), Comparison(8, False, 0.02)]
    for count in range(len(made) + 1):
        belief = believe(history, made[:count])
        assert belief.none + belief.one.sum() + belief.more == pytest.approx(1)
        assert belief.one[0] == 0


def test_one_disturbed_difference_decides_nothing() -> None:
    """A pair of a commit before the change that was disturbed as if it were after it."""
    history = History(LENGTH, MARGIN, 0.05)
    ends = [Comparison(LENGTH, False, 0.05 + each) for each in (0.004, -0.006, 0.009, -0.01)]
    belief = believe(history, [*ends, Comparison(16, False, 0.3)])
    assert belief.answer == "undecided" and 12 <= belief.next()[0] <= 20


def test_the_error_that_is_said_is_kept() -> None:
    """Of 40 drawn histories; `benchmarks/detection/bisections.py` draws more of more kinds."""
    wrong, stated = 0, 0.0
    for seed in range(40):
        place = 1 + seed * 7 % LENGTH
        belief = bisected(step(place, 0.04), noise(1000 + seed))
        assert belief.answer != "undecided"
        wrong += belief.answer != "one" or belief.place != (place, place)
        stated += 1 - belief.likeliest[1]
    assert wrong <= 4 and stated / 40 <= 0.05
