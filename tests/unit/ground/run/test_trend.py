"""Changes in series of runs: found where they are, seldom where there is none; a regression lies beyond the margin."""

from __future__ import annotations

import json
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
from keisoku.ground.statistics.drift import steps_beside_drift
from keisoku.ground.statistics.e_divisive import LEAST, changes
from keisoku.ground.statistics.quantity import Quantity

NONE = {"": Margin()}


def series(seed: int, *levels: float, each: int = 15) -> list[float]:
    chance = np.random.default_rng(seed)
    return [float(level + chance.normal(0, 0.02)) for level in levels for _ in range(each)]


def of(values: list[float | None], margins: dict[str, Margin] = NONE, name: str = "throughput") -> Trend:
    figures = [{} if it is None else {name: Quantity(value=it, unit="frames/s", uncertainty=0.0)} for it in values]
    [found] = trends("throughput", [{Key(64, 0.0, ""): each} for each in figures], (), margins)
    return found


def test_changes_are_found_where_they_are() -> None:
    assert changes(series(1, 1.0, 0.9, 1.0)) == [15, 30]
    assert changes(series(2, 1.0)) == []


def test_few_series_of_mere_noise_have_a_change() -> None:
    alarms = sum(bool(changes(series(seed, 1.0, each=30))) for seed in range(100))
    assert alarms <= 5  # 1 % of them; more than five in 100 would come once in 2000


@given(st.lists(st.floats(-1e9, 1e9), max_size=24))
@example([1.0] * 12)
@example([5e-324, 0.0] * 4)
def test_changes_leave_enough_runs_on_each_side(values: list[float]) -> None:
    cuts = [0, *changes(values), len(values)]
    assert cuts == sorted(cuts)
    assert all(end - first >= LEAST for first, end in pairwise(cuts) if len(cuts) > 2)


def test_a_step_is_told_from_drift() -> None:
    assert steps_beside_drift(series(1, 1.0, 0.9, 1.0), [15, 30]) == [15, 30]
    alarms = before = 0
    for seed in range(30):
        chance = np.random.default_rng(seed)
        drifting = list(1 + chance.normal(0, 0.02, 40) + np.cumsum(chance.normal(0, 0.005, 40)))
        candidates = changes(drifting)
        before += bool(candidates)
        alarms += bool(steps_beside_drift(drifting, candidates))
    assert before >= 6 and alarms <= 4  # at 5 % more than four of 30 come once in 60 draws; the seeds are fixed


def test_a_drift_is_said_and_is_no_regression() -> None:
    found = of([1 - 0.004 * run + value for run, value in enumerate(series(7, 0.0, each=40))])
    assert found.drifts and not found.is_regression
    names = [f"run{number}" for number in range(40)]
    assert "no step beyond a drift" in table([found], names).rows[0]
    assert as_json(found, names)["drifts"]


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
    assert "run16" in table([found], names).rows[0] and "run16" in sentence([found], names)
    assert as_json(found, names)["steps"][1]["since"] == "run16"
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
