"""The difference clock on synthetic references: never stepped, soon right, not led astray by a stepped reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.synthetic_clock import HZ, SyntheticClock

from keisoku.subjects.clock import frequency
from keisoku.subjects.clock.difference_clock import DifferenceClock
from keisoku.subjects.clock.reading import Reading

WRONG = 1e9 / HZ * (1 + 80e-6)
"""80 ppm off, as a kernel's guess at boot may be."""


def taught(clock: SyntheticClock, count: int = 600, over_s: float = 600.0) -> tuple[DifferenceClock, list[Reading]]:
    readings = clock.readings(count, over_s)
    difference = DifferenceClock(readings[0], WRONG)
    for reading in readings[1:]:
        difference.learn(reading)
    return difference, readings


def test_its_rate_becomes_right_and_says_how_right() -> None:
    difference, _ = taught(SyntheticClock())
    off = difference.period_ns * HZ / 1e9 - 1
    assert abs(off) < 1e-9 and abs(off) <= 3 * difference.relative_error
    assert difference.relative_error < 1e-9 and difference.refused == 0
    second = difference.interval(0, round(HZ))
    assert second.ns == pytest.approx(1e9, abs=4 * second.standard_ns)
    assert second.quantity().uncertainty == pytest.approx(2 * second.standard_ns)


@given(seed=st.integers(0, 10_000), wide=st.floats(0, 0.9), width=st.integers(1, 10**7))
def test_it_is_never_stepped_and_never_runs_back(seed: int, wide: float, width: int) -> None:
    readings = SyntheticClock(seed=seed, wide=wide, width_ticks=width).readings(80, 80.0)
    difference = DifferenceClock(readings[0], WRONG)
    for reading in readings[1:]:
        before = difference.ns(reading.before)
        difference.learn(reading)
        # What it showed before it learned it still shows, to a rounding of doubles.
        assert difference.ns(reading.before) == pytest.approx(before, abs=1e-3)
        assert difference.period_ns > 0


def test_a_stepped_reference_moves_the_time_of_day_and_no_interval() -> None:
    difference, _ = taught(SyntheticClock(step_at_s=300.0, step_ns=50_000_000))
    assert difference.refused >= 64  # then it begins anew, and a step has no more part in its rate
    assert abs(difference.period_ns * HZ / 1e9 - 1) < 2e-9


def test_ways_of_milliseconds_do_not_hide_a_rate() -> None:
    """An NTP server 20 ms away: what all exchanges have in common changes no interval."""
    clock = SyntheticClock(seed=3)
    readings = [clock.exchange(2.0 * index + 1, 0.01, 0.0005) for index in range(1000)]
    difference = DifferenceClock(readings[0], WRONG)
    for reading in readings[1:]:
        difference.learn(reading)
    off = abs(difference.period_ns * HZ / 1e9 - 1)
    assert off < 2e-7 and off <= 3 * difference.relative_error
    assert difference.refused == 0
    line = frequency.estimate(readings)
    assert line.hz == pytest.approx(HZ, abs=3 * line.standard_hz) and line.scatter_hz < HZ * 30e-9
    assert line.relative < 3e-7  # that the ways kept their lengths for an hour, nothing here tells


def test_the_time_of_day_is_kept_apart_with_the_bound_of_its_bracket() -> None:
    difference, readings = taught(SyntheticClock(width_ticks=2600))
    offset_ns, bound_ns = difference.offset_ns()
    assert bound_ns == pytest.approx(500, rel=0.01)
    last = readings[-1]
    shown = difference.ns((last.before + last.after) // 2) - offset_ns
    assert shown == pytest.approx(last.reference_ns - difference.origin_ns, abs=3 * bound_ns + last.width)


def test_a_reference_that_goes_back_is_refused() -> None:
    readings = SyntheticClock().readings(2, 1.0)
    difference = DifferenceClock(readings[1], WRONG)
    assert not difference.learn(readings[0])
    assert (difference.refused, difference.period_ns) == (1, WRONG)


def test_what_is_not_known_stays_in_the_budget() -> None:
    difference, _ = taught(SyntheticClock(), 20, 1.0)
    rate = difference.rate("TSC")
    figure = rate.contributions(1e6)
    assert [part.kind for part in figure] == ["A", "B"]
    assert figure[1].uncertainty == pytest.approx(1e6 * 5e-7 / 3**0.5)
