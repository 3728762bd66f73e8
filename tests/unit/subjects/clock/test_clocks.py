"""Relations of clocks whose truth is known, and of real clocks of this host."""

from __future__ import annotations

import ctypes
import random
import time

import pytest

from keisoku.errors import EngineError
from keisoku.ground.statistics.uncertainty import combine
from keisoku.subjects.clock.reference import phc
from keisoku.subjects.clock.relation import SAME_CLOCK, Reading, Relation, between, relate
from keisoku.subjects.device.calibration.bias import Bias, Calibration, Point

START_NS = 1_760_000_000_000_000_000


def synthetic(
    offset_ns: int, drift_ppb: float, widths: tuple[int, int] = (900, 1300), count: int = 200, skew: float = 0.5
) -> list[Reading]:
    """Readings 1 ms apart; the other clock is read at `skew` of a reading's width."""
    chance = random.Random(7)
    readings = []
    for number in range(count):
        before = START_NS + number * 1_000_000
        width = chance.randint(*widths)
        elapsed = number * 1_000_000 + skew * width
        readings.append(Reading(before, START_NS + offset_ns + round(elapsed * (1 + drift_ppb * 1e-9)), before + width))
    return readings


@pytest.mark.parametrize("offset_ns", [0, 37_000_000_000, -START_NS // 2])
@pytest.mark.parametrize("drift_ppb", [0.0, 15_000.0, -42_500.0])
def test_offset_and_drift_are_found_within_their_uncertainty(offset_ns: int, drift_ppb: float) -> None:
    relation = relate(synthetic(offset_ns, drift_ppb))
    truth_ns = offset_ns + drift_ppb * 1e-9 * (relation.at_ns - START_NS)
    assert abs(relation.offset_ns - truth_ns) <= 3 * relation.uncertainty_ns()
    assert relation.drift_ppb == pytest.approx(drift_ppb, abs=max(5 * relation.drift_uncertainty_ppb, 5))


@pytest.mark.parametrize("skew", [0.0, 1.0])
def test_a_bus_that_is_slower_in_one_direction_stays_within_the_uncertainty(skew: float) -> None:
    relation = relate(synthetic(5_000, 100.0, skew=skew))
    truth_ns = 5_000 + 100e-9 * (relation.at_ns - START_NS)
    assert 400 < abs(relation.offset_ns - truth_ns) <= 2 * relation.uncertainty_ns()


@pytest.mark.parametrize("changes", [1, 2, 3])
def test_a_core_that_changes_its_speed_among_the_readings_is_in_the_drift_s_uncertainty(changes: int) -> None:
    """A CI host's clock "drifted" by -1229 ± 95 ppb against itself: the reads had moved within their readings."""
    outside = 0
    for seed in range(60):
        chance = random.Random(seed)
        moments = sorted(chance.randrange(400) for _ in range(changes))
        readings = []
        for number in range(400):
            before = START_NS + number * 33_000
            skew = 0.7 if sum(moment <= number for moment in moments) % 2 else 0.35
            width = chance.randint(70, 90)
            readings.append(Reading(before, before + round(skew * width), before + width))
        relation = relate(readings)
        outside += abs(relation.drift_ppb) > 5 * relation.drift_uncertainty_ppb
    assert outside <= 6


def test_interrupted_readings_are_left_out() -> None:
    readings = synthetic(0, 0.0)
    for number in (3, 50, 199):
        reading = readings[number]
        readings[number] = Reading(reading.before_ns, reading.other_ns + 80_000, reading.after_ns + 80_000)
    assert abs(relate(readings).offset_ns) < 400


def test_one_lucky_reading_does_not_rule_out_all_others() -> None:
    readings = synthetic(0, 0.0)
    readings[9] = Reading(readings[9].before_ns, readings[9].before_ns + 20, readings[9].before_ns + 40)
    assert relate(readings).uncertainty_ns() < 400


def test_a_relation_fades_with_the_time_from_its_readings() -> None:
    relation = Relation(0, 10.0, 3.0, 4.0, at_ns=0)
    assert relation.uncertainty_ns() == 3
    assert relation.uncertainty_ns(1_000_000_000) == 5
    assert relation.offset_at(2_000_000_000) == 20


def test_two_clocks_are_related_through_a_third() -> None:
    first, second = relate(synthetic(1_000, 50.0)), relate(synthetic(-400, -20.0))
    relation = between(first, second)
    assert relation.offset_ns == pytest.approx(-1_400 - 70e-9 * 1e8, abs=3 * relation.uncertainty_ns())
    assert relation.drift_ppb == pytest.approx(-70, abs=5 * relation.drift_uncertainty_ppb + 1)
    assert relation.uncertainty_ns() == pytest.approx(
        combine(first.uncertainty_ns(), second.uncertainty_ns(first.at_ns))
    )
    assert not relation.same_clock and between(SAME_CLOCK, SAME_CLOCK).same_clock


@pytest.mark.parametrize("readings", [[], synthetic(0, 0.0, count=2)])
def test_too_few_readings_are_refused(readings: list[Reading]) -> None:
    with pytest.raises(EngineError, match="at least 3"):
        relate(readings)


def test_readings_at_one_moment_and_backwards_are_refused() -> None:
    with pytest.raises(EngineError, match="different x"):
        relate([Reading(5, 5, 6)] * 3)
    with pytest.raises(EngineError, match="backwards"):
        relate([Reading(5, 5, 4)] * 3)


@pytest.mark.parametrize(
    ("clock", "drift_max_ppb"), [(time.CLOCK_REALTIME, 100.0), (time.CLOCK_MONOTONIC_RAW, 1_000_000.0)]
)
def test_real_clocks_are_related_where_two_readings_bound_the_truth(clock: int, drift_max_ppb: float) -> None:
    def read() -> Reading:
        sum(range(2000))
        tries = [Reading(time.monotonic_ns(), time.clock_gettime_ns(clock), time.monotonic_ns()) for _ in range(5)]
        return min(tries, key=lambda reading: reading.width_ns)

    readings = [read() for _ in range(400)]
    relation = relate(readings)
    low = max(reading.other_ns - reading.after_ns for reading in readings)
    high = min(reading.other_ns - reading.before_ns for reading in readings)
    slack_ns = 4 * relation.uncertainty_ns() + abs(relation.drift_ppb) * 1e-9 * (
        readings[-1].after_ns - readings[0].before_ns
    )
    # Differences first: a float holds the time of day in steps of 256 ns.
    assert low - relation.offset_ns <= slack_ns and relation.offset_ns - high <= slack_ns
    assert abs(relation.drift_ppb) <= drift_max_ppb + 5 * relation.drift_uncertainty_ppb


def test_readings_that_become_narrower_are_no_drift() -> None:
    # The clock is read at 80 % of each reading, and the core becomes faster: CI saw 536 ± 75 ppb between equal clocks.
    begins = [index * 50_000 for index in range(400)]
    widths = [400 - index // 4 for index in range(400)]
    readings = [
        Reading(begin, begin + width * 4 // 5, begin + width) for begin, width in zip(begins, widths, strict=True)
    ]
    relation = relate(readings)
    assert abs(relation.drift_ppb) > 1000, "the line alone calls it a drift"
    assert abs(relation.drift_ppb) <= 2 * relation.drift_uncertainty_ppb


def test_a_hardware_clock_that_is_not_there_is_refused() -> None:
    with pytest.raises(EngineError, match="/dev/ptp4000000: cannot open"):
        phc.readings(4_000_000)


def test_the_structures_are_those_of_the_kernel() -> None:
    assert ctypes.sizeof(phc._Extended) == 16 + 25 * 3 * 16
    assert ctypes.sizeof(phc._Precise) == 64
    assert phc._read_write(9, phc._Extended) == 0xC4C03D09
    assert phc._read_write(8, phc._Precise) == 0xC0403D08


POINTS = (Point(frame_bytes=64, frames_per_second=1e5, bias_ns=400, repeat_ns=3, spread_ns=40),)
CALIBRATION = Calibration(made_at="2026-01-01", valid_for={}, points=POINTS)


@pytest.mark.parametrize("single_frame", [False, True])
def test_the_relation_of_the_clocks_enters_the_error_budget(single_frame: bool) -> None:
    plain = Bias(CALIBRATION).corrected(1000, 64, 1e5, single_frame=single_frame)
    same = Bias(CALIBRATION, clocks=SAME_CLOCK).corrected(1000, 64, 1e5, single_frame=single_frame)
    assert same == plain, "one clock adds nothing"
    apart = Bias(CALIBRATION, clocks=Relation(0, 0, 30.0, 0, 0)).corrected(1000, 64, 1e5, single_frame=single_frame)
    assert apart.value == plain.value
    assert plain.uncertainty is not None
    assert apart.uncertainty == pytest.approx(combine(plain.uncertainty, 2 * 30.0))
