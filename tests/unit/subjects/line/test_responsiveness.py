"""Responsiveness: figures and verdicts from what probes and flows saw, on queues whose truth is known."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.listening import Listening
from support.virtual_line import Line, measured
from support.virtual_path import Limiter, VirtualHop, VirtualPath
from support.virtual_queue import Discipline, Queue

from keisoku.ground.entry import Work
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import parsed
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.share import share
from keisoku.subjects.line.responsiveness import rounds
from keisoku.subjects.line.responsiveness.analysis import QUEUE, WHILE, analyse
from keisoku.subjects.line.responsiveness.condition import OVERLOAD, WAYS, Condition, conditions, load_streams
from keisoku.subjects.line.responsiveness.grade import BELOW_NS, WORST, grade, grades
from keisoku.subjects.line.responsiveness.hop_probing import Hops
from keisoku.subjects.line.responsiveness.kind import Evidence, before, kind
from keisoku.subjects.line.responsiveness.measurement import MEASUREMENT
from keisoku.subjects.line.responsiveness.outcome import Outcome
from keisoku.subjects.line.responsiveness.place import added
from keisoku.subjects.line.responsiveness.plot import latency_plot
from keisoku.subjects.line.responsiveness.queue import Floor, depth
from keisoku.subjects.line.responsiveness.rpm import responsiveness, trimmed_mean
from keisoku.subjects.line.responsiveness.settings import ResponsivenessSettings

MS = 1e6
SECOND = 1_000_000_000
QUICK = {"repetitions": 1, "ramp_s": 1.0, "duration_s": 1.0}

times = st.floats(1e3, 1e10)


def settings(**more: object) -> ResponsivenessSettings:
    return parsed(ResponsivenessSettings, {"host": "far", **QUICK, **more})


def packets(
    condition: Condition, waits_ns: Sequence[float], ahead_ns: float = 0.0, begun_ns: int = 0, **more: Any
) -> Outcome:
    """One packet each 20 ms; what the upload's wait, over 10 ms each way, and by how much the far clock is ahead."""
    at = begun_ns + np.arange(len(waits_ns), dtype=np.float64) * 20 * MS
    up, down = 10 * MS + np.asarray(waits_ns) + ahead_ns, np.full(len(waits_ns), 10 * MS - ahead_ns)
    return Outcome(0, condition, begun_ns, at, {"up": up, "down": down}, **more)


def row_of(result: Result, group: str, case: str) -> Row:
    (found,) = [row for row in result.rows if (row.group, row.case) == (group, case)]
    return found


@given(st.lists(times, min_size=1, max_size=60))
def test_a_trimmed_mean_leaves_out_the_longest_of_twenty(values: list[float]) -> None:
    kept = sorted(values)
    while len(kept) > 1 and len(kept) > 0.95 * len(values):
        kept.pop()
    assert trimmed_mean(values) == pytest.approx(sum(kept) / len(kept))
    assert trimmed_mean([*values, *[math.inf] * 2 * len(values)]) == math.inf
    assert trimmed_mean([]) is None


@given(times, times, times)
def test_round_trips_per_minute_are_those_of_the_draft(tcp: float, http: float, own: float) -> None:
    found = responsiveness(tcp, http, own)
    assert found is not None
    foreign_ms, loaded_ms = (tcp / MS + http / MS) / 2, own / MS
    assert found.value == pytest.approx((60_000 / foreign_ms + 60_000 / loaded_ms) / 2)
    same = responsiveness(own, own, own)
    assert same is not None and same.value == pytest.approx(60_000 / loaded_ms)
    failed = responsiveness(tcp, math.inf, own)
    assert failed is not None and failed.bound == "at most" and failed.value < found.value
    assert responsiveness(None, http, own) is None


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_longer_wait_never_has_a_better_grade(one: float, other: float) -> None:
    order = [*BELOW_NS, WORST]
    assert order.index(grade(min(one, other))) <= order.index(grade(max(one, other)))
    interval = Interval(lower=min(one, other), upper=max(one, other))
    said, best, worst = grades(Quantity(value=(one + other) / 2, unit="ns", interval=interval))
    assert order.index(best) <= order.index(said) <= order.index(worst)


