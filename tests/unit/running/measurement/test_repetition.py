"""Figures of repetitions on truths: coverage, bounds, rows that some repetitions lack."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from keisoku.ground.run.repetition import combine
from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import combined
from keisoku.running.measurement.repetition import repetitions_plot


def fps(value: float, **more: object) -> Quantity:
    return Quantity.model_validate({"value": value, "unit": "frames/s", **more})


@pytest.mark.parametrize("count", [2, 3, 5, 6, 10, 20])
@pytest.mark.parametrize("noise", ["normal", "heavy", "disturbed"])
def test_the_interval_contains_the_truth_in_nineteen_of_twenty(count: int, noise: str) -> None:
    chance = np.random.default_rng(count)
    shape = (1000, count)
    values = {
        "normal": lambda: chance.normal(0, 5, shape),
        "heavy": lambda: 3 * chance.standard_t(3, shape),
        "disturbed": lambda: chance.normal(0, 3, shape) - np.where(chance.random(shape) < 0.1, 30, 0),
    }[noise]() + 100
    truth = statistics.median(np.sort(values, axis=None)) if noise == "disturbed" else 100.0
    ends = [combined([fps(float(value)) for value in row]).bounds for row in values]
    covered = sum(end is not None and end[0] <= truth <= end[1] for end in ends)
    assert covered >= 940


def test_the_resolution_of_a_single_run_is_added() -> None:
    figure = combined([fps(100, uncertainty=2, covers="resolution")] * 6)
    assert figure.bounds == (98, 102) and figure.covers == ""
    assert combined([fps(100, uncertainty=2), fps(100, uncertainty=2)]).bounds == (98, 102)


def test_one_repetition_says_only_what_it_resolves() -> None:
    assert combined([fps(100, uncertainty=2, covers="resolution")]).covers == "resolution"


def test_the_median_of_bounds_is_a_bound() -> None:
    high = [fps(120, bound="at least"), fps(125, bound="at least")]
    assert combined([fps(100), *high]) == fps(120, bound="at least")
    assert combined([fps(100), fps(101), high[0]]).bound == ""
    assert combined([fps(100), fps(101), high[0]]).value == 101
    assert combined([fps(9, bound="at most"), fps(8, bound="at most"), fps(12)]) == fps(9, bound="at most")


def test_a_bound_below_the_median_of_the_others_is_not_hidden() -> None:
    """Three of six are only 'at least' 50: nothing above 100 is known."""
    found = combined([*[fps(50, bound="at least")] * 3, *[fps(100)] * 3])
    assert found.bound == "at least" and found.value <= 100


def test_units_must_agree() -> None:
    with pytest.raises(ValueError):
        combined([fps(1), Quantity(value=1, unit="ns")])


def result(*rows: Row, **more: object) -> Result:
    return Result.model_validate({"measurement": "loss", "rows": rows, **more})


def row(size: int, value: float, **more: object) -> Row:
    return Row.model_validate({"frame_bytes": size, "figures": {"throughput": fps(value)}, "trial": 3, **more})


def test_rows_are_matched_in_any_order() -> None:
    (found,) = combine([[result(row(64, 1), row(128, 10))], [result(row(128, 12), row(64, 3))], [result(row(64, 2))]])
    assert [each.figures["throughput"].value for each in found.rows] == [2, 11]
    assert found.rows[1].remark == "in 2 of 3 repetitions"
    assert found.rows[0].trial is None
    assert "median of 3 repetitions" in found.remarks[-1]


def test_rows_of_different_loads_are_different_rows() -> None:
    def at(load: float, loss: float) -> Row:
        percent = {"load": Quantity(value=load, unit="%"), "loss": Quantity(value=loss, unit="%")}
        return Row(frame_bytes=64, figures=percent)

    (found,) = combine([[result(at(100, 5), at(90, 0))], [result(at(100, 7), at(90, 0), at(80, 0))]])
    assert [(each.figures["load"].value, each.figures["loss"].value) for each in found.rows] == [
        (100, 6),
        (90, 0),
        (80, 0),
    ]


def test_a_row_that_the_tester_spoiled_is_left_out() -> None:
    (found,) = combine([[result(row(64, 1, invalid="stolen"))], [result(row(64, 5))], [result(row(64, 7))]])
    assert found.rows[0].figures["throughput"].value == 6
    assert found.rows[0].remark == "1 of 3 repetitions is left out: stolen"
    (spoiled,) = combine([[result(row(64, 1, invalid="stolen"))]] * 2)
    assert spoiled.rows[0].invalid == "stolen"


def test_a_row_that_some_did_not_measure_says_so() -> None:
    empty = Row(frame_bytes=64, figures={}, remark="the tester was the limit")
    (found,) = combine([[result(row(64, 4))], [result(empty)]])
    assert found.rows[0].remark == "the tester was the limit; measured in 1 of 2 repetitions"


def test_flags_count_the_repetitions_that_raised_them() -> None:
    flag = Flag(name="step", text="It stepped")
    (found,) = combine([[result(row(64, 1), flags=[flag])], [result(row(64, 1))]])
    assert found.flags[0].text == "It stepped (in 1 of 2 repetitions)"


def test_the_plot_of_repetitions_has_the_unit_of_its_values() -> None:
    def took(seconds: float) -> list[Result]:
        return [result(Row(frame_bytes=64, figures={"interruption": Quantity(value=seconds * 1e9, unit="ns")}))]

    plot = repetitions_plot("loss", "interruption", {"repetition-1": took(4.9), "repetition-2": took(4.3)})
    assert plot is not None
    assert plot.axes["yaxis"]["title"] == {"text": "Longest interruption, s"}
    assert plot.traces[0]["y"] == pytest.approx([4.9, 4.3])
