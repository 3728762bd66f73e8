"""Repetitions and paired comparisons of simulated devices: what is found, kept, continued, refused."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.command_line import keisoku

import keisoku as ks
from keisoku.errors import EngineError, KeisokuError, PlanError
from keisoku.running.measurement.side_runs import order

DEVICE = """link_bits_per_second = 1e9
[output]
buffer_bytes = 4096
service_bits_per_second = {rate}
"""
QUICK: dict[str, Any] = {"frame_bytes": 64, "trial_s": 0.01, "resolution_percent": 0.5}


def words(text: str) -> list[str]:
    return text.split()


@pytest.fixture
def devices(tmp_path: Path) -> dict[str, str]:
    """A device, and one that is 5 % slower."""
    for name, rate in (("fast", 0.8e9), ("slow", 0.76e9)):
        (tmp_path / f"{name}.toml").write_text(DEVICE.format(rate=rate))
    return {name: f"sim:{tmp_path}/{name}.toml" for name in ("fast", "slow")}


def test_repetitions_are_complete_runs_in_drawn_order(tmp_path: Path) -> None:
    done = keisoku(
        *words("throughput --dut sim:gs908e --size 512,1024,1518 --duration 10ms --repeat 3 --out run --json"),
        *("--require", "throughput[512] > 0.1 Mpps"),
        cwd=tmp_path,
    )
    assert done.code == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert [row["frame_bytes"] for row in result["rows"]] == [512, 1024, 1518]
    assert "median of 3 repetitions" in result["remarks"][-1]
    orders, seeds = set(), set()
    for number in (1, 2, 3):
        plan = tomllib.loads((tmp_path / f"run/repetition-{number:02d}/plan.toml").read_text())
        orders.add(tuple(plan["frame_bytes"]))
        seeds.add(plan["seed"])
        assert "repeat" not in plan and plan["require"] == []
        assert ks.load(tmp_path / f"run/repetition-{number:02d}").trials
    assert len(orders) > 1 and len(seeds) == 3
    for line in ("analyse run", "report run", "compare run --against run", "query run", "compare run run"):
        sql = ["select count(*) from repetitions"] if line.startswith("query") else []
        assert keisoku(*line.split(), *sql, cwd=tmp_path).code == 0


def test_a_repeated_run_goes_on_where_it_was_interrupted(tmp_path: Path, devices: dict[str, str]) -> None:
    class Leaving:
        trials = 0

        def trial_started(self, *what: object) -> None:
            self.trials += 1
            if self.trials == 30:
                raise KeyboardInterrupt

        def trial_progress(self, *what: object) -> None: ...

        def trial_finished(self, *what: object) -> None: ...

    settings = {"dut": devices["fast"], **QUICK, "frame_bytes": (64, 128), "repeat": 4}
    whole = ks.measure("throughput", out=tmp_path / "whole", **settings)
    with pytest.raises(KeisokuError, match="--resume"):
        ks.measure("throughput", out=tmp_path / "run", observer=Leaving(), **settings)
    kept = (tmp_path / "run/repetition-01/trials.jsonl").read_bytes()
    done = ks.resume(tmp_path / "run")
    assert (tmp_path / "run/repetition-01/trials.jsonl").read_bytes() == kept
    assert done.results == whole.results
    assert len((tmp_path / "run/repetitions.jsonl").read_text().splitlines()) == 4


def test_any_entry_can_be_repeated(tmp_path: Path) -> None:
    done = keisoku(
        *words("clock stability --duration 0.4s --every 5ms --clock realtime --reference raw --repeat 2 --out run"),
        cwd=tmp_path,
    )
    assert done.code == 0, done.stderr
    assert keisoku("run", "--resume", "run", cwd=tmp_path).code == 0


def test_a_slowdown_is_worse_and_exits_with_1(tmp_path: Path, devices: dict[str, str]) -> None:
    done = keisoku(
        *words("ab throughput --size 64 --duration 10ms --resolution 0.5% --pairs 20 --out run"),
        *("--a", f"--dut {devices['fast']}", "--b", f"--dut {devices['slow']}"),
        cwd=tmp_path,
    )
    assert done.code == 1, done.stderr
    shown = " ".join(done.stdout.split())
    assert "% lower than A's (95 % interval" in shown and "): worse." in shown
    assert "MISSED worse_by <= 0.0 % (measured: " in shown and "% (exact)" not in shown
    found = ks.load(tmp_path / "run")
    low, high = found.figure("change").bounds or (0, 0)
    absorbed_fps = 4096 / 64 / 0.01  # what the buffer takes in a trial of 10 ms
    fast_fps, slow_fps = (rate / (84 * 8) + absorbed_fps for rate in (0.8e9, 0.76e9))
    assert low <= 100 * (slow_fps / fast_fps - 1) <= high < 0 and not found.met
    plans = [tomllib.loads((tmp_path / f"run/pair-001/{side}/plan.toml").read_text()) for side in "ab"]
    assert plans[0]["seed"] == plans[1]["seed"] and plans[0]["dut"] != plans[1]["dut"]
    assert "pairs-1" in (tmp_path / "run/report.html").read_text()
    again = keisoku("analyse", "run", cwd=tmp_path)
    assert again.code == 1 and "): worse." in " ".join(again.stdout.split())


def test_equal_sides_are_equal_within_the_margin(tmp_path: Path, devices: dict[str, str]) -> None:
    found = ks.ab("throughput", dut=devices["fast"], pairs=14, margin_percent=4, out=tmp_path / "run", **QUICK)
    assert found.met and not found.outcome.failure
    assert found.results[0].sentence.startswith("no difference larger than 4 %: B's throughput")


def test_faster_is_better(tmp_path: Path, devices: dict[str, str]) -> None:
    sides = {"a": {"dut": devices["slow"]}, "b": {"dut": devices["fast"]}}
    found = ks.ab("throughput", pairs=14, out=tmp_path / "run", **sides, **QUICK)
    assert found.met and found.results[0].sentence.endswith(": better.")


def test_too_few_pairs_are_undecided(tmp_path: Path, devices: dict[str, str]) -> None:
    done = keisoku(
        *words("ab throughput --size 64 --duration 10ms --pairs 3 --out run --dut"), devices["fast"], cwd=tmp_path
    )
    assert done.code == 2 and "undecided: 3 pairs are too few" in done.stderr
    # An undecided comparison said "met" of its own criterion, as B was worse by 0 % at least.
    assert "met     worse_by" not in done.stdout and "undecided" in done.stdout


def test_a_comparison_goes_on_where_it_was_interrupted(tmp_path: Path, devices: dict[str, str]) -> None:
    flag = tmp_path / "runs"
    fails = f"echo >> {flag}; test $(wc -l < {flag}) -ne 4"
    sides = {"a": {"dut": devices["fast"]}, "b": {"dut": devices["slow"]}}
    with pytest.raises(EngineError, match=r"before-b.*exit code 1.*--resume"):
        ks.ab("throughput", pairs=14, before_b=fails, out=tmp_path / "run", **sides, **QUICK)
    before = (tmp_path / "run/runs.jsonl").read_text()
    done = ks.resume(tmp_path / "run")
    assert (tmp_path / "run/runs.jsonl").read_text().startswith(before)
    assert done.results[0].sentence.endswith(": worse.")
    finished = (tmp_path / "run/runs.jsonl").read_text()
    assert ks.resume(tmp_path / "run").results == done.results
    assert (tmp_path / "run/runs.jsonl").read_text() == finished


def test_what_single_runs_do_not_resolve_no_number_of_pairs_decides(tmp_path: Path, devices: dict[str, str]) -> None:
    settings = {**QUICK, "resolution_percent": 4, "margin_percent": 1, "pairs": 9}
    found = ks.ab("throughput", dut=devices["fast"], out=tmp_path / "run", **settings)
    assert found.outcome.failure.startswith("undecided: B's throughput")
    assert "Single runs resolve a difference to ± " in found.results[0].remarks[1]


def test_without_a_command_the_one_is_chosen_that_decides_soonest(tmp_path: Path) -> None:
    done = keisoku(*["ab", "--dut", "sim:gs908e", "--size", "64", "--pairs", "2", "--out", "run"], cwd=tmp_path)
    assert "no command is given: throughput is compared" in " ".join((done.stdout + done.stderr).split())
    assert (tmp_path / "run/pair-001/a/result.json").exists()


def test_two_plan_files_are_two_sides(tmp_path: Path, devices: dict[str, str]) -> None:
    for name, dut in devices.items():
        (tmp_path / f"plan-{name}.toml").write_text(
            f'methods = ["throughput"]\ndut = "{dut}"\nframe_bytes = [64]\n[throughput]\ntrial_s = 0.01\n'
        )
    line = "ab run --a plan-fast.toml --b plan-slow.toml --pairs 12 --figure line_share --out run"
    done = keisoku(*line.split(), cwd=tmp_path)
    assert done.code == 1 and "share of the maximum (64-byte frames) is" in done.stdout


def test_a_kept_run_is_side_a(tmp_path: Path, devices: dict[str, str]) -> None:
    ks.measure("throughput", dut=devices["fast"], repeat=3, out=tmp_path / "kept", **QUICK)
    found = ks.ab(
        "throughput", against=tmp_path / "kept", b={"dut": devices["slow"]}, pairs=4, out=tmp_path / "run", **QUICK
    )
    assert not found.met and found.results[0].sentence.endswith(": worse.")
    context = json.loads((tmp_path / "kept/context.json").read_text())
    (tmp_path / "kept/context.json").write_text(json.dumps(context | {"kernel": "1.0"}))
    facts = ks.ab(
        "throughput", against=tmp_path / "kept", b={"dut": devices["fast"]}, pairs=4, out=tmp_path / "2", **QUICK
    )
    assert facts.met and facts.results[0].remarks[0].startswith("kernel was 1.0 in ")
    (tmp_path / "kept/context.json").write_text(json.dumps(context | {"cpu": "another"}))
    with pytest.raises(PlanError, match="on another machine"):
        ks.ab("throughput", against=tmp_path / "kept", b={"dut": devices["fast"]}, out=tmp_path / "3", **QUICK)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["report", "run"], "is no command that measures"),
        (["throughput", "--nonsense", "3"], "No such option"),
        (["throughput", "--a", "--dut 'sim:gs908e"], "close the quotes"),
        (["throughput", "--dut", "sim:gs908e", "--against", "nowhere"], "holds no run"),
        (["run", "--a", "x.toml"], "plan file"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path: Path, given: list[str], said: str) -> None:
    done = keisoku("ab", *given, cwd=tmp_path)
    assert done.code == 2 and said in done.stderr
    assert not (tmp_path / "runs").exists()


def test_of_two_pairs_each_side_is_first_once() -> None:
    firsts = [order(seed, pair)[0] for seed in range(50) for pair in range(1, 41)]
    assert all({one, other} == {"a", "b"} for one, other in zip(firsts[::2], firsts[1::2], strict=True))
    assert 0.4 < firsts[::2].count("a") / 1000 < 0.6


@pytest.mark.parametrize(
    ("b", "more", "said"),
    [
        ("--size 64", ["--figure", "p99"], "no run has any of the figures p99; there are throughput"),
        ("--size 128", [], "no pair has a figure of throughput (64-byte frames) on both sides"),
    ],
)
def test_sides_that_no_pair_can_compare_end_with_the_first(tmp_path: Path, b: str, more: list[str], said: str) -> None:
    """They were measured until the time was over, ten minutes if nothing is given."""
    command = words("ab throughput --dut sim:gs908e --duration 1ms --out run")
    done = keisoku(*command, "--a", "--size 64", "--b", b, *more, cwd=tmp_path, timeout_s=120)
    assert done.code == 2 and said in " ".join(done.stderr.split()), done.stderr
    assert len((tmp_path / "run" / "runs.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("line", "sides", "said"),
    [
        ("throughput --size 64 --duration 10ms", ("--dut sim:gs908e", "--dut sim:gs908x"), "simulated device 'gs908x'"),
        ("throughput --size 64 --duration 10ms", ("--dut sim:gs908e", "--dut sim:gs908e --rx 99"), "no port 99"),
        ("system limit --budget 5", ("--system sim:e4", "--system sim:e4x"), "simulated system 'e4x'"),
    ],
)
@pytest.mark.parametrize("wrong", ["A", "B"])
def test_both_sides_are_checked_before_either_is_measured(
    tmp_path: Path, line: str, sides: tuple[str, str], said: str, wrong: str
) -> None:
    """A mistyped device of the second side was noticed after the first run of the other."""
    a, b = sides if wrong == "B" else sides[::-1]
    keisoku("ab", *words(line), "--pairs", "2", "--a", a, "--b", b, cwd=tmp_path).refused(f"of side {wrong}: ", said)
    assert list(tmp_path.iterdir()) == []


def test_a_command_may_make_what_its_side_measures(tmp_path: Path, devices: dict[str, str]) -> None:
    done = keisoku(
        *words("ab throughput --size 64 --duration 10ms --pairs 2 --out run"),
        *("--a", f"--dut {devices['fast']}", "--b", "--dut sim:new.toml", "--before-b", "cp slow.toml new.toml"),
        cwd=tmp_path,
    )
    assert "undecided: 2 pairs are too few" in done.stderr, done.stderr
