"""Commands and Python treat a run of a device and a run of this host's clocks alike."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from support.command_line import keisoku, start

import keisoku as ks

DEVICE = ["throughput", "--size", "64", "--duration", "50ms"]
CLOCK = ["clock", "cost", "--reads", "500", "--rounds", "50", "--stall-scan", "5ms"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs of each."""
    folder = tmp_path_factory.mktemp("runs")
    for name, arguments in {
        "gs908e": [*DEVICE, "--dut", "sim:gs908e"],
        "catalyst": [*DEVICE, "--dut", "sim:catalyst2960g"],
        "cost": CLOCK,
        "cost-again": CLOCK,
    }.items():
        done = keisoku(*arguments, "--out", name, cwd=folder)
        assert done.code == 0, done.stderr
    return folder


def test_one_page_holds_runs_of_different_kinds(runs: Path) -> None:
    done = keisoku("report", "gs908e", "cost", "catalyst", "cost-again", "--out", "all.html", cwd=runs)
    assert done.code == 0, done.stderr
    html = (runs / "all.html").read_text(encoding="utf-8")
    cards = re.findall(r'class="card device-(\d)">\s*<h3>(.*?)</h3>', html)
    # Colours begin again with each measurement, as those of its plots do.
    assert [colour for colour, _ in cards] == ["0", "1", "0", "1"]
    one, other = (name for _, name in cards[2:])
    assert one != other and all(name.startswith("Cost of time sources · 20") for name in (one, other)), "when it began"
    anchors = re.findall(r'<section id="([^"]*)">', html)
    assert len(anchors) == len(set(anchors))
    assert {"throughput", "over-time", "accounts", "calibration", "deviations", "context", "reproduce"} <= set(anchors)
    assert set(re.findall(r'href="#([^"]*)"', html)) <= set(anchors)
    plots = re.findall(r'id="plot-([^"]*)"', html)
    assert len(plots) == len(set(plots)) >= 3
    for plan in ("measurement = &#34;device&#34;", "measurement = &#34;clock cost&#34;"):
        assert html.count(plan) == 2


@pytest.mark.parametrize(
    ("pair", "figure"),
    [(("gs908e", "catalyst"), "throughput"), (("cost", "cost-again"), "p50")],
    ids=lambda each: each[0],
)
def test_runs_of_one_measurement_are_compared(runs: Path, pair: tuple[str, str], figure: str) -> None:
    done = keisoku("compare", *pair, "--json", "--out", "compared.html", cwd=runs)
    assert done.code == 0, done.stderr
    answer = json.loads(done.stdout)
    (compared,) = answer["measurements"]
    values = [each["values"] for each in compared["figures"] if each["figure"] == figure]
    assert values and all(list(each) == answer["runs"] for each in values)
    # On a busy host the cost of a clock may not be told from zero, and there is no ratio to that.
    assert any("ratio" in pair for each in compared["figures"] for pair in each["verdicts"] if each["figure"] == figure)
    assert "Comparison" in (runs / "compared.html").read_text(encoding="utf-8")
    shown = keisoku("compare", *pair, cwd=runs)
    assert shown.code == 0 and "no significant difference" in shown.stdout
    same = keisoku("compare", pair[0], "--against", pair[0], "--margin", "5%", cwd=runs)
    assert same.code == 0 and "figures: cannot be told apart" in same.stdout


def test_runs_of_different_measurements_are_not_compared(runs: Path) -> None:
    for arguments in (["gs908e", "cost"], ["gs908e", "--against", "cost"]):
        keisoku("compare", *arguments, cwd=runs).refused("measured throughput", "clock cost", "same measurement")


@pytest.mark.parametrize(("run", "measurement"), [("gs908e", "throughput"), ("cost", "clock cost")])
def test_figures_are_asked_in_sql(runs: Path, run: str, measurement: str) -> None:
    question = "select measurement, count(*) as figures from figures group by measurement"
    done = keisoku("query", run, question, "--format", "json", cwd=runs)
    (row,) = json.loads(done.stdout)
    found = json.loads((runs / run / "result.json").read_text())
    assert row == {
        "measurement": measurement,
        "figures": sum(len(each["figures"]) for result in found for each in result["rows"]),
    }
    keisoku("query", run, "select nothing from figures", cwd=runs).refused("query", "this run has the tables figures")


