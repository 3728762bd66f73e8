"""Runs as a user starts them: run directories, resuming, criteria, exit codes. In child processes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from support.command_line import keisoku, start

QUICK = ["--dut", "sim:gs908e", "--size", "64,512", "--duration", "1s"]


def test_a_run_leaves_everything_behind_that_it_was_made_of(tmp_path: Path) -> None:
    done = keisoku("throughput", *QUICK, "--out", "run", cwd=tmp_path)
    assert done.code == 0, done.stderr
    run = tmp_path / "run"
    names = {path.name for path in run.iterdir()}
    assert {
        "plan.toml",
        "context.json",
        "trials.jsonl",
        "result.json",
        "report.html",
        "throughput.csv",
    } <= names
    context = json.loads((run / "context.json").read_text())
    assert {
        "host",
        "kernel",
        "cpu",
        "governor",
        "clock_source",
        "versions",
        "calibration",
        "seed",
        "device",
    } <= set(context)
    assert "1 487" in done.stdout or "1.487" in done.stdout
    again = keisoku("throughput", *QUICK, "--out", "run", cwd=tmp_path)
    assert again.code == 2
    assert "already holds a run" in again.stderr


def test_json_is_the_only_thing_on_standard_output(tmp_path: Path) -> None:
    done = keisoku("throughput", *QUICK, "--json", "--require", "throughput[64] >= 1 Mpps", cwd=tmp_path)
    answer = json.loads(done.stdout)
    assert answer["results"][0]["rows"][0]["figures"]["throughput"]["unit"] == "frames/s"
    assert answer["criteria"] == [
        {
            "criterion": "throughput[64] >= 1 Mpps",
            "met": True,
            "measured": answer["results"][0]["rows"][0]["figures"]["throughput"],
        }
    ]


@pytest.mark.parametrize(("criterion", "code"), [("throughput >= 0.2 Mpps", 0), ("throughput >= 1 Mpps", 1)])
def test_a_missed_criterion_is_exit_code_1(tmp_path: Path, criterion: str, code: int) -> None:
    assert keisoku("throughput", *QUICK, "--require", criterion, cwd=tmp_path).code == code


def test_a_plan_from_a_file_gives_the_same_result_as_options(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'methods = ["throughput"]\ndut = "sim:gs908e"\nframe_bytes = [64, 512]\n[throughput]\ntrial_s = 1.0\n'
    )
    assert keisoku("run", "plan.toml", "--out", "file", cwd=tmp_path).code == 0
    assert keisoku("throughput", *QUICK, "--out", "options", cwd=tmp_path).code == 0
    results = [(tmp_path / name / "result.json").read_text() for name in ("file", "options")]
    assert results[0] == results[1]


LONG = """
methods = ["throughput", "loss"]
dut = "sim:slow.toml"
frame_bytes = [64]
[throughput]
trial_s = 0.2
[loss]
trial_s = 0.2
"""
SLOW = (
    "[output]\nservice_bits_per_second = 6e8\nbuffer_bytes = 3000\n[jitter]\ndistribution = 'uniform'\nspread_ns = 50\n"
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The long run, not interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "plan.toml").write_text(LONG)
    (folder / "slow.toml").write_text(SLOW)
    assert keisoku("run", "plan.toml", "--out", "whole", cwd=folder).code == 0
    return folder / "whole"


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, *(pytest.param(other, marks=pytest.mark.long) for other in (signal.SIGKILL, signal.SIGTERM))],
)
def test_an_interrupted_run_resumes_and_ends_as_if_nothing_had_happened(
    tmp_path: Path, whole: Path, number: signal.Signals
) -> None:
    (tmp_path / "plan.toml").write_text(LONG)
    (tmp_path / "slow.toml").write_text(SLOW)
    child = start("run", "-v", "plan.toml", "--out", "cut", cwd=tmp_path)
    assert child.stderr is not None
    told = (line for line in child.stderr if ": offered " in line)
    for _ in range(3):  # three trials are finished, the fourth is under way
        next(told)
    os.kill(child.pid, number)
    rest = child.stderr.read()
    code = child.wait()
    if number != signal.SIGKILL:
        assert code == 2
        assert "keisoku: interrupted; what was measured is kept" in rest
        assert "'keisoku run --resume cut' goes on" in rest
    with (tmp_path / "cut" / "trials.jsonl").open("a") as file:
        file.write('{"index": 99, "half a li')  # what a full write buffer may leave

    kept = (tmp_path / "cut" / "trials.jsonl").read_bytes().count(b"\n")
    assert kept >= 3
    done = keisoku("run", "-v", "--resume", "cut", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert (tmp_path / "cut" / "result.json").read_text() == (whole / "result.json").read_text()
    fresh = [line for line in done.stderr.splitlines() if "offered" in line]
    total = (whole / "trials.jsonl").read_bytes().count(b"\n")
    assert len(fresh) == total - kept


def test_a_report_of_several_runs(tmp_path: Path) -> None:
    for name in ("gs908e", "ax3630s"):
        assert (
            keisoku(
                "sweep",
                "--dut",
                f"sim:{name}",
                "--size",
                "64-1518:300",
                "--duration",
                "10ms",
                "--out",
                name,
                cwd=tmp_path,
            ).code
            == 0
        )
    done = keisoku("report", "gs908e", "ax3630s", "--out", "both.html", cwd=tmp_path)
    assert done.code == 0, done.stderr
    html = (tmp_path / "both.html").read_text()
    assert "gs908e" in html and "ax3630s" in html


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["throughput"], "dut"),
        (["throughput", "--dut", "sim:nosuch"], "nosuch"),
        (["throughput", "--dut", "lab:toaster"], "toaster"),
        (["throughput", "--dut", "moon:base"], "dut"),
        (["throughput", "--dut", "sim:gs908e", "--tx", "99"], "port 99"),
        (["throughput", "--dut", "sim:gs908e", "--size", "63"], "--size"),
        (["throughput", "--dut", "sim:gs908e", "--size", "83", "--headers", "ipv6"], "--size"),
        (["throughput", "--dut", "sim:gs908e", "--size", "20000"], "--size"),
        (["throughput", "--dut", "sim:gs908e", "--duration", "0"], "--duration"),
        (["throughput", "--dut", "sim:gs908e", "--duration", "-1s"], "--duration"),
        (["latency", "--dut", "sim:gs908e", "--rate", "0"], "--rate"),
        (["latency", "--dut", "sim:gs908e", "--rate", "-5 kpps"], "--rate"),
        (["latency", "--dut", "sim:gs908e", "--repetitions", "0"], "--repetitions"),
        (["loss", "--dut", "sim:gs908e", "--step", "20"], "--step"),
        (["throughput", "--dut", "sim:gs908e", "--headers", "ipx"], "headers"),
        (["throughput", "--dut", "sim:gs908e", "--require", "speed > 1"], "require"),
        (["throughput", "--dut", "sim:broken.toml"], "broken.toml"),
        (["throughput", "--dut", "sim:missing.toml"], "missing.toml"),
        (["run", "missing.toml"], "plan file"),
        (["run", "broken.toml"], "plan file"),
        (["run", "unknown.toml"], "speed"),
        (["run", "typed.toml"], "throughput.trial_s"),
        (["run"], "run"),
        (["run", "--resume", "nowhere"], "nowhere holds no run"),
        (["report", "nowhere"], "nowhere"),
        (["throughput", "--tx", "xdp:nosuch0", "--rx", "xdp:nosuch1"], "nosuch0"),
        (["throughput", "--tx", "carrier-pigeon:a", "--rx", "xdp:b"], "carrier-pigeon"),
        (
            ["throughput", "--dut", "sim:gs908e", "--size", "64", "--duration", "10ms", "--out", "/proc/nowhere/run"],
            "run directory",
        ),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(tmp_path: Path, arguments: list[str], named: str) -> None:
    (tmp_path / "broken.toml").write_text("this is = = not toml")
    (tmp_path / "unknown.toml").write_text('methods = ["throughput"]\ndut = "sim:gs908e"\nspeed = 3\n')
    (tmp_path / "typed.toml").write_text(
        'methods = ["throughput"]\ndut = "sim:gs908e"\n[throughput]\ntrial_s = "long"\n'
    )
    done = keisoku(*arguments, cwd=tmp_path)
    assert done.code == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert named in done.stderr
    sentences = [line for line in done.stderr.splitlines() if line]
    assert len(sentences) == 1, sentences
    assert done.stdout == ""
