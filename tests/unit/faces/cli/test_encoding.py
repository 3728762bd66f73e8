"""A terminal that is not UTF-8 shows every text, and changes no exit code."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import KEISOKU

from keisoku.faces.cli import encoding

KEISOKU_FOLDER = Path(encoding.__file__).parents[2]
ONLY_IN_PAGES = "\u0304∂⌈⌉ᐟ"
"""Of formulas, and of no text of a terminal."""
QUICK = ["throughput", "--dut", "sim:gs908e", "--size", "64", "--duration", "1ms"]


def done(folder: Path, *words: str | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command, whose outputs are bytes."""
    return subprocess.run([*KEISOKU, *words], cwd=folder, env=os.environ | environment, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    ("environment", "encoded", "more"),
    [
        ({"PYTHONIOENCODING": "ascii"}, "ascii", []),
        ({"PYTHONIOENCODING": "ascii"}, "ascii", ["-v"]),
        ({"PYTHONIOENCODING": "latin-1"}, "latin-1", []),
        ({"PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "LC_ALL": "C"}, "ascii", []),
    ],
    ids=["ascii", "ascii-v", "latin-1", "C"],
)
def test_a_complete_run_ends_with_its_own_exit_code(
    tmp_path: Path, environment: dict[str, str], encoded: str, more: list[str]
) -> None:
    """It was a traceback and exit code 1, which means a criterion that is missed."""
    ended = done(tmp_path, *QUICK, *more, "--require", "throughput >= 1 Mpps", **environment)
    said = ended.stdout.decode(encoded)
    assert ended.returncode == 0 and b"Traceback" not in ended.stderr, ended.stderr
    assert "1.4878 ... 1.4881" in said and "met     throughput >= 1 Mpps" in said, said


def test_every_letter_of_every_text_has_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = {
        letter
        for path in KEISOKU_FOLDER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for letter in node.value
        if not letter.isascii() and letter < "\u2e80" and letter not in ONLY_IN_PAGES
    }
    assert {"…", "±", "µ", "−", "σ"} <= letters
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", written)
    encoding.write_all()
    for letter in sorted(letters):
        before = written.buffer.tell()
        written.write(letter)
        written.flush()
        assert isinstance(written.buffer, io.BytesIO)
        assert b"\\" not in written.buffer.getvalue()[before:], f"{letter} is written as a number"


def test_a_name_that_is_in_no_encoding_is_written(tmp_path: Path) -> None:
    ended = done(tmp_path, "runs", "show", b"\xff\xfe")
    assert ended.returncode == 2 and b"Traceback" not in ended.stderr, ended.stderr


def test_japanese_is_refused_where_it_could_not_be_read(tmp_path: Path) -> None:
    ended = done(tmp_path, *QUICK, "--lang", "ja", PYTHONIOENCODING="latin-1")
    assert ended.returncode == 2 and not ended.stdout
    assert ended.stderr.decode() == (
        "keisoku: --lang: this terminal has no letters of 'ja', because its encoding is not UTF-8;"
        " set LANG=C.UTF-8, or leave --lang and KEISOKU_LANG out\n"
    )


def test_a_form_for_programs_is_utf_8_everywhere(tmp_path: Path) -> None:
    assert done(tmp_path, *QUICK, "--out", "run").returncode == 0
    ended = done(tmp_path, "export", "run", "--format", "junit", PYTHONIOENCODING="latin-1")
    assert "1.4878 … 1.4881" in ended.stdout.decode("utf-8")
