"""Delays of STAMP sessions on synthetic clocks whose difference is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from keisoku.subjects.path.stamp.analysis import analyse, delays_of
from keisoku.subjects.path.stamp.settings import DelaySettings

SETTINGS = DelaySettings(host="far")
_EPOCH_NS = 1_795_000_000_000_000_000


def _rows(
    offset_ns: int = 0, rate: float = 0.0, lost: int = 0, synchronised: bool = False, count: int = 400
) -> pa.Table:
    """Forward 100 µs, reverse 300 µs at least, 20 µs in the reflector."""
    random = np.random.default_rng(5)
    t1 = _EPOCH_NS + np.arange(count, dtype=np.int64) * 10_000_000
    there = t1 + 100_000 + random.exponential(20_000, count).astype(np.int64) * (random.random(count) < 0.5)
    back = there + 20_000 + 300_000 + random.exponential(50_000, count).astype(np.int64) * (random.random(count) < 0.5)

    def far(times: np.ndarray) -> np.ndarray:
        return times + offset_ns + np.round((times - _EPOCH_NS) * rate).astype(np.int64)

    answers = np.ones(count, np.int64)
    answers[:lost] = 0
    columns = {"t1_ns": t1, "t2_ns": far(there), "t3_ns": far(there + 20_000), "t4_ns": back, "answers": answers}
    for name in ("t2_ns", "t3_ns", "t4_ns"):
        columns[name] = np.where(answers > 0, columns[name], 0)
    for end in ("near", "far"):
        columns[f"{end}_synchronised"] = np.full(count, int(synchronised))
        columns[f"{end}_error_ns"] = np.full(count, 5_000)
    return pa.table(columns)


@pytest.mark.parametrize("offset_ns", [0, 7_000_000_000, -40_000])
def test_two_way_delay_is_free_of_the_clocks_and_one_way_says_what_they_leave_open(offset_ns: int) -> None:
    found = analyse(_rows(offset_ns), SETTINGS)
    rows = {row.case: row.figures for row in found.rows}
    assert rows["two-way"]["least"].value == pytest.approx(400_000, abs=2_000)
    assert found.flagged("clocks-not-synchronised")
    for way, truth in (("forward", 100_000), ("reverse", 300_000)):
        least = rows[way]["least"]
        assert least.uncertainty and abs(least.value - truth) <= least.uncertainty
    assert rows["reverse"]["variation_p99"].value > rows["forward"]["variation_p99"].value


def test_clocks_that_run_apart_do_not_make_delays_grow() -> None:
    rows = _rows(1_000_000, 30e-6)
    delays = delays_of(rows)
    assert delays and delays.skew == pytest.approx(30e-6, abs=1e-6)
    observed = {row.case: row.figures for row in analyse(rows, SETTINGS).rows}
    assert observed["forward"]["variation_p99"].value < 150_000


def test_synchronised_clocks_are_taken_at_their_word() -> None:
    found = analyse(_rows(synchronised=True), SETTINGS)
    least = next(row for row in found.rows if row.case == "forward").figures["least"]
    assert found.flags == [] and least.value == pytest.approx(100_000, abs=100)
    assert least.uncertainty == pytest.approx(2 * 10_000 / 3**0.5)
    wrong = analyse(_rows(-500_000, synchronised=True), SETTINGS)
    assert wrong.flagged("clocks-disagree")


@pytest.mark.parametrize("place", [0.2, 0.4, 0.7, 0.8])
def test_a_host_that_becomes_faster_makes_no_rate_between_equal_clocks(place: float) -> None:
    """Answers that came 10 µs sooner from some packet on were a rate of 130 ± 60 ppm."""
    packets, inside = 100, 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        waits = random.exponential(5_000, (2, packets)).astype(np.int64)
        waits[1, : round(place * packets)] += 10_000
        t1 = _EPOCH_NS + np.arange(packets, dtype=np.int64) * 1_000_000
        t2 = t1 + 10_000 + waits[0]
        columns = {"t1_ns": t1, "t2_ns": t2, "t3_ns": t2 + 5_000, "t4_ns": t2 + 15_000 + waits[1]}
        columns["answers"] = np.ones(packets, np.int64)
        for end in ("near", "far"):
            columns |= {f"{end}_synchronised": np.zeros(packets, int), f"{end}_error_ns": np.zeros(packets, int)}
        found = delays_of(pa.table(columns))
        assert found is not None
        inside += abs(found.skew) <= found.skew_half
    assert inside >= 16


def _changed(rows: pa.Table, place: slice, **by_ns: int) -> pa.Table:
    columns = {name: rows[name].to_numpy().copy() for name in rows.column_names}
    for name, change in by_ns.items():
        columns[name][place] += change
    return pa.table(columns)


@pytest.mark.parametrize(
    ("column", "by_ns"), [("t3_ns", -500_000_000), ("t3_ns", 3_600_000_000_000), ("t2_ns", 40_000)]
)
def test_answers_that_left_before_their_packets_came_are_left_out_and_said(column: str, by_ns: int) -> None:
    """T3 before T2 by 0.5 s was taken for a delay of 500 ms on a path of 0.2 ms."""
    whole = _rows()
    found = analyse(_changed(whole, slice(50, 90), **{column: by_ns}), SETTINGS)
    (flag,) = [flag for flag in found.flags if flag.name == "reflector-stamps"]
    assert flag.text.startswith("40 answers are left out")
    rows = {row.case: row.figures for row in found.rows}
    assert rows["two-way"]["least"].value == pytest.approx(400_000, abs=2_000)
    assert rows["two-way"]["largest"].value < 2_000_000
    assert not found.flagged("stamps-disagree")
    every = analyse(_changed(whole, slice(0, 400), **{column: by_ns}), SETTINGS)
    assert every.flagged("reflector-stamps") and [row.case for row in every.rows] == ["packets"]


@pytest.mark.parametrize("by_ns", [3_600_000_000_000, -5_000_000_000, 900_000_000])
def test_a_reflector_whose_clock_is_set_is_cut_there_and_said(by_ns: int) -> None:
    """One-way delays held the hour by which it jumped."""
    found = analyse(_changed(_rows(synchronised=True), slice(300, 400), t2_ns=by_ns, t3_ns=by_ns), SETTINGS)
    (flag,) = found.flags
    assert flag.name == "clock-jumped" and "set 1 time; 100 answers" in flag.text
    rows = {row.case: row.figures for row in found.rows}
    assert rows["forward"]["largest"].value < 2_000_000
    assert rows["reverse"]["least"].value == pytest.approx(300_000, abs=1_000)


def test_clocks_that_drift_apart_by_what_clocks_may_have_no_jumps() -> None:
    for rate in (900e-6, -900e-6):
        assert not analyse(_rows(rate=rate), SETTINGS).flagged("clock-jumped")


def test_lost_packets_are_counted_and_left_out() -> None:
    packets = analyse(_rows(lost=100), SETTINGS).rows[0].figures
    assert (packets["sent"].value, packets["answered"].value, packets["lost"].value) == (400, 300, 25)
    nothing = analyse(_rows(lost=400), SETTINGS)
    assert [row.case for row in nothing.rows] == ["packets"]


@pytest.mark.parametrize("count", [20, 100, 1000])
def test_a_rate_is_used_only_as_far_as_it_is_known(count: int) -> None:
    """Equal clocks, and delays that scatter by 2 µs with a few late ones: the interval of the rate contains 0, and
    those of the least and the median delay the truth."""
    inside = {"rate": 0, "least": 0, "median": 0}
    for seed in range(100):
        random = np.random.default_rng([count, seed])
        scatter = [
            random.exponential(2_000, count) + 40_000 * (random.random(count) < 0.02) * random.random(count)
            for _ in range(2)
        ]
        ways = [8_000 + scatter[0], 12_000 + scatter[1]]
        t1 = _EPOCH_NS + np.arange(count, dtype=np.int64) * 10_000_000
        t2 = t1 + ways[0].astype(np.int64)
        columns = {"t1_ns": t1, "t2_ns": t2, "t3_ns": t2 + 5_000, "t4_ns": t2 + 5_000 + ways[1].astype(np.int64)}
        same = {
            f"{end}_{name}": np.zeros(count, np.int64)
            for end in ("near", "far")
            for name in ("synchronised", "error_ns")
        }
        rows = pa.table(columns | same | {"answers": np.ones(count, np.int64)})
        found = analyse(rows, DelaySettings(host="far", packets=count))
        (rate,) = (flag.figures["rate_difference"] for flag in found.flags if flag.name == "clocks-not-synchronised")
        inside["rate"] += rate.uncertainty is not None and abs(rate.value) <= rate.uncertainty
        forward = next(row for row in found.rows if row.case == "forward").figures
        for name, truth in (("least", ways[0].min()), ("median", np.median(ways[0]))):
            figure = forward[name]
            inside[name] += figure.uncertainty is not None and abs(figure.value - truth) <= figure.uncertainty
    assert all(hits >= 93 for hits in inside.values()), inside
