"""The clock's rate in the figures of a result: corrected, in every budget, kept with the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.subjects.clock.rate import Part, Rate, nominal_rate
from keisoku.subjects.clock.rate_correction import CONTEXT, context, correct_for_rate, with_rate_of

FAST = Rate("CLOCK_MONOTONIC", 100e-6, (Part("clock: rate", standard=1e-3), Part("wander", half_width=3e-3)), "said")
RESULT = Result(
    measurement="path one-packet",
    title="a path",
    rows=[
        Row(
            case="hop 1",
            figures={
                "forward_rate": Quantity(value=1e8, unit="bit/s", uncertainty=2e5),
                "latency": Quantity(value=1e6, unit="ns", interval=Interval(lower=9e5, upper=1.2e6)),
                "probes": Quantity(value=64, unit="probes", uncertainty=0.0),
            },
        ),
    ],
)


def test_every_time_and_bandwidth_is_corrected_and_less_sure_and_counts_are_not() -> None:
    found = correct_for_rate(RESULT, FAST)
    row = found.rows[0]
    rate = row.figures["forward_rate"]
    assert rate.value == pytest.approx(1e8 * (1 + 100e-6))
    by_rate = (1e-6 + 3e-6) ** 0.5 * rate.value
    assert rate.uncertainty == pytest.approx(2 * (1e5**2 + by_rate**2) ** 0.5)
    assert [part.source for part in rate.budget] == ["measurement", "clock: rate", "wander"]
    assert row.figures["latency"].value == pytest.approx(1e6 / (1 + 100e-6), rel=1e-9)
    assert row.figures["probes"] == RESULT.rows[0].figures["probes"]
    assert found.remarks == ["said"]


def test_an_interval_grows_on_both_sides() -> None:
    interval = correct_for_rate(RESULT, FAST).rows[0].figures["latency"].interval
    assert interval is not None
    value = 1e6 / (1 + 100e-6)
    by_rate = 2 * 2e-3 * value
    assert interval.lower == pytest.approx(value - ((value - 9e5 / (1 + 1e-4)) ** 2 + by_rate**2) ** 0.5)
    assert interval.upper == pytest.approx(value + ((1.2e6 / (1 + 1e-4) - value) ** 2 + by_rate**2) ** 0.5)


def test_a_bound_and_a_resolution_stay_what_they_are() -> None:
    figures = {
        "least": Quantity(value=1e8, unit="bit/s", bound="at least"),
        "fine": Quantity(value=1e8, unit="bit/s", uncertainty=2e5, covers="resolution"),
    }
    (row,) = correct_for_rate(Result(measurement="x", rows=[Row(figures=figures)]), FAST).rows
    assert row.figures["least"] == Quantity(value=1e8 * (1 + 100e-6), unit="bit/s", bound="at least")
    assert row.figures["fine"].covers == "resolution" and row.figures["fine"].uncertainty


@pytest.mark.parametrize("rate", [FAST, nominal_rate("TSC")])
def test_a_run_keeps_the_rate_that_it_was_measured_with(rate: Rate, tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path / "run", "path one-packet", {}, context(rate))
    assert with_rate_of(RunDirectory.open(directory.path), RESULT) == correct_for_rate(RESULT, rate)


def test_a_rate_that_is_damaged_is_an_error(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path / "run", "path one-packet", {}, {CONTEXT: {"fast": 1.0}})
    with pytest.raises(ValueError, match="clock"):
        with_rate_of(directory, RESULT)
