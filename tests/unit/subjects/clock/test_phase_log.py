"""What happens to a log is found and said: gaps, steps, spikes, suspends, reboots; nothing is interpolated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.power_law_clocks import power_law_phase

from keisoku.errors import PlanError
from keisoku.subjects.clock.stability.phase_log import PhaseLog, Readings, from_phase, phase_log

TICKS_PER_S = 2_596_141_815
POINTS = 3000


def reasons(log: PhaseLog) -> list[str]:
    return [one.reason for one in log.breaks]


def clock(seed: int = 1, points: int = POINTS) -> np.ndarray:
    """5 ns of white phase noise over a random walk of frequency."""
    rng = np.random.default_rng(seed)
    return 5e-9 * rng.standard_normal(points) + 1e-11 * power_law_phase(-2, points, rng)


def readings(phase: np.ndarray, every_s: float = 1.0, late_s: float = 1e-3) -> Readings:
    """Of a counter that is off by `phase`, read up to `late_s` too late."""
    rng = np.random.default_rng(2)
    at = np.arange(len(phase)) * every_s + rng.uniform(0, late_s, len(phase))
    return Readings(
        reference_ns=np.rint(at * 1e9).astype(np.int64) + 1_700_000_000_000_000_000,
        clock=np.rint((np.rint(at * 1e9) * 1e-9 + phase) * TICKS_PER_S).astype(np.int64) + 10**15,
        bound_ns=np.full(len(phase), 15.0),
    )


def changed(given: Readings, **columns: np.ndarray) -> Readings:
    return Readings(**{**vars(given), **columns})


def taken(given: Readings, kept: np.ndarray) -> Readings:
    columns: dict[str, Any] = {name: None if column is None else column[kept] for name, column in vars(given).items()}
    return Readings(**columns)


def test_a_log_whose_readings_are_no_time_apart_is_refused(recwarn: pytest.WarningsRecorder) -> None:
    for every_s in (0.0, -1.0, 1e-300, math.nan):
        with pytest.raises(PlanError, match="is not a time from one reading to the next"):
            phase_log(readings(clock()), every_s)
    assert not recwarn


def test_ticks_become_phase_however_late_they_were_read() -> None:
    truth = clock()
    log = phase_log(readings(truth), 1.0)
    (stretch,) = log.stretches
    assert log.rate == pytest.approx(TICKS_PER_S, rel=1e-9)
    assert not log.breaks
    assert (log.readings, log.missing, log.spikes) == (POINTS, 0, 0)
    assert log.bound_s == pytest.approx(15e-9)
    place = np.arange(POINTS)
    left = stretch.phase_s - truth
    left -= np.polyval(np.polyfit(place, left, 1), place)  # its own mean rate was taken away
    assert np.abs(left).max() < 1e-9


def test_a_gap_is_missing_and_not_interpolated() -> None:
    kept = np.ones(POINTS, bool)
    kept[1000:1040] = False
    kept[2000] = False
    log = phase_log(taken(readings(clock()), kept), 1.0)
    (stretch,) = log.stretches
    assert reasons(log) == ["gap", "gap"]
    assert [one.at_s for one in log.breaks] == [999.0, 1999.0]
    assert [one.size_s for one in log.breaks] == [41.0, 2.0]
    assert np.flatnonzero(np.isnan(stretch.phase_s)).tolist() == [*range(1000, 1040), 2000]
    assert log.missing == 41


def test_a_gap_longer_than_the_log_cuts_it() -> None:
    phase = np.concatenate([clock(), np.full(400_000, np.nan), clock(3)])
    log = from_phase(phase, 1.0)
    assert reasons(log) == ["gap"]
    assert [len(stretch.phase_s) for stretch in log.stretches] == [POINTS, POINTS]
    assert log.stretches[1].start_s == 403_000.0


@pytest.mark.parametrize("size", [3e-7, -3e-7, 1e-3, 7200.0])
def test_a_step_is_found_where_it_is_and_begins_a_new_stretch(size: float) -> None:
    phase = clock()
    phase[1234:] += size
    log = from_phase(phase, 1.0)
    assert [(one.reason, one.at_s) for one in log.breaks] == [("step", 1234.0)]
    assert log.breaks[0].size_s == pytest.approx(size, abs=5e-8)
    assert [len(stretch.phase_s) for stretch in log.stretches] == [1234, POINTS - 1234]


def test_a_step_inside_of_a_gap_is_found() -> None:
    phase = clock()
    phase[1500:] += 1e-3
    phase[1480:1500] = np.nan
    assert reasons(from_phase(phase, 1.0)) == ["gap", "step"]


def test_a_lone_reading_that_is_off_is_no_step() -> None:
    phase = clock()
    phase[[700, 1900]] += (1e-6, -4e-6)
    phase[-1] += 1e-5
    phase[0] -= 1e-5
    log = from_phase(phase, 1.0)
    assert log.spikes == 4
    assert not [reason for reason in reasons(log) if reason == "step"]
    assert np.flatnonzero(np.isnan(log.stretches[0].phase_s)).tolist() == [0, 700, 1900, 2999]


@pytest.mark.parametrize("alpha", [2, 1, 0, -1, -2])
def test_noise_and_drift_alone_have_no_steps(alpha: int) -> None:
    for seed in range(5):
        phase = power_law_phase(alpha, 5000, np.random.default_rng(seed)) + 1e-2 * np.arange(5000.0) ** 2
        log = from_phase(phase, 1.0)
        assert (log.breaks, log.spikes) == ((), 0)


@pytest.mark.parametrize("alpha", [2, 0])
@pytest.mark.parametrize("place", [600.0, 1234.0, 1234.5, 2500.3])
@pytest.mark.parametrize("sigmas", [100.0, -100.0])
def test_a_step_of_the_frequency_is_said_where_it_is_and_cuts_nothing(alpha: int, place: float, sigmas: float) -> None:
    """One of 100 standard deviations went unflagged."""
    phase = power_law_phase(alpha, POINTS, np.random.default_rng(1510))
    at = np.arange(POINTS)
    log = from_phase(1e-9 * (phase + sigmas * np.maximum(at - place, 0.0)), 1.0)
    (step,) = log.breaks
    assert step.reason == "frequency step"
    assert step.at_s == pytest.approx(place, abs=2.0)
    assert step.size_s == pytest.approx(sigmas * 1e-9, rel=0.1)
    assert len(log.stretches) == 1 and log.spikes == 0


@pytest.mark.parametrize("alpha", [2, 1, 0, -1, -2])
def test_noise_drift_and_missing_readings_have_no_steps_of_frequency(alpha: int) -> None:
    rng = np.random.default_rng((1511, alpha + 2))
    for points in (100, 700, 3000, 9000):
        phase = 1e-9 * (power_law_phase(alpha, points, rng) + 1e-3 * np.arange(points) ** 2)
        phase[rng.random(points) < 0.05] = np.nan
        assert set(reasons(from_phase(phase, 1.0))) == {"gap"}


def test_a_jump_within_the_readings_bounds_is_no_step() -> None:
    """A clock of 10 ns that is read to ± 15 ns scatters by steps of 10 ns."""
    rng = np.random.default_rng(5)
    coarse = np.where(rng.random(POINTS) < 0.02, 1e-8, 0.0)
    log = phase_log(readings(coarse, late_s=0.0), 1.0)
    assert (log.breaks, log.spikes) == ((), 0)


def test_readings_that_were_held_up_are_left_out_whatever_they_say() -> None:
    given = readings(clock())
    bounds = np.full(POINTS, 15.0)
    bounds[::50] = 100.0
    late = given.clock + np.where(bounds > 15, 200, 0)
    log = phase_log(changed(given, clock=late, bound_ns=bounds), 1.0)
    assert (log.wide, log.missing, log.spikes) == (60, 59, 0)  # the first is no point of the grid
    assert log.bound_s == pytest.approx(15e-9)
    assert set(reasons(log)) == {"gap"}


def test_a_coarse_clock_that_steps_is_found() -> None:
    phase = np.zeros(POINTS)
    phase[2000:] = 1e-6
    assert reasons(from_phase(phase, 1.0)) == ["step"]


def test_nothing_crosses_a_suspend_a_reboot_or_another_clock_source() -> None:
    given = readings(clock())
    place = np.arange(POINTS)
    ticks = given.clock.copy()
    ticks[2000:] -= ticks[2000] - 5000  # the counter began anew
    log = phase_log(
        changed(
            given,
            clock=ticks,
            suspended_ns=np.where(place >= 500, 7_000_000_000, 40) + place % 3,
            clock_source=(place >= 1200).astype(np.int64),
            boot=(place >= 2000).astype(np.int64),
        ),
        1.0,
    )
    assert [(one.reason, one.at_s) for one in log.breaks] == [
        ("suspend", 500.0),
        ("clock source", 1200.0),
        ("reboot", 2000.0),
    ]
    assert log.breaks[0].size_s == pytest.approx(7.0, abs=0.01)
    assert [len(stretch.phase_s) for stretch in log.stretches] == [500, 700, 800, 1000]
    assert max(float(np.ptp(stretch.phase_s)) for stretch in log.stretches) < 1e-6


def test_a_reference_that_goes_back_is_said() -> None:
    given = readings(clock())
    reference = given.reference_ns.copy()
    reference[1500:] -= 3_600_000_000_000
    log = phase_log(changed(given, reference_ns=reference), 1.0)
    assert reasons(log) == ["reference went back"]
    assert log.breaks[0].size_s == pytest.approx(3599.0, abs=0.1)
    assert [len(stretch.phase_s) for stretch in log.stretches] == [1500, 1500]


def test_a_log_resumed_between_two_places_of_the_grid_loses_nothing_but_the_pause() -> None:
    given = readings(clock())
    place = np.arange(POINTS)
    moved = np.where(place >= 1000, 480_000_000, 0) + np.where(place >= 1000, 60_000_000_000, 0)
    ticks = given.clock + np.rint(moved * 1e-9 * TICKS_PER_S).astype(np.int64)
    log = phase_log(changed(given, reference_ns=given.reference_ns + moved, clock=ticks), 1.0)
    assert reasons(log) == ["gap"]
    assert log.readings == POINTS


def test_two_readings_at_one_place_are_one() -> None:
    twice = np.sort(np.concatenate([np.arange(POINTS), [100]]))
    assert phase_log(taken(readings(clock()), twice), 1.0).readings == POINTS


def test_what_is_too_short_is_said_and_left_out() -> None:
    phase = clock()
    phase[1500:] += 1e-3
    phase[1505:] += 1e-3
    log = from_phase(phase, 1.0)
    assert reasons(log) == ["step", "step"]
    assert log.short == 5
    assert len(log.stretches) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Readings(np.arange(5), np.arange(5)), "so few readings \\(5\\)"),
        (Readings(np.arange(20) * 10**9, np.zeros(20, np.int64)), "stands still"),
        (Readings(np.zeros(20, np.int64), np.arange(20)), "stands still"),
    ],
)
def test_a_log_that_holds_nothing_is_refused(given: Readings, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        phase_log(given, 1.0)
