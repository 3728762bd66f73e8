"""docs/recipes.md, "A new measurement" and "A new plot": one line in the table gives all that a measurement has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support import tiny_measurement
from support.tiny_measurement import NAME

import keisoku as ks
from keisoku.errors import KeisokuError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.report.svg import svg
from keisoku.running.measurement.table import MODULES


@pytest.fixture(autouse=True)
def the_line_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, NAME, tiny_measurement.__name__)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(keisoku, [str(argument) for argument in arguments])


def test_it_is_a_command_with_an_option_for_each_setting() -> None:
    assert "tick " in run("clock", "--help").output
    shown = run("clock", "tick", "--help").output
    assert "pairs of reads in each series (default: 100)" in shown
    assert "keisoku clock tick --repetitions 10" in shown


def test_the_command_measures_and_judges(tmp_path: Path) -> None:
    options = ("--repetitions", "2", "--reads", "50", "--json")
    met = run("clock", "tick", *options, "--require", "mean <= 1 s", "--out", tmp_path / "met")
    assert met.exit_code == 0
    figures = json.loads(met.stdout)["results"][0]["rows"][0]["figures"]
    assert figures["mean"]["unit"] == "ns"
    assert figures["mean"]["uncertainty"] > 0
    missed = run("clock", "tick", *options, "--require", "mean > 1 s", "--out", tmp_path / "missed")
    assert missed.exit_code == 1


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = 250
    read = tiny_measurement.read

    def interrupted() -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return read()

    monkeypatch.setattr(tiny_measurement, "read", interrupted)
    ended = run("clock", "tick", "--out", tmp_path / "run")
    assert isinstance(ended.exception, KeisokuError)
    assert f"'keisoku run --resume {tmp_path / 'run'}' goes on" in str(ended.exception)
    monkeypatch.setattr(tiny_measurement, "read", read)
    assert run("analyse", tmp_path / "run").exit_code == 0
    assert ks.load(tmp_path / "run").query("select count(*) as n from readings")["n"].to_pylist() == [200]
    assert run("run", "--resume", tmp_path / "run").exit_code == 0
    assert ks.load(tmp_path / "run").query("select count(*) as n from readings")["n"].to_pylist() == [500]


def test_runs_are_measured_again_compared_queried_and_reported(tmp_path: Path) -> None:
    first = ks.measure(NAME, repetitions=2, out=tmp_path / "first")
    assert first.figure("mean").value > 0
    assert run("run", tmp_path / "first" / "plan.toml", "--out", tmp_path / "second").exit_code == 0
    compared = run("compare", tmp_path / "second", "--against", tmp_path / "first", "--margin", "100000%")
    assert compared.exit_code == 0, compared.output
    answer = run("query", tmp_path / "first", "select figure, unit from figures", "--format", "json")
    assert json.loads(answer.stdout) == [{"figure": "mean", "unit": "ns"}]
    assert run("report", tmp_path / "first", tmp_path / "second", "--out", tmp_path / "both.html").exit_code == 0


def test_the_page_shows_the_plot(tmp_path: Path) -> None:
    ks.measure(NAME, repetitions=2, out=tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert 'id="plot-tick"' in page
    assert "How long two reads of the clock are apart." in page


def test_a_notebook_shows_the_plot() -> None:
    picture = svg(tiny_measurement.tick_plot([30, 40, 35]))
    assert picture.count("<circle") == 3
    assert "ns from the first read to the second" in picture
