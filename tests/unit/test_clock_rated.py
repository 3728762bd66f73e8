"""The clock's rate in the figures of an observation: corrected, in every budget, kept with the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keisoku.analysis.quantity import Interval, Quantity
from keisoku.cli.observation import new_directory, publish
from keisoku.clock.rate import Part, Rate, stated
from keisoku.clock.rated import CONTEXT, of_context, rated, to_context
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result, Row

FAST = Rate("CLOCK_MONOTONIC", 100e-6, (Part("clock: rate", standard=1e-3), Part("wander", half_width=3e-3)), "said")
OBSERVATION = Result(
    kind="path",
    title="a path",
    rows=(
        Row(
            case="hop 1",
            figures={
                "forward_rate": Quantity(value=1e8, unit="bit/s", uncertainty=2e5),
                "latency": Quantity(value=1e6, unit="ns", uncertainty=None),
                "probes": Quantity(value=64, unit="probes", uncertainty=0.0),
            },
            intervals={"latency": Interval(lower=9e5, upper=1.2e6)},
        ),
    ),
)


def test_every_time_and_bandwidth_is_corrected_and_less_sure_and_counts_are_not() -> None:
    found = rated(OBSERVATION, FAST)
    row = found.rows[0]
    rate = row.figures["forward_rate"]
    assert rate.value == pytest.approx(1e8 * (1 + 100e-6))
    by_rate = (1e-6 + 3e-6) ** 0.5 * rate.value
    assert rate.uncertainty == pytest.approx(2 * (1e5**2 + by_rate**2) ** 0.5)
    assert [part.source for part in rate.budget] == ["measurement", "clock: rate", "wander"]
    assert row.figures["latency"].value == pytest.approx(1e6 / (1 + 100e-6), rel=1e-9)
    assert row.figures["probes"] == OBSERVATION.rows[0].figures["probes"]
    assert found.remarks == ("said",)


def test_every_run_of_a_path_keeps_the_rate_and_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("keisoku.cli.observation.interval_rate", lambda: FAST)
    directory = new_directory(tmp_path / "run", "path-one-packet", {}, {})
    monkeypatch.undo()
    publish(OBSERVATION, RunDirectory.open(directory.path), as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown["remarks"] == ["said"]
    kept = RunDirectory.open(directory.path).observation()
    assert kept == rated(OBSERVATION, FAST)
    assert CONTEXT not in new_directory(tmp_path / "clock", "clock-cost", {}, {}).context


def test_an_interval_grows_on_both_sides() -> None:
    interval = rated(OBSERVATION, FAST).rows[0].intervals["latency"]
    value = 1e6 / (1 + 100e-6)
    by_rate = 2 * 2e-3 * value
    assert interval.lower == pytest.approx(value - ((value - 9e5 / (1 + 1e-4)) ** 2 + by_rate**2) ** 0.5)
    assert interval.upper == pytest.approx(value + ((1.2e6 / (1 + 1e-4) - value) ** 2 + by_rate**2) ** 0.5)


def test_a_run_keeps_the_rate_that_it_was_measured_with() -> None:
    for rate in (FAST, stated("TSC")):
        assert of_context(to_context(rate)) == rate
    with pytest.raises(ValueError, match="clock"):
        of_context({"fast": 1.0})
