"""Changes in series of runs: found where they are, seldom where there is none; a regression lies beyond the margin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from keisoku.faces.cli.main import keisoku
from keisoku.ground.report.trend import as_json, plots, sentence, table
from keisoku.ground.run.comparison import Key
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.trend import Trend, trends
from keisoku.ground.statistics.difference import Margin
from keisoku.ground.statistics.local_level import LEAST, series_changes
from keisoku.ground.statistics.quantity import Quantity

NONE = {"": Margin()}


def series(seed: int, *levels: float, each: int = 15) -> list[float]:
    chance = np.random.default_rng(seed)
    return [float(level + chance.normal(0, 0.02)) for level in levels for _ in range(each)]


def of(values: Sequence[float | None], margins: dict[str, Margin] = NONE, name: str = "throughput") -> Trend:
    figures = [{} if it is None else {name: Quantity(value=it, unit="frames/s", uncertainty=0.0)} for it in values]
    [found] = trends("throughput", [{Key(64, 0.0, ""): each} for each in figures], (), margins)
    return found


def places(values: list[float]) -> list[int]:
    return [step.place for step in series_changes(values).steps]


def drifting(seed: int, runs: int) -> list[float]:
    """A random walk of 0.5 % a run under noise of 2 %."""
    chance = np.random.default_rng(seed)
    return list(1 + chance.normal(0, 0.02, runs) + np.cumsum(chance.normal(0, 0.005, runs)))


def test_changes_are_found_where_they_are() -> None:
    assert places(series(1, 1.0, 0.9, 1.0)) == [15, 30]
    assert places(series(2, 1.0)) == []
    assert places([1.0] * 5 + [0.9] * 5) == [5]  # of figures without noise, too


def test_few_series_of_mere_noise_have_a_change() -> None:
    found = [series_changes(series(seed, 1.0, each=30)) for seed in range(100)]
    assert sum(bool(each.steps) for each in found) <= 5  # 1 % of them; more than five in 100 would come once in 2000
    assert sum(each.drift is not None for each in found) <= 10  # 4 % of them


@given(st.lists(st.floats(-1e9, 1e9), max_size=24))
@example([1.0] * 12)
@example([5e-324, 0.0] * 4)
def test_changes_leave_enough_runs_on_each_side(values: list[float]) -> None:
    found = series_changes(values)
    cuts = [0, *(step.place for step in found.steps), len(values)]
    assert cuts == sorted(cuts) and len(found.level) == len(values)
    assert all(end - first >= LEAST for first, end in pairwise(cuts) if len(cuts) > 2)
    assert all(step.earliest <= step.place <= step.latest and step.half >= 0 for step in found.steps)
    assert found.drift is None or found.drift.first < found.drift.last


def test_a_step_is_told_from_drift() -> None:
    found = [series_changes(drifting(seed, 40)) for seed in range(30)]
    assert sum(bool(each.steps) for each in found) <= 4  # at 5 % more than four of 30 come once in 60 draws
    assert sum(each.drift is not None for each in found) >= 10  # half of them


def test_a_step_on_top_of_a_drift_is_told_with_its_size() -> None:
    covered = 0
    for seed in range(12):
        drift = [0.004 * run for run in range(60)]
        values = [value + up for value, up in zip(series(seed, 1.0, 0.85, each=30), drift, strict=True)]
        found = series_changes(values)
        [step] = found.steps
        assert step.earliest <= 30 <= step.latest and step.half < 0.06
        assert found.drift is not None and found.drift.half < 0.12
        truth = 0.004 * (found.drift.last - found.drift.first)
        covered += abs(step.size + 0.15) <= step.half and abs(found.drift.size - truth) <= found.drift.half
    assert covered >= 9  # of 12; at 95 % each, and independent, fewer come once in 200 draws


def test_an_outlier_is_no_step() -> None:
    values = series(13, 1.0, each=40)
    values[20] = values[38] = 0.5
    assert places(values) == []


def test_a_drift_is_said_and_is_no_regression() -> None:
    found = of([1 - 0.004 * run + value for run, value in enumerate(series(7, 0.0, each=40))])
    assert found.drift is not None and not found.is_regression
    names = [f"run{number}" for number in range(40)]
    assert table([found], names).rows[0][-2] == "no step beyond a drift"
    assert "a run" in table([found], names).rows[0][-1]
    drift = as_json(found, names)["drift"]
    assert drift["per_run"]["value"] == pytest.approx(-0.004, abs=drift["per_run"]["uncertainty"])
    assert "and 1 drift" in sentence([found], names)


def test_the_newest_change_alone_makes_a_regression() -> None:
    worse, better, both = (of(list(series(3, *levels))) for levels in ((1.0, 0.9), (1.0, 1.1), (1.0, 0.8, 1.0)))
    assert [found.is_regression for found in (worse, better, both)] == [True, False, False]
    assert [step.turn for step in both.steps] == [None, "regression", "better"]
    assert both.steps[1].level.value == pytest.approx(0.8, abs=0.02)


def test_a_change_within_the_margin_is_no_regression() -> None:
    values = list(series(4, 1.0, 0.9))
    assert of(values, {"": Margin(share=0.15)}).steps[-1].turn == "within the margin"
    assert of(values, {"": Margin(share=0.05)}).is_regression
    assert of(values, {"throughput": Margin(share=0.15), "": Margin()}).steps[-1].turn == "within the margin"


def test_runs_without_the_figure_are_left_out_and_keep_their_place() -> None:
    values: list[float | None] = list(series(5, 1.0, 0.9))
    values.insert(15, None)
    found = of(values)
    assert (found.steps[0].end, found.steps[1].first) == (15, 16)
    names = [f"run{number}" for number in range(31)]
    assert table([found], names).rows[0][5].startswith("run16") and "run16" in sentence([found], names)
    step = as_json(found, names)["steps"][1]
    assert step["since"] == "run16" and step["change"]["size"]["value"] == pytest.approx(-0.1, abs=0.02)
    assert len(plots([found])) == 1


def test_the_command_shows_runs_in_the_order_of_their_start(tmp_path: Path) -> None:
    paths = []
    for number, value in enumerate(series(6, 1e6, 9e5, each=6)):
        path = tmp_path / f"run{97 * number % 101}"  # not in the order of the names
        context = {"device": "switch", "started_at": f"2026-01-{number + 1:02d}T00:00:00+00:00"}
        run = RunDirectory.create(path, "device", {"methods": ["throughput"]}, context)
        figure = Quantity(value=value, unit="frames/s", uncertainty=0.0)
        run.finish([Result(measurement="throughput", rows=[Row(frame_bytes=64, figures={"throughput": figure})])])
        paths.append(str(path))
    page = tmp_path / "trend.html"
    told = CliRunner().invoke(keisoku, ["trend", *sorted(paths), "--out", str(page)])
    assert told.exit_code == 1 and f"throughput[64].throughput since {Path(paths[6]).name}" in told.output, told.output
    assert "regression" in page.read_text(encoding="utf-8")
    asked = CliRunner().invoke(keisoku, ["trend", *sorted(paths), "--json", "--margin", "20%"])
    assert asked.exit_code == 0
    assert json.loads(asked.output)["runs"] == [Path(path).name for path in paths]
    unknown = CliRunner().invoke(keisoku, ["trend", *paths, "--figure", "p99"])
    assert unknown.exit_code != 0
