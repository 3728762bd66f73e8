"""The speed of the tester's core: how trials at full speed are chosen, and how long a run waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence

import numpy as np
import pytest
from support.synthetic_runs import record

from keisoku.ground.host import full_speed
from keisoku.ground.host.full_speed import FullSpeed
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.latency_figures import SHARED_CORE, latency_figures
from keisoku.subjects.device.method.repetitions import at_full_speed, device_slowdown, repetition, slowed
from keisoku.subjects.device.record.interference import Core, Interference, Speed
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


def ran(slowdown: float, *, invalid: bool = False, seconds: float = 0.2, of_device: bool = True) -> TrialRecord:
    """A trial whose core took so many times longer than at full speed."""
    speed = Speed(pieces=100, fastest_ns=1000, total_ns=round(100_000 * slowdown))
    core = Core(cpu=0, steal_ns=0, heat_events=0, frequency_khz=None, lateness=None, speed=speed, of_device=of_device)
    made = record(1, "latency", "", 64, 1e5, np.full(40, 1750.0), duration_ns=round(seconds * 1e9))
    interference = Interference(
        span_ns=1, steal_resolution_ns=1, cores=[core], threads=[], throttling=None, clock_sources=("tsc", "tsc")
    )
    facts = made.facts.model_copy(update={"interference": interference})
    return made.model_copy(update={"facts": facts, "invalid_because": ["disturbed"] if invalid else []})


def tried(records: Sequence[TrialRecord]) -> tuple[TrialRecord, int]:
    """The record that a repetition settles on when its trials turn out like `records`, and how many it took."""
    wanted: Generator[Trial, TrialRecord, TrialRecord] = repetition(records[0].trial)
    next(wanted)
    for count, each in enumerate(records, 1):
        try:
            wanted.send(each)
        except StopIteration as ended:
            return ended.value, count
    raise AssertionError("it asked for more trials")


def test_a_short_trial_below_full_speed_is_tried_again_and_a_long_one_is_not() -> None:
    slow, fast = ran(1.5), ran(1.02)
    assert tried([slow, fast]) == (fast, 2)
    assert tried([ran(1.5, seconds=2.0)])[1] == 1


def test_the_fastest_of_all_is_used_where_none_had_full_speed() -> None:
    records = [ran(1.5), ran(1.2)]
    assert tried(records) == (records[1], 2)


def test_a_slow_valid_trial_goes_before_a_fast_invalid_one() -> None:
    records = [ran(1.0, invalid=True), ran(1.4)]
    assert tried(records) == (records[1], 2)


def test_trials_below_full_speed_are_left_out_where_two_others_remain_and_named_where_not() -> None:
    slow, fast = ran(1.6), ran(1.05)
    assert at_full_speed([slow, fast, fast]) == [fast, fast]
    assert at_full_speed([slow, slow, fast]) == [slow, slow, fast]
    assert slowed([fast, fast]) == ""
    assert slowed([slow, slow, fast]) == "in 2 of 3 trials the tester's CPU worked at 62 % of its full speed"


def test_what_a_slow_core_may_have_added_is_in_the_uncertainty_of_a_device_that_works_there() -> None:
    records = [ran(1.10), ran(1.06)]
    latencies = [each.facts.tracked.latency for each in records if each.facts.tracked.latency]
    own = latency_figures(Bias(exact=True), latencies, 64, 1e5, slowdown=device_slowdown(records))
    source = {each.source: each for each in own["p50"].budget}["speed of the device's core"]
    assert source.value == pytest.approx(0.08 * own["p50"].value)
    # Slow spells of an eighth of the time: they may be all that is above the 99th percentile, or nothing of it.
    source = {each.source: each for each in own["p99"].budget}["speed of the device's core"]
    assert source.value == pytest.approx((1 - 1 / SHARED_CORE) / 2 * own["p99"].value)
    assert device_slowdown([ran(1.1, of_device=False)]) == 1.0


def test_a_run_at_full_speed_allows_for_what_its_meter_did_not_see() -> None:
    """Medians of 40 runs of one device differed by 1 %, and each said ± 0.6 %."""
    records = [ran(1.0001), ran(1.0002)]
    latencies = [each.facts.tracked.latency for each in records if each.facts.tracked.latency]
    own = latency_figures(Bias(exact=True), latencies, 64, 1e5, slowdown=device_slowdown(records))
    source = {each.source: each for each in own["p50"].budget}["speed of the device's core"]
    assert source.value == pytest.approx(0.015 * own["p50"].value)
    elsewhere = latency_figures(Bias(exact=True), latencies, 64, 1e5)
    assert "speed of the device's core" not in {each.source for each in elsewhere["p50"].budget}


def test_waits_for_full_speed_end_and_keep_to_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    takes_ns = [1000]
    monkeypatch.setattr(full_speed, "speed_of_cpu", lambda cpu, span_ns: (10, takes_ns[0], 10 * takes_ns[0]))

    class Clock(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            now_s[0] += timeout or 0.0
            return False

    waiting, stopped = FullSpeed([0]), Clock()
    waiting.wait(stopped)
    assert now_s[0] == 0.0
    takes_ns[0] = 1500
    waiting.wait(stopped)
    assert now_s[0] == pytest.approx(full_speed.LONGEST_S, abs=2 * full_speed.PAUSE_S)
    for _ in range(20):
        waiting.wait(stopped)
        now_s[0] += 0.3
    share = full_speed.SHARE * now_s[0] + full_speed.LONGEST_S
    assert now_s[0] - 20 * 0.3 <= share + 2 * full_speed.PAUSE_S


def test_the_cpu_that_has_its_full_speed_is_chosen_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    takes_ns = {0: 1000, 1: 1000}
    monkeypatch.setattr(full_speed, "speed_of_cpu", lambda cpu, span_ns: (10, takes_ns[cpu], 10 * takes_ns[cpu]))
    waiting, stopped = FullSpeed([0, 1]), threading.Event()
    waiting.chooses = True
    chosen = []
    for slow in ((), (0,), (), (1,)):
        takes_ns |= {cpu: 1500 if cpu in slow else 1000 for cpu in (0, 1)}
        chosen.append(waiting.wait(stopped))
    assert chosen == [0, 1, 1, 0]
    stopped.set()
    takes_ns |= {0: 1500, 1: 1500}
    assert waiting.wait(stopped) == 0, "none has it: that of before"
    takes_ns |= {0: 1500, 1: 1200}
    assert FullSpeed([1]).wait(stopped) == 1, "a slower kind of core is known by the fastest of all only"
