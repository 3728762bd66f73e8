"""What a command says of its choices, of time and of what it writes over."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest
from support.command_line import keisoku

from keisoku.errors import to_write
from keisoku.faces.cli.progress import Lines
from keisoku.ground.run.directory import RunDirectory

QUICK = ["--dut", "sim:gs908e", "--size", "64", "--duration", "1ms"]


def test_a_report_of_several_runs_does_not_overwrite_that_of_the_first(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert keisoku("throughput", *QUICK, "--out", f"runs/{name}", cwd=tmp_path).code == 0
    title = re.compile("<h1>.*?</h1>", re.DOTALL)
    before = title.findall((tmp_path / "runs" / "a" / "report.html").read_text())
    done = keisoku("report", "runs/a", "runs/b", cwd=tmp_path)
    assert done.stdout == f"{tmp_path / 'runs' / 'report.html'}\n"
    assert title.findall((tmp_path / "runs" / "a" / "report.html").read_text()) == before
    both = (tmp_path / "runs" / "report.html").read_text()
    assert len(re.findall(r'class="card device-', both)) == 2


def test_convergence_without_an_event_says_so(tmp_path: Path) -> None:
    command = ["convergence", "--dut", "sim:gs908e", "--watch", "10ms", "--stable", "10ms"]
    done = keisoku(*command, cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert "No event was given (--event)" in " ".join(done.stdout.split()), done.stdout


def test_a_note_is_said_once_measuring_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Lines() as display:
        display.note = "no terminal is here"
        assert capsys.readouterr().err == ""
        display.begun(RunDirectory.create(tmp_path / "run", "device", {}, {}))
    assert capsys.readouterr().err == "no terminal is here\n"


def test_the_profile_of_a_pipe_is_no_choice_where_nobody_waits(tmp_path: Path) -> None:
    assert "no terminal" not in keisoku("throughput", *QUICK, "--dry-run", cwd=tmp_path).stdout
    keisoku("throughput", "--tx", "nosuch0", "--rx", "nosuch1", cwd=tmp_path).refused("--tx: there is no port nosuch0")


def test_room_is_the_remedy_of_a_full_disk_alone() -> None:
    assert to_write(OSError(errno.ENOSPC, ""), "choose another --out") == "make room or choose another --out"
    assert to_write(OSError(errno.EACCES, ""), "choose another --out") == "choose another --out"
