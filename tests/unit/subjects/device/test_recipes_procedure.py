"""docs/recipes.md, "A new procedure": settings, a line in the table and a generator give all that a procedure has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

PROGRAM = Path(__file__).parents[3] / "support" / "tiny_procedure.py"
QUICK = ("--dut", "sim:gs908e", "--size", "64,128", "--duration", "10ms", "--waits", "1ms")


def run(*arguments: str | Path, code: int = 0) -> str:
    """What the command, with one more line in the table of procedures, says on standard output."""
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_it_is_a_command_with_an_option_for_each_setting() -> None:
    shown = " ".join(run("part-load", "--help-all").split())
    assert "The frame loss at one share of the link's maximum. (no standard)" in shown
    assert "--load PERCENT load, as a share of the maximum of the link (default: 50 %)" in shown


def test_the_command_measures_judges_and_resumes(tmp_path: Path) -> None:
    path = tmp_path / "run"
    said = run("part-load", *QUICK, "--load", "30%", "--require", "part_load[128] <= 0 %", "--out", path, "--json")
    (result,) = json.loads(said)["results"]
    assert [row["figures"]["loss"] for row in result["rows"]] == 2 * [{"value": 0.0, "unit": "%", "uncertainty": None}]
    assert tomllib.loads((path / "plan.toml").read_text())["part_load"] == {"trial_s": 0.01, "load_percent": 30.0}
    whole = (path / "result.json").read_bytes()
    lines = (path / "trials.jsonl").read_bytes().splitlines(keepends=True)
    (path / "trials.jsonl").write_bytes(lines[0])
    run("run", "--resume", path)
    assert len((path / "trials.jsonl").read_bytes().splitlines()) == len(lines) == 2
    assert (path / "result.json").read_bytes() == whole
    run("part-load", *QUICK, "--require", "part_load[64] > 1 %", "--out", tmp_path / "missed", code=1)


def test_runs_are_analysed_compared_and_queried(tmp_path: Path) -> None:
    for name in ("one", "other"):
        run("part-load", *QUICK, "--out", tmp_path / name)
    run("analyse", tmp_path / "one")
    page = (tmp_path / "one" / "report.html").read_text(encoding="utf-8")
    assert "Part load" in page
    assert "Loss at part of the load." in page
    assert "part_load" in run("compare", tmp_path / "one", tmp_path / "other", "--json")
    figures = json.loads(run("query", tmp_path / "one", "select frame_bytes, figure from figures", "--format", "json"))
    assert figures == [{"frame_bytes": 64, "figure": "loss"}, {"frame_bytes": 128, "figure": "loss"}]


def test_it_is_measured_from_python(tmp_path: Path) -> None:
    program = (
        "import sys; from support import tiny_procedure; import keisoku as ks\n"
        "found = ks.measure('part_load', dut='sim:gs908e', frame_bytes=64, trial_s=0.01, out=sys.argv[1])\n"
        "print(found.figure('loss', 64).value)"
    )
    folders = [str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    command = [sys.executable, "-c", program, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout == "0.0\n", done.stderr
