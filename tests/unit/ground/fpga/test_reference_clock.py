"""The slope of a counter against a reference, on made-up marks whose truth is known."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.ground.fpga.reference_clock import reference_clock

STEP_NS = 320 / 41


def stamped(ppm: float, count: int, mark_ns: float, start_ns: float = 0.0, jitter_ns: float = 0.0, seed: int = 1):
    """The counter's readings at each mark, cut to its steps."""
    chance = random.Random(seed)
    times = [start_ns + n * mark_ns * (1 + ppm * 1e-6) + chance.gauss(0, jitter_ns) for n in range(count)]
    return [math.floor(math.floor(time / STEP_NS) * STEP_NS) for time in times]


@given(
    ppm=st.floats(-200, 200),
    count=st.integers(3, 300),
    mark_ns=st.sampled_from([1e4, 12345.0, 1e6, 1e9]),
    start_ns=st.floats(0, 1e4),
)
def test_a_steady_clock_is_found_within_its_uncertainty(
    ppm: float, count: int, mark_ns: float, start_ns: float
) -> None:
    found = reference_clock(range(count), stamped(ppm, count, mark_ns, start_ns), mark_ns, STEP_NS + 1)
    assert found.frequency.uncertainty is not None
    assert abs(found.frequency.value - ppm) <= found.frequency.uncertainty * 1.001 + 1e-9
    assert found.marks == count and found.span_s == pytest.approx((count - 1) * mark_ns / 1e9)


def test_scatter_of_the_marks_is_covered_about_as_often_as_said() -> None:
    inside = 0
    for seed in range(200):
        times = stamped(3.0, 50, 1e6, jitter_ns=100.0, seed=seed)
        found = reference_clock(range(50), times, 1e6, STEP_NS)
        inside += abs(found.frequency.value - 3.0) <= (found.frequency.uncertainty or 0)
    assert 180 <= inside <= 200


def test_missing_marks_and_the_reference_s_own_uncertainty_count() -> None:
    times = stamped(-7.0, 100, 1e6)
    some = [0, 5, 6, 50, 99]
    found = reference_clock(some, [times[n] for n in some], 1e6, STEP_NS, reference_ppm=1.0)
    assert abs(found.frequency.value + 7.0) < 0.2
    assert found.frequency.uncertainty == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("numbers", [[0, 1], [0, 2, 2], [0, 2, 1]])
def test_what_has_no_slope_is_refused(numbers: list[int]) -> None:
    with pytest.raises(ValueError, match="marks"):
        reference_clock(numbers, [n * 1000 for n in numbers], 1000.0, STEP_NS)
