"""The time of day is set while a run goes on: no duration, no limit of time and no figure depends on it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.command_line import keisoku, start

STEPPED = """
import datetime, itertools, time
steps = itertools.cycle((0, 3600, -86400, 10**9))
real, real_ns = time.time, time.time_ns
time.time = lambda: real() + next(steps)
time.time_ns = lambda: real_ns() + next(steps) * 10**9
class Stepped(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)
datetime.datetime = Stepped
from keisoku.faces.cli.main import main
main()
"""
"""The command, on a host whose time of day is another one at each look."""


@pytest.mark.parametrize("more", [[], ["--within", "20s"]], ids=["as long as it takes", "within a time"])
def test_a_run_during_which_the_clock_is_set_finds_the_same(tmp_path: Path, more: list[str]) -> None:
    command = ["latency", "--dut", "sim:gs908e", "--size", "64,1518", "--duration", "20ms", "--repetitions", "3", *more]
    assert keisoku(*command, "--out", "calm", cwd=tmp_path).code == 0
    (tmp_path / "stepped.py").write_text(STEPPED)
    enter = ["sh", "-c", 'shift 2; exec "$0" "$@"']
    child = start("stepped.py", *command, "--out", "stepped", cwd=tmp_path, prefix=enter)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 0, said
    calm, stepped = ((tmp_path / name / "result.json").read_text() for name in ("calm", "stepped"))
    assert calm == stepped
    lines = (tmp_path / "stepped" / "trials.jsonl").read_text().splitlines()
    years = {re.match(r"\d{4}", json.loads(line)["started_at"])[0] for line in lines}  # type: ignore[index]
    assert len(years) > 1, "the time of day was set, indeed"
