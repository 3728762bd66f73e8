"""How the mean jitter of a trial repeats: by its parts, as they come one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from keisoku.ground.statistics.uncertainty import half_width, student
from keisoku.subjects.device.analysis.repeatability import of_jitter
from keisoku.subjects.device.record.counts import Jitter


def stream(parts_ns: list[float], count: int = 1000) -> Jitter:
    return Jitter(count=count, mean_ns=float(np.mean(parts_ns)), max_ns=1e6, parts_ns=parts_ns)


def test_independent_parts_have_students_interval_whatever_the_largest_difference_is() -> None:
    parts = [10.0, 14.0, 9.0, 13.0, 11.0]
    found = of_jitter([stream(parts)])
    assert found is not None and 2 * found == pytest.approx(half_width(parts))


def test_streams_of_one_queue_are_disturbed_together_and_weigh_by_their_frames() -> None:
    one, other = [10.0, 14.0, 9.0, 13.0], [30.0, 50.0, 40.0, 44.0]
    found = of_jitter([stream(one, 3000), stream(other, 1000)])
    errors = [half_width(parts) / student(3) for parts in (one, other)]
    assert found is not None
    assert 2 * found == pytest.approx(student(6) * (0.75 * errors[0] + 0.25 * errors[1]))


def test_parts_that_go_on_like_those_before_are_fewer_repetitions() -> None:
    chance = np.random.default_rng(1)
    steps = np.repeat(chance.normal(100, 10, 16), 8)
    lasting, mixed = of_jitter([stream(list(steps))]), of_jitter([stream(list(chance.permutation(steps)))])
    assert lasting is not None and mixed is not None and 2 < lasting / mixed < 6


def test_what_has_no_parts_does_not_say_how_it_repeats() -> None:
    assert of_jitter([]) is None
    assert of_jitter([stream([10.0, 12.0]), Jitter(count=1, mean_ns=5.0, max_ns=5.0, parts_ns=[5.0])]) is None
    assert of_jitter([stream([10.0] * 64)]) == 0
