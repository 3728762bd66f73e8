"""A disk that the kernel makes slow, for real: it is slow, and as it was afterwards, whatever ends the process."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keisoku.ground.host import undo
from keisoku.ground.host.control_group import find_hierarchy
from keisoku.ground.host.disk_limit import DiskLimit
from keisoku.ground.observer import Observer
from keisoku.running.study.file import TransferStep
from keisoku.running.study.transfer_step import measure_transfer
from keisoku.subjects.stream.file.chunks import CHUNK_BYTES, forget, read_chunks

BYTES, BPS = 8 * CHUNK_BYTES, 80e6
_CHILD = """
import sys, time
from pathlib import Path
from keisoku.ground.host.disk_limit import DiskLimit
with DiskLimit(Path(sys.argv[1]), read_bps=1e6):
    print("slow", flush=True)
    time.sleep(60)
"""


def groups() -> set[str]:
    hierarchy = find_hierarchy(*(Path(f"/proc/self/{name}").read_text() for name in ("mountinfo", "cgroup")))
    if hierarchy is None or os.geteuid() != 0:
        pytest.skip("this host has no control groups that limit a disk, or this is not root")
    return {path.name for path in hierarchy.root.iterdir() if path.name.startswith("keisoku-disk-")}


def place() -> str:
    return Path("/proc/self/cgroup").read_text()


def write(path: Path) -> float:
    """Seconds to have the bytes on the disk."""
    begun = time.monotonic()
    # Past the cache whole pages are written, from memory that begins at one.
    with mmap.mmap(-1, CHUNK_BYTES) as room:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        for _ in range(BYTES // CHUNK_BYTES):
            assert os.write(handle, room) == CHUNK_BYTES
        os.fdatasync(handle)
        os.close(handle)
    return time.monotonic() - begun


def test_reading_and_writing_take_the_time_that_the_limit_needs_and_nothing_is_left(tmp_path: Path) -> None:
    before = groups(), place()
    path = tmp_path / "file"
    with DiskLimit(tmp_path, write_bps=BPS):
        assert len(groups() - before[0]) == 1 and place() != before[1]
        assert write(path) >= 0.9 * 8 * BYTES / BPS
    forget(path)
    with DiskLimit(tmp_path, read_bps=BPS):
        begun = time.monotonic()
        assert sum(len(chunk) for chunk in read_chunks(path, direct=True, bps=None)) == BYTES
        assert time.monotonic() - begun >= 0.9 * 8 * BYTES / BPS
    assert (groups(), place()) == before


def test_the_journal_lifts_the_limit_of_a_killed_process(tmp_path: Path) -> None:
    before = groups()
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "slow\n"
    assert len(groups() - before) == 1
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert "lifted the limit of a disk" in undo.undo_left()
    assert groups() == before


@pytest.mark.lab
def test_the_far_end_of_a_transfer_was_begun_before_its_disk_was_slow(tmp_path: Path) -> None:
    """The study E5 named the source disk where the far one had the limit."""
    before = groups(), place()
    result = measure_transfer(TransferStep(name="sink", bytes=BYTES, sink_bps=BPS), tmp_path / "run", Observer())
    rows = {str(row.case): row.figures for row in result.rows}
    assert {case for case, figures in rows.items() if figures["named"].value == 100} == {"destination disk"}
    assert rows["destination disk"]["throughput"].value <= BPS / 0.9
    assert (groups(), place()) == before
