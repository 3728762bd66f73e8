"""`--lang ja` from the command to the page and the terminal, with files for programs in English."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support.session import Session

from keisoku.cli.exit_code import MEASURED
from keisoku.cli.summary import MOST_LINES

MEASURED_COMMAND = ("throughput", "--dut", "sim:gs908e", "--size", "64,512", "--duration", "10ms", "--out", "run")


def keisoku(folder: Path, *words: str, **environment: str) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "keisoku", *words]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == MEASURED, done.stderr
    return done.stdout


def test_a_measurement_answers_in_japanese_and_its_files_are_english(tmp_path: Path) -> None:
    said = keisoku(tmp_path, *MEASURED_COMMAND, "--lang", "ja").splitlines()
    assert said[0].startswith("スループット: 64 byte: 1.48")
    assert said[-1] == "報告書: run/report.html" and len(said) <= MOST_LINES
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert '<html lang="ja">' in page and "フレームサイズ" in page and "1 つも失わずに転送します" in page
    for file in (*(tmp_path / "run").glob("*.json*"), *(tmp_path / "run").glob("*.csv")):
        assert not re.search("[ぁ-ん一-龥]", file.read_text("utf-8")), file.name


def test_a_kept_run_has_its_page_again_in_the_other_language(tmp_path: Path) -> None:
    keisoku(tmp_path, *MEASURED_COMMAND)
    english = (tmp_path / "run" / "report.html").read_text("utf-8")
    kept = (tmp_path / "run" / "result.json").read_text("utf-8")
    keisoku(tmp_path, "report", "run", "--lang", "ja")
    assert '<html lang="ja">' in (tmp_path / "run" / "report.html").read_text("utf-8")
    assert (tmp_path / "run" / "result.json").read_text("utf-8") == kept
    keisoku(tmp_path, "report", "run")
    assert (tmp_path / "run" / "report.html").read_text("utf-8") == english
    assert "報告書:" in keisoku(tmp_path, "analyse", "run", KEISOKU_LANG="ja")


def test_the_live_table_is_japanese(tmp_path: Path) -> None:
    with Session(tmp_path, *MEASURED_COMMAND, "--lang", "ja") as session:
        assert session.end() == MEASURED
        assert "状態" in session.said and "State" not in session.said
        assert "報告書: run/report.html" in session.screen.text.replace(" ", "").replace("報告書:", "報告書: ")
