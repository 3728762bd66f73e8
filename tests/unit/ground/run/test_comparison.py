"""Devices are told apart only where intervals do not overlap; a regression lies beyond margin and doubt."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.synthetic_runs import bounded_run, host_run, router_run, sweep_run

from keisoku.errors import PlanError
from keisoku.ground.report.comparison import (
    BOUND_RULE,
    RESOLUTION_RULE,
    figure_name,
    ranking_text,
    regression,
    side_by_side,
)
from keisoku.ground.run.comparison import Key, better, compare, figures_by_key, judge, margin_for, regressions
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.difference import Better, Margin, Verdict, change, difference, ranked, ratio, verdict
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.running.measurement.comparable import (
    check_machine,
    check_settings,
    check_valid,
    common_results,
    machine_notes,
    result_of,
)
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.side_by_side import side_by_side_findings
from keisoku.running.measurement.table import find
from keisoku.subjects.device.measuring import marked
from keisoku.subjects.device.record.run import DeviceRun


def outcome(run: DeviceRun) -> Outcome:
    return Outcome(RunDirectory(run.directory, "device", run.plan, run.context), run.results, [])


def of_plan(plan: dict[str, Any]) -> Outcome:
    return outcome(DeviceRun(Path(), plan, {}, [], []))


def ns(value: float, uncertainty: float | None = 0.0) -> Quantity:
    return Quantity(value=value, unit="ns", uncertainty=uncertainty)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (ns(100, 5), ns(120, 5), "lower"),
        (ns(120, 5), ns(100, 5), "higher"),
        (ns(100, 10), ns(120, 10), "cannot be told apart"),  # the intervals touch
        (ns(100, 11), ns(120, 10), "cannot be told apart"),
        (ns(100, 0), ns(100, 0), "equal"),
        (ns(100, 0), ns(100, 1), "cannot be told apart"),
        (ns(100, None), ns(900, 1), "cannot be told apart"),
        (ns(3556.0000000000036, 1e-12), ns(3556.0, 0), "cannot be told apart"),  # arithmetic is no measurement
    ],
)
def test_intervals_that_overlap_tell_nothing(one: Quantity, other: Quantity, expected: str) -> None:
    assert verdict(one, other) == expected


def test_a_difference_has_the_uncertainty_of_both() -> None:
    found = difference(ns(110, 3), ns(100, 4))
    assert (found.value, found.uncertainty) == (10, 5)
    assert difference(ns(110, None), ns(100, 4)).uncertainty is None
    with pytest.raises(ValueError, match="cannot be subtracted"):
        difference(ns(1), Quantity(value=1, unit="%"))


def bound(value: float, kind: str) -> Quantity:
    return Quantity.model_validate({"value": value, "unit": "ns", "bound": kind})


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (bound(120, "at least"), ns(100, 5), "higher"),
        (ns(100, 5), bound(120, "at least"), "lower"),
        (bound(120, "at least"), ns(130, 5), "cannot be told apart"),
        (bound(120, "at least"), ns(118, 5), "cannot be told apart"),
        (bound(120, "at least"), ns(120, 0), "cannot be told apart"),
        (bound(120, "at least"), bound(120, "at least"), "cannot be told apart"),
        (bound(120, "at least"), bound(100, "at least"), "cannot be told apart"),
        (bound(80, "at most"), bound(100, "at least"), "lower"),
        (bound(120, "at most"), bound(100, "at least"), "cannot be told apart"),
        (bound(80, "at most"), ns(100, 5), "lower"),
        (bound(120, "at least"), ns(100, None), "cannot be told apart"),
    ],
)
def test_a_bound_differs_only_from_what_lies_on_its_other_side(
    one: Quantity, other: Quantity, expected: Verdict
) -> None:
    assert verdict(one, other) == expected
    mirrored = {"lower": "higher", "higher": "lower"}
    assert verdict(other, one) == mirrored.get(expected, expected)


def test_the_difference_of_a_bound_is_a_bound() -> None:
    assert difference(bound(120, "at least"), ns(100, 4)) == bound(16, "at least")
    assert difference(ns(100, 4), bound(120, "at least")) == bound(-16, "at most")
    assert difference(bound(120, "at least"), bound(100, "at most")) == bound(20, "at least")
    assert difference(bound(120, "at least"), bound(100, "at least")) == ns(20, None)
    assert difference(bound(120, "at least"), ns(100, None)) == ns(20, None)


def test_a_difference_from_the_arithmetic_alone_is_none() -> None:
    assert difference(ns(3556.0000000000036), ns(3556.0)).value == 0
    one = ns(3556, 3).model_copy(update={"covers": "resolution"})
    assert difference(one, ns(3500, 4)).covers == "resolution"


@pytest.mark.parametrize(
    ("new", "old", "way", "expected"),
    [
        (bound(80, "at most"), ns(100, 4), "higher", "regression"),
        (bound(93, "at most"), ns(100, 4), "higher", "worse within the margin"),
        (bound(99, "at most"), ns(100, 4), "higher", "cannot be told apart"),
        (bound(80, "at least"), ns(100, 4), "higher", "cannot be told apart"),
        (bound(110, "at least"), ns(100, 4), "higher", "better"),
        (ns(80, 4), bound(100, "at least"), "higher", "regression"),
        (ns(120, 4), bound(100, "at least"), "higher", "cannot be told apart"),
        (bound(100, "at least"), bound(100, "at least"), "higher", "cannot be told apart"),
        (bound(120, "at least"), ns(100, 4), "lower", "regression"),
        (bound(120, "at least"), ns(100, 4), "neither", "regression"),
        (bound(80, "at most"), ns(100, 4), "lower", "better"),
        (bound(80, "at most"), ns(100, 4), "neither", "regression"),
        (bound(120, "at least"), ns(100, None), "higher", "cannot be judged"),
    ],
)
def test_a_bound_is_a_regression_only_if_every_value_it_allows_is(
    new: Quantity, old: Quantity, way: Better, expected: str
) -> None:
    assert change(new, old, way, Margin(share=0.05)) == expected


def test_a_comparison_says_that_a_figure_is_a_bound_or_has_only_a_resolution() -> None:
    runs = [outcome(bounded_run()), outcome(router_run())]
    tables = [figures_by_key(result_of(run, "throughput")) for run in runs]
    finding = side_by_side("throughput", "Throughput", ["bridge", "router"], [None, None], compare(tables), [])
    throughput = next(table for table in finding.tables if table.title == "Throughput")
    (bounded,) = [row for row in throughput.rows if row[0] == "128"]
    assert bounded[1].startswith("at least ") and bounded[-1] == "router < bridge"
    assert {BOUND_RULE, RESOLUTION_RULE} <= set(finding.notes) and "§" in throughput.marks
    judged, _ = judge("throughput", tables[1], tables[0], {}, Margin(share=0.05))
    shown = regression(judged, [], [])
    assert {BOUND_RULE, RESOLUTION_RULE} <= set(shown.notes)
    (row,) = [row for row in shown.tables[0].rows if row[0] == "throughput[128].throughput"]
    assert row[1].startswith("at least ") and row[3].startswith("at most −") and row[-1].startswith("regression")
    plain = side_by_side("x", "X", ["a", "b"], [None, None], compare([tables[1], tables[1]]), [])
    assert not {BOUND_RULE, RESOLUTION_RULE} & set(plain.notes)


def test_the_interval_of_a_ratio_covers_the_truth_as_often_as_those_of_both_figures() -> None:
    drawn = np.random.default_rng(20261125)
    inside = 0
    for _ in range(4000):
        one, other = drawn.uniform(1, 100, 2)
        errors = drawn.uniform(0.01, 0.15, 2) * (one, other)
        seen = drawn.normal((one, other), errors)
        found = ratio(*(ns(float(value), 2 * float(error)) for value, error in zip(seen, errors, strict=True)))
        assert found is not None and found.interval is not None
        inside += found.interval.lower <= one / other <= found.interval.upper
    assert 0.945 < inside / 4000 < 0.963  # k = 2 is 95.4 %


@given(st.floats(1e-9, 1e12), st.floats(1e-9, 1e12), *[st.floats(0, 0.9)] * 4)
def test_the_interval_of_a_ratio_lies_between_its_extremes(
    one: float, other: float, down: float, up: float, its_down: float, its_up: float
) -> None:
    def figure(value: float, low: float, high: float) -> Quantity:
        ends = Interval(lower=value * (1 - low), upper=value * (1 + high))
        return Quantity(value=value, unit="ns", interval=ends)

    found = ratio(figure(one, down, up), figure(other, its_down, its_up))
    assert found is not None and found.bounds is not None
    low, high = found.bounds
    least, most = one / other * (1 - down) / (1 + its_up), one / other * (1 + up) / (1 - its_down)
    assert least * (1 - 1e-6) <= low <= one / other * (1 + 1e-9)
    assert one / other * (1 - 1e-9) <= high <= most * (1 + 1e-6)


def test_a_ratio_of_what_is_exact_not_known_zero_or_a_bound() -> None:
    assert ratio(ns(300), ns(200)) == Quantity(value=1.5, unit="", uncertainty=0.0)
    assert ratio(ns(300, None), ns(200)) == Quantity(value=1.5, unit="")
    assert ratio(ns(300, 1), ns(200, 200)) == Quantity(value=1.5, unit="")  # the other may be zero
    assert ratio(ns(300), ns(0)) is None and ratio(ns(-3), ns(2)) is None and ratio(ns(math.inf), ns(2)) is None
    assert ratio(bound(600, "at least"), ns(200, 100)) == Quantity(value=2.0, unit="", bound="at least")
    assert ratio(ns(200, 100), bound(600, "at least")) == Quantity(value=0.5, unit="", bound="at most")
    assert ratio(bound(600, "at least"), bound(600, "at least")) is None


def test_runs_of_another_machine_are_no_regression_and_side_by_side_what_differs_is_said() -> None:
    here = {"cpu": "A", "cpus": 2, "kernel": "6.1", "versions": {"keisoku": "1", "numpy": "2"}}
    other = {"cpu": "B", "cpus": 2, "kernel": "6.1", "versions": {"keisoku": "2", "numpy": "2"}}
    runs = [outcome(DeviceRun(Path(), {}, context, [], [])) for context in (here, other, {"device": "published"})]
    assert machine_notes(runs, ["one", "two", "three"]) == [
        "cpu is A for one and B for two: a difference may come from it.",
        "versions.keisoku is 1 for one and 2 for two: a difference may come from it.",
    ]
    check_machine("two", {**here, "kernel": "7"}, here, "")
    with pytest.raises(PlanError, match=r"two was measured on another machine \(cpu: B then, A now\)"):
        check_machine("two", other, here, "measure again")


def test_settings_of_the_whole_run_are_said_once_where_several_things_were_measured() -> None:
    """They were not said at all."""
    plans = [{"methods": ["throughput", "latency", "loss"], "repeat": number} for number in range(2)]
    runs = [outcome(replace(host_run(), plan=plan)) for plan in plans]
    findings, _, answer = side_by_side_findings(runs, ["one", "two"])
    said = "repeat: 0 of one, 1 of two"
    assert len(findings) > 1 and answer["notes"] == [said]
    assert [said in finding.notes for finding in findings] == [True] + [False] * (len(findings) - 1)


def test_groups_are_only_split_where_every_member_is_apart() -> None:
    assert ranked([ns(300, 5), ns(100, 5), ns(104, 5)]) == [[1, 2], [0]]
    # The middle one lies across both others: nothing may be said of the three.
    assert ranked([ns(100, 5), ns(110, 50), ns(120, 5)]) == [[0, 1, 2]]
    # A wide one further down hides even those between.
    assert ranked([ns(100, 500), ns(110, 1), ns(120, 1)]) == [[0, 1, 2]]


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)), min_size=1, max_size=6))
def test_members_of_different_groups_never_overlap(figures: list[tuple[float, float]]) -> None:
    values = [ns(value, uncertainty) for value, uncertainty in figures]
    groups = ranked(values)
    assert sorted(index for group in groups for index in group) == list(range(len(values)))
    for low, high in ((low, high) for place, low in enumerate(groups) for high in groups[place + 1 :]):
        assert all(verdict(values[one], values[other]) == "lower" for one in low for other in high)


@pytest.mark.parametrize(
    ("new", "old", "way", "margin", "expected"),
    [
        (ns(106, 0), ns(100, 0), "lower", Margin(share=0.05), "regression"),
        (ns(105, 0), ns(100, 0), "lower", Margin(share=0.05), "worse within the margin"),
        (ns(106, 3), ns(100, 4), "lower", Margin(share=0.05), "worse within the margin"),  # 6 - 5 is not above 5
        (ns(111, 3), ns(100, 4), "lower", Margin(share=0.05), "regression"),  # 11 - 5 is
        (ns(104, 3), ns(100, 4), "lower", Margin(share=0.05), "cannot be told apart"),
        (ns(90, 3), ns(100, 4), "lower", Margin(), "better"),
        (ns(90, 3), ns(100, 4), "higher", Margin(), "regression"),
        (ns(90, 3), ns(100, 4), "higher", Margin(amount=5), "worse within the margin"),
        (ns(110, 3), ns(100, 4), "higher", Margin(), "better"),
        (ns(90, 3), ns(100, 4), "neither", Margin(), "regression"),
        (ns(110, 3), ns(100, 4), "neither", Margin(), "regression"),
        (ns(900, None), ns(100, 4), "lower", Margin(), "cannot be judged"),
        (ns(math.nan, 1), ns(100, 4), "lower", Margin(), "cannot be judged"),
        (ns(100, 0), ns(100, 0), "lower", Margin(), "equal"),
        (ns(0.3, 0), ns(0, 0), "lower", Margin(share=0.05), "regression"),  # any loss where there was none
    ],
)
def test_a_regression_is_what_lies_beyond_the_margin_without_doubt(
    new: Quantity, old: Quantity, way: Better, margin: Margin, expected: str
) -> None:
    assert change(new, old, way, margin) == expected


@pytest.mark.parametrize(
    ("figure", "unit", "expected"),
    [
        ("throughput", "frames/s", "higher"),
        ("line_share", "%", "higher"),
        ("loss", "%", "lower"),
        ("p99", "ns", "lower"),
        ("largest", "byte", "higher"),
        ("mismatch", "ppm", "neither"),
        ("lost", "frames", "lower"),
        ("burst", "frames", "higher"),
        ("largest_frame", "byte", "higher"),
        ("requests", "requests/s", "higher"),
        ("gain_over_no_limit", "%", "higher"),
        ("limit", "bit/s", "neither"),
        ("sender_CPU", "s/GB", "lower"),
    ],
)
def test_which_way_is_better(figure: str, unit: str, expected: str) -> None:
    assert better(figure, unit) == expected


def test_devices_are_compared_row_for_row() -> None:
    runs = [outcome(host_run()), outcome(router_run())]
    assert common_results(runs, ["a", "b"]) == ["throughput", "latency", "loss", "calibrate"]
    results = [result_of(run, "throughput") for run in runs]
    rankings = compare([figures_by_key(result) for result in results])
    first = next(one for one in rankings if one.figure == "throughput" and one.key == Key(64, 0.0, ""))
    assert ranking_text(first, ["bridge", "router"]) == "router < bridge"
    losses = compare([figures_by_key(result_of(run, "loss")) for run in runs])
    assert {one.key.load_percent for one in losses if one.key} == {10, 20, 40, 60, 80, 100}
    assert "offered" not in {one.figure for one in losses}


def test_a_figure_without_known_uncertainty_is_never_told_apart() -> None:
    rankings = compare(
        [figures_by_key(result_of(run, "latency")) for run in (outcome(host_run()), outcome(router_run()))]
    )
    tagged = [one for one in rankings if one.figure == "tagged"]
    assert tagged and all(len(one.groups) == 1 for one in tagged)


def test_lines_stand_in_a_table_with_their_standard_errors() -> None:
    result = result_of(outcome(sweep_run()), "sweep")
    rankings = compare([figures_by_key(result), figures_by_key(result)])
    finding = side_by_side("sweep", "Sweep of frame sizes", ["one", "two"], [result.line, None], rankings, [])
    assert finding.tables[0].heads[1].title == "Slope"
    assert [row[0] for row in finding.tables[0].rows] == ["one", "two"]
    overall = {row[0]: row[-1] for row in finding.tables[1].rows}
    assert overall["Slope"] == "one ≈ two" and overall["Largest frame"] == "one = two"


def with_rows(run: Outcome, name: str, rows: list[Row]) -> Outcome:
    results = [each if each.measurement != name else Result(measurement=name, rows=rows) for each in run.results]
    return replace(run, results=results)


def test_a_run_against_its_earlier_one() -> None:
    old, new = outcome(host_run()), outcome(host_run(capacity=700_000))
    figures = figures_by_key(result_of(new, "throughput")), figures_by_key(result_of(old, "throughput"))
    judged, missing = judge("throughput", *figures, {}, Margin(share=0.05))
    assert not missing
    assert {one.figure for one in regressions(judged)} >= {"throughput"}
    assert figure_name("throughput", judged[0].key, judged[0].figure) == "throughput[64].throughput"
    allowed, _ = judge("throughput", *figures, {"throughput": Margin(share=0.2)}, Margin(share=0.2))
    assert not regressions(allowed)


def test_what_only_one_run_has_is_said() -> None:
    old = outcome(host_run())
    new = with_rows(old, "throughput", result_of(old, "throughput").rows[1:])
    figures = figures_by_key(result_of(new, "throughput")), figures_by_key(result_of(old, "throughput"))
    _, missing = judge("throughput", *figures, {}, Margin())
    assert (Key(64, 0.0, ""), "throughput") in missing


@pytest.mark.parametrize(
    ("plans", "named"),
    [
        (({"frame_bytes": [64]}, {"frame_bytes": [64, 128]}), "frame_bytes differs"),
        (({"headers": "ipv4"}, {"headers": "ipv6"}), "headers differs"),
        (({"latency": {"rate_fps": 1e3}}, {"latency": {"rate_fps": 2e3}}), "latency.rate_fps differs"),
    ],
)
def test_different_traffic_cannot_be_compared(plans: tuple[dict[str, Any], dict[str, Any]], named: str) -> None:
    runs = [of_plan(plan) for plan in plans]
    with pytest.raises(PlanError, match=named):
        check_settings(runs, ["a", "b"], ["latency"], find(DEVICE).same)


def test_settings_that_differ_harmlessly_are_named() -> None:
    runs = [of_plan({"latency": {"repetitions": count}}) for count in (20, 3)]
    assert check_settings(runs, ["a", "b"], ["latency"], find(DEVICE).same) == ["latency.repetitions: 20 of a, 3 of b"]


def test_runs_of_different_methods_cannot_be_compared() -> None:
    with pytest.raises(PlanError, match=r"a measured throughput.* and b sweep"):
        common_results([outcome(host_run()), outcome(sweep_run())], ["a", "b"])


def test_a_row_on_an_invalid_trial_cannot_be_compared() -> None:
    found = host_run()
    bad = next(record.index for record in found.records if not record.valid)
    rests = Result(measurement="throughput", rows=[Row(frame_bytes=64, figures={"throughput": ns(1)}, trial=bad)])
    with pytest.raises(PlanError, match=f"64-byte frames rests on invalid trial {bad} .*tester could not keep up"):
        check_valid("new", marked(rests, found.records))


def test_an_amount_is_in_the_unit_of_its_figure() -> None:
    """50 ns of a figure in ns became 0.00000005."""
    margins = {"mean": Margin(amount=50.0, unit="ms")}
    for unit, amount in (("ns", 5e7), ("s", 0.05)):
        figure = Quantity(value=1.0, unit=unit)
        assert margin_for("mean", figure, margins, Margin()).in_unit_of(figure) == pytest.approx(amount)
    with pytest.raises(PlanError, match="mean is not in ms"):
        margin_for("mean", Quantity(value=1.0, unit="frames/s"), margins, Margin())
