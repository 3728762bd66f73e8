"""Measurements of simulated devices on a pseudo-terminal of 80 columns, with --plain, and in a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.screen import Screen
from support.session import Session

from keisoku.faces.cli.exit_code import FAILED, MEASURED
from keisoku.faces.cli.progress import WIDTH
from keisoku.faces.cli.summary import MOST_LINES

MEASURED_COMMAND = ("throughput", "--dut", "sim:gs908e", "--size", "64,512,1518", "--duration", "10ms", "--out", "run")
ENDLESS = ("throughput", "--dut", "sim:gs908e", "--size", "64,128,256,512", "--duration", "1000s", "--out", "run")


def _is_table(screen: Screen) -> bool:
    return "Procedure   Byte  State" in screen.text and "trying 1.49 Mf/s" in screen.text


def test_a_table_is_there_while_measuring_and_the_end_is_one_screen(tmp_path: Path) -> None:
    with Session(tmp_path, *MEASURED_COMMAND) as session:
        assert session.end() == MEASURED
        assert "Procedure" in session.said and "\x1b[" in session.said
        lines = session.screen.text.splitlines()
        assert lines[0].startswith("Throughput: 64 byte: 1.48")
        assert [line.split()[0] for line in lines if line[:1].isdigit()] == [
            "64",
            "512",
            "1518",
            "3",
        ]  # and 3 deviations
        assert lines[-1] == "report: run/report.html"
        assert len(lines) <= MOST_LINES
        assert session.screen.wrapped == [] and session.screen.shows_cursor


def test_what_must_not_be_missed_stays_and_the_table_goes(tmp_path: Path) -> None:
    calibrate = ("calibrate", "--dut", "sim:cable", "--size", "64,1518", "--duration", "10ms", "--length", "1m")
    with Session(tmp_path, *calibrate, "--out", "run") as session:
        assert session.end() == MEASURED, session.screen.text
        said = " ".join(session.screen.text.split())
        assert f"calibration kept: {tmp_path}" in said.replace("calibration kept:  ", "calibration kept: ")
        assert "Procedure" in session.said and "Procedure" not in said
        assert said.endswith("report: run/report.html")


def test_ctrl_c_leaves_a_cursor_and_says_what_is_kept(tmp_path: Path) -> None:
    with Session(tmp_path, *ENDLESS) as session:
        session.until(_is_table)
        assert not session.screen.shows_cursor
        session.press_ctrl_c()
        assert session.end() == FAILED
        assert session.screen.shows_cursor
        assert session.screen.text.splitlines()[-1].endswith("goes on") or "interrupted" in session.screen.text
        assert "Procedure" not in session.screen.text and "Traceback" not in session.said


def test_an_error_is_folded_between_words(tmp_path: Path) -> None:
    with Session(tmp_path, "throughput", "--dut", "sim:nonsense", width=40) as session:
        assert session.end() == FAILED
        assert session.screen.wrapped == []
        assert session.screen.text.startswith("keisoku: ") and "\n" in session.screen.text


def test_plain_lines_on_a_terminal_have_no_escape_codes(tmp_path: Path) -> None:
    with Session(tmp_path, *MEASURED_COMMAND, "--plain") as session:
        assert session.end() == MEASURED
        assert "\x1b" not in session.said and session.screen.wrapped == []
        assert "throughput 64 byte: trying 1.49 Mf/s" in session.screen.text


@pytest.mark.parametrize("terminal", [{}, {"TERM": "dumb", "COLUMNS": "40"}])
def test_a_pipe_gets_short_lines_without_escape_codes(tmp_path: Path, terminal: dict[str, str]) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "keisoku", *MEASURED_COMMAND],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": ":".join(sys.path)} | terminal,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == MEASURED, child.stderr
    assert "\x1b" not in child.stdout + child.stderr
    for said in (child.stdout, child.stderr):
        assert max(map(len, said.splitlines())) <= WIDTH
    assert "throughput 1518 byte: done" in child.stderr
    assert len(child.stdout.splitlines()) <= MOST_LINES