@given(
    st.floats(-1e12, 1e12), st.floats(-1e-4, 1e-4), st.lists(st.floats(0, 1e9), min_size=2, max_size=50), st.randoms()
)
def test_waits_do_not_depend_on_the_clocks(
    offset: float, drift: float, waits: list[float], chance: random.Random
) -> None:
    length_ns = len(waits) * 20 * MS

    def of(condition: Condition, values: Sequence[float], begun_ns: int) -> Outcome:
        one = packets(condition, values, begun_ns=begun_ns)
        ahead = offset + drift * one.at_ns
        return dataclasses.replace(
            one, one_way_ns={"up": one.one_way_ns["up"] + ahead, "down": one.one_way_ns["down"] - ahead}
        )

    idle = [of("idle", [0.0] * 10, 0), of("idle", [0.0] * 10, round(2 * SECOND + length_ns))]
    floor = Floor.from_idle(idle)
    assert floor is not None
    loaded = of("up", waits, SECOND)
    # In the 200 ms of an idle time the clocks drift apart, and its least time is at one end of it.
    slack = 200 * MS * abs(drift) + abs(offset) * 1e-12 + 1
    assert np.abs(floor.waits(loaded, "up") - waits).max() <= slack
    assert np.abs(floor.waits(loaded, "down")).max() <= slack


def test_the_share_that_was_lost_is_one_in_every_interval() -> None:
    """It was 1.8 % [-21, 25] of three rounds."""
    lost = [packets("idle", [0.0] * 50, sent=50, answered=50 - count) for count in (0, 1, 9)]
    result, _ = analyse(settings(repetitions=2), lost, {})
    found = row_of(result, WHILE, "idle").figures["lost"]
    lower, upper = found.bounds or (0.0, 0.0)
    assert found.value == pytest.approx(100 * 10 / 150) and 0 <= lower < found.value < upper <= 100
    # Rounds that differ that much say less than their packets alone would.
    alone = share(10, 150).bounds or (0.0, 0.0)
    assert upper - lower > 2 * (alone[1] - alone[0])


@pytest.mark.parametrize(("within_s", "begun"), [(None, 6), (60.0, 6), (20.0, 3)])
def test_no_condition_begins_that_cannot_end_in_time(
    monkeypatch: pytest.MonkeyPatch, within_s: float | None, begun: int
) -> None:
    """A line took 61.4 s of "at most 60": what goes on is not interrupted before its end."""
    clock = SimpleNamespace(s=0.0)
    carried: list[str] = []

    def carry_out(*given: object) -> SimpleNamespace:
        carried.append(str(given[4]))
        clock.s += 5.0
        return SimpleNamespace(flows=SimpleNamespace(to_pylist=list))

    session = MagicMock()
    monkeypatch.setattr(rounds, "StreamSession", session)
    for name in ("begin", "_hops", "_keep", "_facts"):
        monkeypatch.setattr(rounds, name, MagicMock(return_value={}))
    monkeypatch.setattr(rounds, "carry_out", carry_out)
    own = settings(within_s=within_s)
    observer = Listening()
    work = Work(MEASUREMENT, own, observer=observer, waited_s=1.0)
    monkeypatch.setattr(work, "elapsed_s", lambda: clock.s)
    monkeypatch.setattr(work, "begin", MagicMock())
    rounds.carry_out_all(work, own, ["idle", "up"] * 3)
    assert len(carried) == begun
    assert bool(observer.warned) == (begun < 6)


def test_without_an_idle_time_there_are_no_waits() -> None:
    assert Floor.from_idle([]) is None and Floor.from_idle([packets("idle", [])]) is None


