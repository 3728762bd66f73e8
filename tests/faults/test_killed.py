"""`kill -9` at random moments, again and again, until the run is whole: what it finds is what it finds undisturbed."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from support.command_line import keisoku, start, trials

PLAN = """
methods = ["throughput", "loss", "latency"]
dut = "sim:slow.toml"
frame_bytes = [64, 512, 1518]
[throughput]
trial_s = 0.2
[loss]
trial_s = 0.2
[latency]
trial_s = 0.2
repetitions = 3
"""
SLOW = (
    "[output]\nservice_bits_per_second = 6e8\nbuffer_bytes = 3000\n[jitter]\ndistribution = 'uniform'\nspread_ns = 50\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the plan, its device, and the run that nobody disturbed."""
    made = tmp_path_factory.mktemp("killed")
    (made / "plan.toml").write_text(PLAN)
    (made / "slow.toml").write_text(SLOW)
    return made


@pytest.fixture(scope="module")
def whole_s(folder: Path) -> float:
    """What the undisturbed run takes."""
    begun = time.monotonic()
    done = keisoku("run", "plan.toml", "--out", "whole", cwd=folder)
    assert done.code == 0, done.stderr
    return time.monotonic() - begun


@pytest.mark.timeout(3600)
def test_kill_9_at_random_moments_changes_no_figure(
    folder: Path, whole_s: float, cases: Callable[[int, int], range]
) -> None:
    expected = (folder / "whole" / "result.json").read_text()
    killed = interrupted = 0
    run = folder / "cut"
    for seed in cases(6, 200):
        command = ["run", "--resume", "cut"] if (run / "plan.toml").exists() else ["run", "plan.toml", "--out", "cut"]
        child = start(*command, cwd=folder)
        try:
            code = child.wait(timeout=Random(seed).uniform(0, whole_s))
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            killed += 1
            interrupted += (run / "trials.jsonl").exists()
            continue
        assert child.stderr is not None
        assert code == 0, child.stderr.read()
        child.communicate()
        assert (run / "result.json").read_text() == expected, f"before seed {seed}"
        shutil.rmtree(run)
    if (run / "plan.toml").exists():
        assert keisoku("run", "--resume", "cut", cwd=folder).code == 0
        assert (run / "result.json").read_text() == expected
        assert len(trials(run)) == len(trials(folder / "whole"))
        shutil.rmtree(run)
    assert killed >= 3 and interrupted >= 1