@pytest.mark.parametrize(
    ("arguments", "criterion", "code"),
    [
        ([*DEVICE, "--dut", "sim:gs908e"], "throughput[64] >= 1 Mpps", 0),
        ([*DEVICE, "--dut", "sim:gs908e"], "throughput[64] >= 2 Mpps", 1),
        (CLOCK, "clock cost[rdtsc] < 1 s", 0),
        (CLOCK, "p50[rdtsc] < 0.001 ns", 1),
    ],
)
def test_criteria_decide_the_exit_code(tmp_path: Path, arguments: list[str], criterion: str, code: int) -> None:
    done = keisoku(*arguments, "--require", criterion, "--out", "run", cwd=tmp_path)
    assert done.code == code, done.stderr
    assert f"{'MISSED' if code else 'met   '}  {criterion}   (measured: " in done.stdout
    assert "missed" in (tmp_path / "run" / "report.html").read_text() if code else True
    assert keisoku("analyse", "run", cwd=tmp_path).code == code


@pytest.mark.parametrize("arguments", [[*DEVICE, "--dut", "sim:gs908e"], CLOCK], ids=["device", "clock"])
def test_a_plan_that_a_run_kept_measures_the_same_again(tmp_path: Path, arguments: list[str]) -> None:
    assert keisoku(*arguments, "--out", "first", cwd=tmp_path).code == 0
    assert keisoku("run", "first/plan.toml", "--out", "again", cwd=tmp_path).code == 0
    assert (tmp_path / "first" / "plan.toml").read_text() == (tmp_path / "again" / "plan.toml").read_text()


def test_what_cannot_be_continued_says_so_and_what_is_whole_ends_at_once(runs: Path) -> None:
    keisoku("run", "--resume", "cost", cwd=runs).refused("clock cost cannot be continued", "keisoku analyse cost")
    before = (runs / "gs908e" / "result.json").read_text()
    done = keisoku("run", "-v", "--resume", "gs908e", cwd=runs)
    assert done.code == 0 and ": offered " not in done.stderr
    assert (runs / "gs908e" / "result.json").read_text() == before


def test_what_an_interrupted_run_holds_is_analysed_before_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'methods = ["throughput", "loss"]\ndut = "sim:gs908e"\nframe_bytes = [64, 128, 256, 512]\n'
        "[throughput]\ntrial_s = 0.5\n[loss]\ntrial_s = 20.0\n"
    )
    child = start("run", "plan.toml", "-v", "--out", "cut", cwd=tmp_path)
    assert child.stderr is not None
    for line in child.stderr:
        if ": offered " in line and " loss:" in line:
            break
    os.kill(child.pid, signal.SIGINT)
    told = child.communicate(timeout=60)[1].splitlines()[-1]
    assert child.returncode == 2
    assert told == (
        "keisoku: interrupted; what was measured is kept, 'keisoku analyse cut' shows what it says;"
        " 'keisoku run --resume cut' goes on"
    )
    analysed = keisoku("analyse", "cut", "--json", cwd=tmp_path)
    assert analysed.code == 0, analysed.stderr
    throughput, loss = json.loads(analysed.stdout)["results"]
    assert (throughput["measurement"], loss["measurement"]) == ("throughput", "loss")
    assert "loss" in loss["rows"][0]["figures"] and not loss["rows"][-1]["figures"]
    (said,) = loss["remarks"]
    assert said.startswith("the run was ended before: ") and said.endswith(" of 4 sizes were measured")
    done = keisoku("run", "--resume", "cut", "--json", cwd=tmp_path)
    assert [result["measurement"] for result in json.loads(done.stdout)["results"]] == ["throughput", "loss"]


def test_python_measures_loads_and_shows_both(tmp_path: Path) -> None:
    device = ks.measure("throughput", dut="sim:gs908e", frame_bytes=64, trial_s=0.05, out=tmp_path / "device")
    clock = ks.measure("clock cost", reads=500, rounds=50, stall_scan_s=0.005, out=tmp_path / "clock")
    assert device.figure("throughput", 64).unit == "frames/s" and device.trials
    assert clock.figure("p50", case="rdtsc").unit == "ns" and clock.trials == []
    for found in (device, clock):
        assert ks.load(found.directory).results == found.results
        assert found.arrow().num_rows == sum(len(row.figures) for row in found.result().rows)
        assert found.query("select count(*) as n from figures")["n"].to_pylist() == [found.arrow().num_rows]
        assert "<svg" in found._repr_html_() and "<table" in found._repr_html_()
        assert "<h1>" in found.report(tmp_path / "page.html").read_text()
    assert repr(clock) == f"<clock cost of Cost of time sources in {tmp_path / 'clock'}>"
    with pytest.raises(ks.PlanError, match="frames"):
        clock.arrow("frames")
    with pytest.raises(ks.KeisokuError, match="cannot be continued"):
        ks.resume(clock.directory)
    for wrong in ("clock costs", "clock"):
        with pytest.raises(ks.PlanError, match="measurement: there is no"):
            ks.measure(wrong)
    with pytest.raises(ks.PlanError, match="raeds: there is no such setting"):
        ks.measure("clock cost", raeds=5)
