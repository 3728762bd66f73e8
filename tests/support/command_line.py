"""The real command in child processes, and what it may leave on the host and in a run directory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from keisoku.ground.host.namespace import FOLDER
from keisoku.ground.host.undo import leftovers
from support import forked

KEISOKU = [sys.executable, "-m", "keisoku"]
NO_CAPABILITIES = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
"""Root's user id without root's privileges: it can still read the interpreter, wherever that is."""
Child = subprocess.Popen[str]
ATTEMPTS = 10
QUICK = ["--duration", "0.2s", "--waits", "0.02s"]


def start(*arguments: str, cwd: Path, prefix: Sequence[str] = (), stdout: int | IO[str] = subprocess.PIPE) -> Child:
    """`keisoku ARGUMENTS` in `cwd`, where its calibrations are kept too; `prefix` is a command that executes it."""
    return subprocess.Popen(
        [*prefix, *KEISOKU, *arguments],
        cwd=cwd,
        env=_environment(cwd),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def _environment(cwd: Path) -> dict[str, str]:
    return os.environ | {"XDG_STATE_HOME": str(cwd)}


class Ended:
    """What a child left: exit code, both outputs, its process id."""

    def __init__(self, code: int, pid: int, stdout: str, stderr: str) -> None:
        self.code, self.pid, self.stdout, self.stderr = code, pid, stdout, stderr

    def measured_or_said_why_not(self) -> None:
        """Asserts exit code 0; or 2 and a sentence that nothing could be measured, as on a busy machine."""
        last = (self.stderr.splitlines() or [""])[-1]
        busy = self.code == 2 and "nothing was measured: " in last
        assert self.code == 0 or busy, self.stdout + self.stderr

    def refused(self, *named: str) -> None:
        """Asserts exit code 2 and one sentence that names all of `named`, nothing else and nothing left."""
        assert self.code == 2, self.stdout + self.stderr
        assert self.stdout == ""
        assert len(self.stderr.splitlines()) == 1, self.stderr
        assert self.stderr.startswith("keisoku: ")
        for word in named:
            assert word in self.stderr
        assert namespaces_of(self.pid) == []


def outcome_of(child: Child, timeout_s: float = 60.0) -> Ended:
    """Waits for what `start` has begun."""
    stdout, stderr = child.communicate(timeout=timeout_s)
    return Ended(child.returncode, child.pid, stdout, stderr)


def keisoku(*arguments: str, cwd: Path, timeout_s: float = 60.0) -> Ended:
    """Runs the command to its end."""
    return Ended(*forked.run(arguments, cwd, _environment(cwd), timeout_s))


def forked_keisoku(*arguments: str, cwd: Path) -> AbstractContextManager[forked.Fork]:
    """Lets the command run, as `start` does, without a start of the interpreter."""
    return forked.started(arguments, cwd, _environment(cwd))


def measured(*arguments: str, cwd: Path) -> Ended:
    """Runs a command with --out to its end; anew while the host left a row of its result without figures."""
    run = cwd / arguments[arguments.index("--out") + 1]
    for _ in range(ATTEMPTS):
        done = keisoku(*arguments, cwd=cwd)
        if not (run / "result.json").exists() or not _lacks_figures(run):
            return done
        shutil.rmtree(run)
    raise AssertionError(f"the host disturbed {ATTEMPTS} runs: {done.stderr}")


def _lacks_figures(run: Path) -> bool:
    rows = [row for result in json.loads((run / "result.json").read_text()) for row in result["rows"]]
    return not rows or any(not row["figures"] for row in rows)


def namespaces_of(process: int) -> list[str]:
    """The lab namespaces that a process made and that still exist."""
    return sorted(path.name for path in FOLDER.glob(f"keisoku-{process}-*"))


def device_of(process: int) -> str:
    """The namespace of the device in the only lab that a process made."""
    (device,) = (name for name in namespaces_of(process) if name.endswith("dut"))
    return device


def journal_of(process: int, *actions: str) -> list[Path]:
    """The entries by which a process said how to undo what it made, of some actions or of all."""
    entries = [entry for entry in leftovers(force=True) if entry.name.startswith(f"{process}-")]
    return [entry for entry in entries if not actions or json.loads(entry.read_text())["action"] in actions]


def trials(run: Path) -> list[dict[str, Any]]:
    """The records of a run; every line must be whole."""
    text = (run / "trials.jsonl").read_text()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def assert_adds_up(run: Path) -> None:
    """Intended, offered, forwarded, lost and received agree exactly in every trial of a run."""
    records = trials(run)
    assert records
    for record in records:
        intention, facts = record["trial"], record["facts"]
        (stream,) = facts["streams"]
        tracked, offered = stream["tracked"], stream["offered_frames"]
        intended = max(1, round(intention["frames_per_second"] * intention["duration_ns"] / 1e9))
        assert offered <= intended
        assert offered == tracked["forwarded_frames"] + tracked["lost_frames"] + tracked["corrupt"]["count"]
        # `received` counts every arrival, those of foreign frames and of copies too.
        assert tracked["received_frames"] == (
            tracked["forwarded_frames"]
            + tracked["duplicated"]["count"]
            + tracked["corrupt_arrivals"]
            + tracked["foreign_frames"]
        )
        assert sum(gap["count"] for gap in tracked["lost"]) == tracked["lost_frames"]
        assert sum(interval["forwarded_frames"] for interval in tracked["series"]) == tracked["forwarded_frames"]
        if record["invalid_because"] == []:
            assert offered >= 0.995 * intended
