"""The kernel ends a run that takes more memory than its control group has: finished trials are kept, and it goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.command_line import keisoku, start, trials

PLAN = """
methods = ["trial"]
dut = "sim:gs908e"
frame_bytes = [64, 128, 256, 512, 1024, 1280, 1518]
[trial]
trial_s = 0.1
"""
ENDED = """
from keisoku.subjects.device.record.trial_log import TrialLog
kept = TrialLog.append
def append(log, record):
    kept(log, record)
    if record.index == 3:
        room = bytearray(1 << 30)
        room[::4096] = bytes(len(room[::4096]))
TrialLog.append = append
from keisoku.faces.cli.main import main
main()
"""
"""The command, whose fourth trial takes a gibibyte."""
MOST_BYTES = 256 << 20


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with little memory, which a child enters by writing its number into `cgroup.procs`."""
    roots = {2: Path("/sys/fs/cgroup"), 1: Path("/sys/fs/cgroup/memory")}
    version = 2 if (roots[2] / "cgroup.controllers").exists() else 1
    made = roots[version] / f"keisoku-test-{os.getpid()}"
    try:
        if version == 2:
            (roots[2] / "cgroup.subtree_control").write_text("+memory")
        made.mkdir()
        (made / ("memory.max" if version == 2 else "memory.limit_in_bytes")).write_text(str(MOST_BYTES))
        with suppress(OSError):  # of a kernel without swap, or of the first version
            (made / "memory.swap.max").write_text("0")
    except OSError as error:
        pytest.skip(f"this host has no control groups that limit memory, or this is not root: {error}")
    yield made
    made.rmdir()


def test_a_run_that_the_kernel_ends_for_its_memory_keeps_its_trials_and_goes_on(tmp_path: Path, group: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    assert keisoku("run", "plan.toml", "--out", "whole", cwd=tmp_path).code == 0
    (tmp_path / "greedy.py").write_text(ENDED)
    enter = ["sh", "-c", f'echo $$ >{group}/cgroup.procs; shift 2; exec "$0" "$@"']
    child = start("greedy.py", "run", "plan.toml", "--out", "run", cwd=tmp_path, prefix=enter)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    assert [record["index"] for record in trials(tmp_path / "run")] == [0, 1, 2, 3]
    done = keisoku("run", "--resume", "run", cwd=tmp_path)
    assert done.code == 0, done.stderr
    results = [(tmp_path / name / "result.json").read_text() for name in ("run", "whole")]
    assert results[0] == results[1]
