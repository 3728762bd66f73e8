"""A signal that comes while a command ends, for whatever reason, prints no traceback."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from keisoku.subjects.stream.file.chunks import CHUNK_BYTES, read_chunks

SIGNAL = """
import os, signal, sys, threading, time
from keisoku.faces.cli import interruption, main
from keisoku.errors import KeisokuError

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)
"""


def ended(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", SIGNAL + code], capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "KeisokuError('the far end is gone')"])
def test_a_second_ctrl_c_while_the_first_is_reported_prints_no_traceback(error: str) -> None:
    child = ended(f"""
def command(prog_name, standalone_mode, obj):
    raise {error}

def echo(text, err, real=main.click.echo):
    if not interruption._received:
        interrupt()
    interrupt()
    real(text, err=err)

main.keisoku, main.click.echo = command, echo
main.main()
""")
    assert (child.returncode, child.stderr) in ((2, ""), (2, "keisoku: interrupted\n"))


def test_a_ctrl_c_in_a_finalizer_is_remembered_and_prints_no_traceback() -> None:
    child = ended("""
interruption.install()

def chunks():
    try:
        yield 1
    finally:
        interrupt()

opened = chunks()
next(opened)
del opened
try:
    interruption.check()
except KeyboardInterrupt:
    print("remembered")
""")
    assert (child.stdout, child.stderr) == ("remembered\n", "")


def test_a_ctrl_c_while_the_interpreter_waits_for_a_thread_prints_no_traceback() -> None:
    child = ended("""
interruption.install()

def last():
    time.sleep(0.5)  # until the interpreter waits for this thread
    interrupt()

threading.Thread(target=last).start()
""")
    assert child.stderr == ""


def test_what_else_a_finalizer_raises_is_still_shown() -> None:
    child = ended("""
interruption.install()

class Wrong:
    def __del__(self):
        raise ValueError("this")

Wrong()
""")
    assert "ValueError: this" in child.stderr


def test_a_held_back_file_that_nobody_wants_any_more_was_read_on(tmp_path: Path) -> None:
    """Three chunks more at the rate to which it was held, half a minute at 1 Mb/s, before the command ended."""
    path = tmp_path / "source"
    path.write_bytes(bytes(8 * CHUNK_BYTES))
    chunks = read_chunks(path, direct=False, bps=8 * CHUNK_BYTES)
    assert len(next(chunks)) == CHUNK_BYTES
    begun_s = time.monotonic()
    chunks.close()  # type: ignore[attr-defined]  # it is a generator
    assert time.monotonic() - begun_s < 0.5
