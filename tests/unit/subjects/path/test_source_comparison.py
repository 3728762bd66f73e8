"""Sources of time on the same synthetic packets: the clock's part in the scatter is what was put in."""

from __future__ import annotations

import numpy as np
import pytest

from keisoku.subjects.path.clocks.analysis import ONE_PACKET, PAIRS, analyse
from keisoku.subjects.path.clocks.settings import SourceComparisonSettings
from keisoku.subjects.path.train.log import TrainLog
from keisoku.subjects.path.train.probe import ROW, TrainPlan

_EPOCH_NS = 1_795_000_000_000_000_000
_GAP_NS, _TRUE_NS, _USER_NS = 120_000, 100.0, 700.0
GROUPS = (PAIRS, ONE_PACKET)


_WAKE_NS, _BYTE_NS = 5_000, 4
"""How much later the program stamps the first packet of a pair than the second, and a byte of a packet by itself."""


def _log(repetitions: int, pairs: int) -> TrainLog:
    """A link of 100 Mb/s that itself scatters, kernel stamps without noise, user stamps with."""
    random, log, now = np.random.default_rng(2), TrainLog(), _EPOCH_NS
    for number in range(1, repetitions * pairs + 1):
        now += 3_000_000
        sent, received = np.zeros(2, ROW), np.zeros(2, ROW)
        arrived = now + np.array([200_000, 200_000 + _GAP_NS + round(random.normal(0, _TRUE_NS))])
        for rows, times in ((sent, now + np.array([0, 3_000])), (received, arrived)):
            rows["train"], rows["index"], rows["kernel_ns"] = number, [0, 1], times
            noisy = times + np.round(random.normal(0, _USER_NS, 2)).astype(np.int64)
            rows["monotonic_ns"] = rows["realtime_ns"] = noisy
        log.add(number, [TrainPlan(f"pair {(number - 1) // pairs}", "forward", 1500, 2)], sent, received)
    return log


def _late(log: TrainLog) -> TrainLog:
    """The same pairs, whose receiver wakes up late for the first packet, and packets by themselves for which it wakes
    up the later the longer they are."""
    random, late, now = np.random.default_rng(3), TrainLog(), _EPOCH_NS
    for train in log.trains("kernel"):
        sent, received = np.zeros(2, ROW), np.zeros(2, ROW)
        for rows, times, wake in ((sent, train.sent_ns, 0), (received, train.received_ns, _WAKE_NS)):
            rows["train"], rows["index"], rows["kernel_ns"] = train.number, [0, 1], times
            rows["monotonic_ns"] = rows["realtime_ns"] = times + np.array([wake, 0])
        late.add(train.number, [TrainPlan(train.stage, "forward", 1500, 2)], sent, received)
    for number in range(1, 401):
        now, size = now + 3_000_000, int(random.choice([200, 600, 1000, 1500]))
        sent, received = np.zeros(1, ROW), np.zeros(1, ROW)
        for rows, time, wake in ((sent, now, 0), (received, now + 80 * size, _BYTE_NS * size)):
            rows["train"], rows["kernel_ns"] = 10_000 + number, time
            rows["monotonic_ns"] = rows["realtime_ns"] = time + wake + round(random.normal(0, _USER_NS) if wake else 0)
        late.add(10_000 + number, [TrainPlan(f"lone {number % 10}", "forward", size, 1)], sent, received)
    return late


def test_what_the_programs_stamps_add_to_gaps_and_to_bytes_is_stated() -> None:
    settings = SourceComparisonSettings(host="far", repetitions=10, pairs=20)
    rows = analyse(_late(_log(10, 20)), settings, {}).rows
    (pairs, lone) = ([row.figures for row in rows if row.case == "user-tsc" and row.group == group] for group in GROUPS)
    assert pairs[0]["error_of_gaps"].value == -_WAKE_NS
    found = lone[0]["error_per_byte"]
    assert found.uncertainty is not None and abs(found.value - _BYTE_NS) <= found.uncertainty < 1
    assert lone[0]["of_clock_observed"].value == pytest.approx(_USER_NS, rel=0.15)
    assert lone[0]["mean"].value == pytest.approx(8000 / (80 + _BYTE_NS), rel=0.02)


def test_the_clocks_share_is_predicted_and_observed_alike() -> None:
    settings = SourceComparisonSettings(host="far", repetitions=10, pairs=200)
    noise = {"kernel": 0.0, "user-tsc": _USER_NS, "user-gettimeofday": float(np.hypot(_USER_NS, 1000 / 12**0.5))}
    found = {row.case: row.figures for row in analyse(_log(10, 200), settings, noise).rows if row.group == PAIRS}
    assert list(found) == ["user-gettimeofday", "user-tsc", "kernel"]
    user, kernel = found["user-tsc"], found["kernel"]
    assert kernel["mean"].value == pytest.approx(100, rel=0.002)
    assert kernel["scatter_of_gaps"].value == pytest.approx(_TRUE_NS, rel=0.1)
    assert user["of_clock_predicted"].value == pytest.approx(2**0.5 * _USER_NS)
    assert user["of_clock_observed"].value == pytest.approx(2**0.5 * _USER_NS, rel=0.1)
    # σ²_obs = σ²_true + 2σ²_t
    assert user["scatter_of_gaps"].value == pytest.approx(np.hypot(_TRUE_NS, 2**0.5 * _USER_NS), rel=0.1)
    assert user["share_observed"].value == pytest.approx(98, abs=8)
    assert user["variance"].value > kernel["variance"].value
    assert "of_clock_observed" not in kernel


def test_a_run_that_was_stopped_has_no_variance_of_one_repetition_and_says_what_is_missing() -> None:
    settings = SourceComparisonSettings(host="far", repetitions=10, pairs=200)
    found = analyse(_log(1, 20), settings, {}, ended=False)
    assert [set(row.figures) & {"mean", "variance"} for row in found.rows] == [{"mean"}] * 3
    (flag,) = found.flags
    assert flag.name == "unfinished"
    assert "nothing was measured of 9 of 10 repetitions, and the data of repetition 1 may be" in flag.text
    nothing = analyse(_log(1, 0), settings, {}, ended=False)
    assert nothing.rows == [] and nothing.flags[0].text.endswith("nothing was measured of 10 of 10 repetitions")
