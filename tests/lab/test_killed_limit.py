"""A search for a limit that is killed with SIGKILL: the network is as it was within five seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.command_line import Child, journal_of, keisoku, namespaces_of, start

from keisoku.ground.host.namespace import FOLDER, Namespace
from keisoku.ground.host.process import lives
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.system.interval_log import kept_intervals

pytestmark = [pytest.mark.lab, pytest.mark.alone]
PATIENCE_S = 60
RESTORED_S = 5
SYSTEM = "lab:system?rates=none,20M&file=10k&load=2,2"
SEARCH = ["--client", "client1", "--objective", "sum_bytes", "--floor", "5M", "--interval", "0.2s", "--settle", "0.1s"]


def limited(child: Child) -> str:
    """What the search has put on the switch's port; empty if there is nothing, or no port."""
    switch = Namespace(f"keisoku-{child.pid}-switch")
    if not switch.path.exists():
        return ""
    shown = subprocess.run(
        ["ip", "netns", "exec", switch.name, "tc", "qdisc", "show", "dev", "c1"], capture_output=True, text=True
    )
    return shown.stdout if "htb" in shown.stdout else ""


def search(tmp_path: Path) -> Child:
    """A search that has just set a limit."""
    child = start("system", "limit", "--system", SYSTEM, *SEARCH, "--out", "run", cwd=tmp_path)
    until_s = time.monotonic() + PATIENCE_S
    while not limited(child):
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < until_s, "no limit was ever set"
        time.sleep(0.05)
    return child


def lifted_after_s(child: Child) -> float:
    """How long the limit stayed; PATIENCE_S if it did. Between two evaluations without a limit it may be gone too."""
    began_s = time.monotonic()
    while limited(child) or journal_of(child.pid, "limit"):
        if time.monotonic() > began_s + PATIENCE_S:
            break
        time.sleep(0.05)
    return time.monotonic() - began_s


def test_a_killed_search_leaves_no_limit(tmp_path: Path) -> None:
    child = search(tmp_path)
    assert len(journal_of(child.pid, "limit")) == 2, "one for each port"
    child.kill()
    try:
        assert lifted_after_s(child) < RESTORED_S
    finally:
        child.communicate()
        cleaned = keisoku("clean", cwd=tmp_path)
    # What the dead run had built goes as that of any other.
    assert f"removed keisoku-{child.pid}-switch" in cleaned.stdout
    assert not [path for path in FOLDER.iterdir() if f"-{child.pid}-" in path.name]


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    for name in ("killed", "next"):
        (tmp_path / name).mkdir()
    child = search(tmp_path / "killed")
    entries = [json.loads(entry.read_text()) for entry in journal_of(child.pid, "process")]
    daemons = [(told["number"], told["born"]) for told in entries]
    assert daemons and namespaces_of(child.pid)
    child.kill()
    child.communicate()
    following = search(tmp_path / "next")
    try:
        assert namespaces_of(child.pid) == [] == journal_of(child.pid)
        assert not any(lives(*daemon) for daemon in daemons)
    finally:
        following.terminate()
        following.communicate()


def test_a_search_that_hangs_leaves_no_limit(tmp_path: Path) -> None:
    child = search(tmp_path)
    os.kill(child.pid, signal.SIGSTOP)
    try:
        # Once the guard's patience is over, and not before: it hears the run every second.
        assert lifted_after_s(child) < PATIENCE_S
    finally:
        child.kill()
        child.communicate()
        keisoku("clean", cwd=tmp_path)


@pytest.mark.long
def test_a_run_that_stood_still_does_not_claim_the_limit_that_its_guard_lifted(tmp_path: Path) -> None:
    child = search(tmp_path)
    os.kill(child.pid, signal.SIGSTOP)
    until_s = time.monotonic() + PATIENCE_S
    while limited(child):
        assert time.monotonic() < until_s
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGCONT)
    child.communicate(timeout=PATIENCE_S)
    intervals = kept_intervals(RunDirectory.open(tmp_path / "run"))
    lost = [kept for kept in intervals if not kept.as_asked(["client1"])]
    assert lost and not any(kept.used for kept in lost)
    assert all(kept.observation.clients[0].limited_to(kept.commanded_bps) for kept in intervals if kept.used)
    (told,) = json.loads((tmp_path / "run" / "result.json").read_text())
    assert "limit-not-kept" in [flag["name"] for flag in told["flags"]]
    assert told["flags"][0]["name"] in ("limit", "no-limit"), "it went on to its end"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_search_that_is_told_to_end_leaves_nothing(tmp_path: Path, number: int) -> None:
    child = search(tmp_path)
    os.kill(child.pid, number)
    _, said = child.communicate(timeout=PATIENCE_S)
    assert "interrupted" in said
    assert not journal_of(child.pid) and not [path for path in FOLDER.iterdir() if f"-{child.pid}-" in path.name]
