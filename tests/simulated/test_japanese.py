"""`--lang ja` from the command to the page and the terminal, with files for programs in English."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import forked
from support.session import Session

from keisoku.faces.cli.exit_code import MEASURED
from keisoku.faces.cli.summary import MOST_LINES

MEASURED_COMMAND = ("throughput", "--dut", "sim:gs908e", "--size", "64,512", "--duration", "10ms", "--out", "run")


def keisoku(folder: Path, *words: str, **environment: str) -> str:
    """What the command prints."""
    code, _, said, told = forked.run(words, folder, os.environ | environment, 60)
    assert code == MEASURED, told
    return said


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


OTHERS = {
    "clock": "clock phase phase.txt --tau0 1s",
    "system": "system limit --system sim:e4 --objective sum_requests --sweep 3 --repetitions 1 --floor 100M",
}
ENGLISH = re.compile(r"(?:\b[A-Za-z]{2,}\b[,:;]? ){3,}\b[a-z]{2,}\b")
"""Four words of a sentence; names of time sources and settings have fewer."""


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_not_a_device_answers_in_japanese_too(tmp_path: Path, kind: str) -> None:
    phases = "\n".join(f"{1e-9 * (number**2 % 97):.12f}" for number in range(300))
    (tmp_path / "phase.txt").write_text(phases, "utf-8")
    said = keisoku(tmp_path, *OTHERS[kind].split(), "--out", "run", "--lang", "ja")
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    shown = re.sub(r"<(script|style|pre)\b.*?</\1>", "", page, flags=re.DOTALL)
    texts = [html.unescape(text).strip() for text in re.split(r"<[^>]+>", shown)]
    assert [text for text in [*said.splitlines(), *texts] if ENGLISH.search(text)] == []
    assert len([text for text in texts if re.search("[ぁ-ん一-龥]", text)]) > 30


def test_a_comparison_and_the_doctor_answer_in_japanese(tmp_path: Path) -> None:
    for name in ("one", "other"):
        keisoku(tmp_path, *MEASURED_COMMAND[:-1], name)
    said = keisoku(tmp_path, "compare", "one", "--against", "other", "--lang", "ja")
    assert said.startswith("劣化の判定: 以前の実行に対して") and "区別できない" in said
    doctor = [sys.executable, "-m", "keisoku", "doctor", "--lang", "ja"]
    checked = subprocess.run(doctor, capture_output=True, text=True, check=False).stdout
    assert checked.startswith("測定できるもの") and "クロックソース" in checked
