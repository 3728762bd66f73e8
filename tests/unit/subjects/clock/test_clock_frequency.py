"""Frequencies from readings of synthetic clocks: right within their own uncertainty, and bounds that always hold."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.synthetic_clock import HZ, START_NS, SyntheticClock

from keisoku.subjects.clock import frequency
from keisoku.subjects.clock.reading import Reading, Translation, narrowest


def test_the_truth_is_within_the_uncertainty_of_both_estimators_about_as_often_as_they_say() -> None:
    inside = {"two": 0, "line": 0}
    for seed in range(60):
        readings = SyntheticClock(seed=seed).readings(400, 1.0)
        fit = frequency.least_squares(readings)
        two = frequency.two_point(readings, frequency.read_error_ns(fit))
        inside["two"] += abs(two.hz - HZ) <= 2 * two.standard_hz
        inside["line"] += abs(fit.frequency.hz - HZ) <= 2 * fit.frequency.standard_hz
    assert inside["two"] >= 50 and inside["line"] >= 52


def test_one_second_repeats_to_a_few_ppb_in_spite_of_interrupts() -> None:
    found = [
        frequency.estimate(SyntheticClock(seed=seed, wide=0.2).readings(800, 1.0)).hz / HZ - 1 for seed in range(10)
    ]
    assert statistics.pstdev(found) < 3e-9 and abs(statistics.fmean(found)) < 3e-9


def test_an_hour_is_known_better_than_a_second() -> None:
    short, long = (frequency.estimate(SyntheticClock().readings(400, span)) for span in (1.0, 3600.0))
    assert long.standard_hz < short.standard_hz / 1000
    assert long.hz == pytest.approx(HZ, abs=3 * long.standard_hz)


@given(
    hz=st.floats(2.4e7, 5e9),
    width=st.integers(1, 100_000),
    count=st.integers(2, 40),
    seed=st.integers(0, 1000),
    span=st.floats(0.1, 1e5),
)
def test_hard_bounds_hold_the_truth_whatever_the_brackets_are(
    hz: float, width: int, count: int, seed: int, span: float
) -> None:
    clock = SyntheticClock(hz=hz, width_ticks=width, seed=seed)
    bounds = frequency.hard_bounds(clock.readings(count, span))
    assert bounds is not None and bounds[0] <= hz <= bounds[1]


def test_many_readings_are_thinned_and_still_bound() -> None:
    bounds = frequency.hard_bounds(SyntheticClock().readings(6000, 6.0))
    assert bounds is not None and bounds[0] <= HZ <= bounds[1]
    assert bounds[1] - bounds[0] < HZ * 30e-9


@pytest.mark.parametrize(
    "clock", [SyntheticClock(step_at_s=5.0, step_ns=200_000), SyntheticClock(drift_per_s=1e-6)], ids=["step", "drift"]
)
def test_a_step_and_a_drift_exclude_a_single_line(clock: SyntheticClock) -> None:
    assert frequency.hard_bounds(clock.readings(400, 10.0)) is None


def test_a_drift_makes_the_line_less_sure_than_its_residuals_would() -> None:
    clock = SyntheticClock(drift_per_s=1e-8, wide=0.0)
    fit = frequency.least_squares(clock.readings(1000, 100.0))
    white = frequency.least_squares(SyntheticClock(wide=0.0).readings(1000, 100.0))
    assert fit.frequency.standard_hz > 10 * white.frequency.standard_hz
    # The mean rate of the time is the rate at its middle.
    assert fit.frequency.hz == pytest.approx(HZ * (1 + 1e-8 * 50), abs=2 * fit.frequency.standard_hz)


def test_a_way_that_becomes_longer_is_within_the_uncertainty_though_no_scatter_shows_it() -> None:
    """From chronyd on a busy host: brackets of 17 to 33 µs whose middles moved by 8 µs in ten seconds."""
    clock = SyntheticClock(seed=5)
    readings = []
    for index in range(400):
        at_s = index / 40
        later = 16e-6 if at_s > 5 else 0.0
        there, back = 8e-6 + later, 8e-6 + (16e-6 - later)
        before, after = clock.ticks_at(at_s - there), clock.ticks_at(at_s + back)
        narrow = index % 10 == 0
        before += 15e-6 * HZ if narrow and later else 0
        after -= 15e-6 * HZ if narrow and not later else 0
        readings.append(Reading(round(before), START_NS + round(at_s * 1e9), round(after)))
    for found in (frequency.estimate(readings), frequency.two_point(readings, 1000.0)):
        assert abs(found.hz - HZ) <= 3 * found.standard_hz
        assert found.ways_hz / HZ == pytest.approx(15e-6 / 2 * (2 / 3) ** 0.5 / 10, rel=0.2)
    assert frequency.estimate(SyntheticClock(wide=0.0).readings(100, 1.0)).ways_hz / HZ < 1e-9


def test_what_makes_no_frequency_is_refused() -> None:
    with pytest.raises(ValueError, match="two readings"):
        frequency.two_point(SyntheticClock().readings(1, 0.0))
    backwards = list(reversed(SyntheticClock().readings(30, 1.0)))
    with pytest.raises(ValueError, match="went back"):
        frequency.estimate(backwards)
    with pytest.raises(ValueError, match="20 readings"):
        frequency.least_squares(SyntheticClock().readings(19, 1.0))
    assert frequency.hard_bounds(backwards) is None


def test_ends_are_the_narrowest_of_a_tenth() -> None:
    readings = [Reading(1000 * i, START_NS + 1000 * i, 1000 * i + (10 if i in (3, 97) else 500)) for i in range(100)]
    found = frequency.two_point(readings)
    assert found.hz == pytest.approx(1e9)
    assert found.scatter_hz == pytest.approx(1e9 * (2 * (5 / 3**0.5) ** 2) ** 0.5 / 94_000)


@given(st.integers(0, 10**12), st.integers(1, 10**9), st.floats(0.02, 5.0), st.integers(0, 1000))
def test_a_kernels_stamp_is_translated_within_its_bounds(at: int, span: int, ticks_per_ns: float, width: int) -> None:
    def around(ns: int) -> Reading:
        tick = round(ns * ticks_per_ns)
        return Reading(tick - width // 2, START_NS + ns, tick + width - width // 2 + 1)

    first, last = around(at), around(at + span + 2 * round(width / ticks_per_ns) + 1000)
    low, high = Translation(first, last).ticks(START_NS + at + span)
    true = (at + span) * ticks_per_ns
    # A reference of whole ns and ticks of whole numbers cost one of each.
    assert low - ticks_per_ns - 1 <= true <= high + ticks_per_ns + 1


def test_a_clock_that_was_set_back_translates_nothing() -> None:
    with pytest.raises(ValueError, match="went back"):
        Translation(Reading(0, 1000, 10), Reading(5000, 900, 5010))


def test_the_narrowest_bounds_most() -> None:
    assert narrowest([Reading(0, 1, 10), Reading(20, 2, 25), Reading(30, 3, 50)]).reference_ns == 2
