"""`kill -9` at random moments, again and again, until the run is whole: what it finds is what it finds undisturbed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from support.command_line import forked_keisoku, keisoku, trials

PLAN = """
methods = ["throughput", "loss", "latency"]
dut = "sim:slow.toml"
frame_bytes = [64, 512, 1518]
[throughput]
trial_s = 0.05
[loss]
trial_s = 0.05
[latency]
trial_s = 0.05
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
    keisoku("--version", cwd=folder)  # the first fork waits for what all others share
    begun = time.monotonic()
    done = keisoku("run", "plan.toml", "--out", "whole", cwd=folder)
    assert done.code == 0, done.stderr
    return time.monotonic() - begun


@pytest.mark.timeout(3600)
def test_kill_9_at_random_moments_changes_no_figure(
    folder: Path, whole_s: float, cases: Callable[[int, int], range]
) -> None:
    expected = (folder / "whole" / "result.json").read_text()
    wanted = len(cases(6, 200))
    run = folder / "cut"
    moments, killed, interrupted, completed = Random(18), 0, 0, 0
    while killed < wanted or run.exists():
        command = ["run", "--resume", "cut"] if (run / "plan.toml").exists() else ["run", "plan.toml", "--out", "cut"]
        with forked_keisoku(*command, cwd=folder) as child:
            code = child.code(moments.uniform(0, whole_s) if killed < wanted else 60.0)
            said = child.said()
        if code is None:
            killed += 1
            interrupted += (run / "trials.jsonl").exists() and (run / "trials.jsonl").stat().st_size > 0
            continue
        assert code == 0, said
        assert (run / "result.json").read_text() == expected, f"after kill {killed}"
        assert len(trials(run)) == len(trials(folder / "whole"))
        shutil.rmtree(run)
        completed += 1
    print(f"{killed} kills, {interrupted} of them with finished trials; {completed} runs were completed")
    assert killed == wanted and interrupted >= 1 and completed >= 1