def test_a_queue_that_still_grows_is_not_taken_for_full_and_an_overload_that_was_none_shows_nothing() -> None:
    floor = Floor.from_idle([packets("idle", [0.0])])
    assert floor is not None
    of_overload: dict[str, Any] = {"rates_bps": {"up": 1e7}, "offered_bps": 1.5e7}
    full = depth(floor, packets("up-overload", [50 * MS] * 20, **of_overload), "up")
    assert full is not None and full.full and full.waits_ns == 50 * MS
    assert full.length_ns - full.waits_ns == pytest.approx(8e9 * 1228 / 1e7 / 2)
    grows = depth(floor, packets("up-overload", list(np.linspace(10, 90, 20) * MS), **of_overload), "up")
    assert grows is not None and not grows.full
    # "At least 33.7 ms" of a queue of 30.3 ms: the busy host made most packets wait longer, but never all of them.
    queue = np.linspace(10, 30.3, 60) * MS
    late = queue + np.tile([0.0, 5.0, 9.0], 20) * MS
    busy = depth(floor, packets("up-overload", list(late), **of_overload), "up")
    assert busy is not None and not busy.full and 20 * MS < busy.least_ns <= queue.max()
    too_slow: dict[str, Any] = {"rates_bps": {"up": 1e7}, "offered_bps": 1e7}
    assert depth(floor, packets("up-overload", [50 * MS] * 20, **too_slow), "up") is None


@given(st.lists(st.floats(0, 1e8), min_size=1, max_size=10), st.sets(st.integers(1, 10)))
def test_what_hops_add_sums_to_what_the_farthest_adds(steps: list[float], silent: set[int]) -> None:
    totals = np.cumsum(steps)
    answering = [ttl for ttl in range(1, len(steps) + 1) if ttl not in silent]
    idle = packets("idle", [0.0], hops_ns={ttl: np.array([5 * MS * ttl + 1, 5 * MS * ttl]) for ttl in answering})
    under = {ttl: np.array([5 * MS * ttl + totals[ttl - 1]]) for ttl in answering}
    found = added([idle], packets("up", [0.0], hops_ns=under))
    assert list(found.by_hop) == answering
    assert found.whole_ns == pytest.approx(totals[answering[-1] - 1] if answering else 0, abs=1)
    if found.hop is not None:
        assert found.by_hop[found.hop] > found.whole_ns / 2


@pytest.mark.parametrize(
    ("discipline", "bucket_bytes", "ramp_s"),
    # CoDel needs time until four flows are slow enough.
    [("drop-tail", 0.0, 1.0), ("drop-tail", 4000.0, 1.0), ("codel", 0.0, 4.0), ("fq", 4000.0, 1.0)],
)
def test_a_queue_is_found_with_its_kind_its_place_and_its_length(
    discipline: Discipline, bucket_bytes: float, ramp_s: float
) -> None:
    up, down = Queue(2e6, 40_000, discipline, bucket_bytes), Queue(4e6, 120_000, discipline, bucket_bytes)
    line = Line({"up": up, "down": down}, round_trip_s=0.02, hop=3)
    wanted, repliers = settings(ramp_s=ramp_s), {ttl: f"192.0.2.{ttl}" for ttl in range(1, 5)}
    result, curves = analyse(wanted, measured(line, wanted, 7), repliers)
    for way, case in zip(WAYS, ("upload", "download"), strict=True):
        row, queue = row_of(result, QUEUE, case), line.queues[way]
        assert row.figures["hop"].value == 3 and "(192.0.2.3)" in row.remark
        said = {"drop-tail": "drop-tail", "codel": "active queue management", "fq": "fair queueing"}[discipline]
        assert said in row.remark and ("shaper" if bucket_bytes else "bit by bit") in row.remark
        assert row_of(result, WHILE, case).figures[f"{way}_rate"].value == pytest.approx(queue.rate_bps, rel=0.03)
        if discipline == "drop-tail":
            length_ns = 8e9 * queue.limit_bytes / queue.rate_bps
            assert row.figures["length"].value == pytest.approx(length_ns, rel=0.05)
            assert row.figures["length_bytes"].value == pytest.approx(queue.limit_bytes, rel=0.05)
            lower, upper = row.figures["length"].bounds or (0, 0)
            assert lower <= length_ns <= upper
    assert latency_plot(curves).has_an_axis


