"""The steps of the reusable action and of the workflow that uses it, as their files have them, on a real data plane."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / "examples/ci/keisoku.yml").read_text())
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["speed"]["steps"]
GIVEN: dict[str, str] = next(step["with"] for step in STEPS if step.get("uses", "").startswith("OWNER/keisoku@"))


def test_all_actions_of_others_are_pinned_to_a_commit() -> None:
    used = [step["uses"] for step in (*ACTION["runs"]["steps"], *STEPS) if "uses" in step]
    others = [name for name in used if not name.startswith("OWNER/keisoku@")]
    assert len(others) == 2
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name) for name in others)


def test_the_workflow_gives_what_the_action_needs() -> None:
    needed = {name for name, one in ACTION["inputs"].items() if one.get("required")}
    assert needed <= GIVEN.keys() <= ACTION["inputs"].keys()


def run_step(name: str, given: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Carries out a step of the action as the runner does."""
    step = next(each for each in ACTION["runs"]["steps"] if each["name"] == name)
    values = {key: str(one.get("default", "")) for key, one in ACTION["inputs"].items()} | given

    def value(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], text)

    environment = {key: value(text) for key, text in step.get("env", {}).items()}
    temporary = {"RUNNER_TEMP": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    files = {key: str(folder / key) for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(
        command,
        env=os.environ | environment | temporary | files,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Path]:
    """A runner's folder with keisoku where the first step installs it, and both data planes of the workflow."""
    for place, text in {
        "keisoku/bin/keisoku": f'exec "{sys.executable}" -m keisoku "$@"',
        "bin/sudo": 'exec "$@"',
    }.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = str(ROOT / "examples/ci/dataplane.sh")
    source = str(ROOT / "examples/ci/dataplane/forward.c")
    subprocess.run([script, "up"], check=True)
    try:
        subprocess.run([script, "build", source, str(tmp_path / "old.o")], check=True)
        subprocess.run([script, "build", source, str(tmp_path / "new.o"), "-DWORK=200"], check=True)
        subprocess.run([script, "load", str(tmp_path / "old.o")], check=True)
        yield tmp_path
    finally:
        subprocess.run([script, "down"], check=True)


@pytest.mark.lab
@pytest.mark.alone
@pytest.mark.long
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang and libbpf's headers")
def test_a_slower_data_plane_fails_the_step_and_is_said(runner: Path) -> None:
    """The slower one makes 200 steps more a frame, which is several times its whole work."""
    measured = run_step("Measure", GIVEN, runner)
    assert measured.returncode == 1, measured.stderr
    assert (runner / "GITHUB_OUTPUT").read_text() == "verdict=slower\n"
    said = run_step("Say it", GIVEN, runner)
    assert said.returncode == 0, said.stderr
    assert "::error" in said.stdout and "worse" in said.stdout
    assert "higher" in (runner / "GITHUB_STEP_SUMMARY").read_text()


@pytest.mark.lab
@pytest.mark.alone
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang and libbpf's headers")
def test_a_comparison_without_a_result_is_no_verdict(runner: Path) -> None:
    measured = run_step("Measure", GIVEN | {"before-b": "false"}, runner)
    assert measured.returncode == 1 and not (runner / "GITHUB_OUTPUT").exists()
    assert "--before-b: 'false' ended with exit code 1" in measured.stderr
    said = run_step("Say it", GIVEN, runner)
    assert said.returncode == 0 and not said.stdout, "nothing is said of a run that is not finished"