def test_where_congestion_control_does_not_fill_queues_their_kind_is_not_told() -> None:
    seen = Evidence(5 * MS, 20 * MS, 100 * MS, True, 5 * MS, 1 * MS, lost=True, loss_based=True)
    assert kind(seen) == "aqm"
    assert kind(dataclasses.replace(seen, loss_based=False)) == "not told"
    assert kind(dataclasses.replace(seen, depth_ns=None)) == "not told"
    assert kind(dataclasses.replace(seen, stood_ns=80 * MS, reached_ns=95 * MS)) == "drop-tail"
    assert kind(dataclasses.replace(seen, stood_ns=80 * MS, reached_ns=95 * MS, full=False)) == "not told"
    assert kind(dataclasses.replace(seen, stood_ns=0.5 * MS, depth_ns=0.5 * MS, own_ns=0.5 * MS)) == "none"


@given(st.floats(1e5, 1e10), st.integers(1, 9000))
def test_a_line_takes_the_time_of_its_bits_and_a_shaper_none(rate: float, more_bytes: int) -> None:
    line_ns = 8e9 * more_bytes / rate
    assert before(line_ns, more_bytes, rate) == before(3 * line_ns, more_bytes, rate) == "line"
    assert before(0.0, more_bytes, rate) == "shaper"
    assert before(0.5 * line_ns, more_bytes, rate) == "shaper"
    assert before(0.8 * line_ns, more_bytes, rate) == before(None, more_bytes, rate) == "not told"
    assert before(0.0, 0, rate) == "not told"


def test_limits_on_answers_are_found_and_such_hops_asked_once_a_second() -> None:
    wire = VirtualPath([VirtualHop(), VirtualHop(limiter=Limiter()), VirtualHop(silent=True), VirtualHop()])
    hops = Hops.find(wire, 30)
    assert set(hops.repliers) == {1, 2, 4} and hops.limited == {2}
    wire.rest(wire.now_ns() + 10 * SECOND)
    found = hops.probe(4.0)
    answered = {ttl: [one for one in found if one.hop == ttl and one.answered] for ttl in hops.repliers}
    assert len(answered[1]) == len(answered[4]) == pytest.approx(40, abs=2)
    assert 3 <= len(answered[2]) <= 4 and all(one.answered for one in found)


def test_conditions_come_in_turn_and_an_overload_exceeds_what_tcp_had() -> None:
    assert conditions(settings()) == ["idle", "up", "down", "both", "up-overload", "down-overload"]
    assert conditions(settings(overload=False)) == ["idle", "up", "down", "both"]
    assert (
        load_streams(settings(), "idle", {}) is None and load_streams(settings(), "up-overload", {"down": 1e6}) is None
    )
    overload = load_streams(settings(), "down-overload", {"down": 1e6})
    assert overload is not None and overload.bps == OVERLOAD * 1e6 and overload.direction == "reverse"
    both = load_streams(settings(), "both", {})
    assert both is not None and both.direction == "both" and both.warm_up_s == 1.0 and both.congestion == "cubic"


def test_rounds_that_are_missing_and_overloads_that_were_none_are_flagged() -> None:
    line = Line({way: Queue(2e6, 40_000) for way in WAYS}, round_trip_s=0.02)
    outcomes = measured(line, settings(), 3)
    for one in outcomes:
        one.offered_bps = None if one.offered_bps is None else 1e6
    result, _ = analyse(settings(repetitions=3), outcomes, {})
    assert result.flagged("unfinished") and result.flagged("not-offered")
    assert "length" not in row_of(result, QUEUE, "upload").figures
    assert any("no hop of the path" in remark for remark in result.remarks) is True
    nothing, curves = analyse(settings(), [], {})
    assert nothing.rows == [] and nothing.flagged("unfinished") and curves == {}
