"""A run on disk survives what happens to it, and is read as it was written."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from keisoku.errors import KeisokuError, PlanError
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity

NAME = "path one-packet"
SETTINGS = {"host": "192.0.2.1", "sizes": [64, 1500], "left_out": None}
RESULT = Result(
    measurement=NAME, rows=[Row(case="1", group="Hop", figures={"forward": Quantity(value=99.5e6, unit="bit/s")})]
)


def created(path: Path) -> RunDirectory:
    return RunDirectory.create(path / "run", NAME, SETTINGS, {"host": "here", "clocks": {"a": 1}})


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"at_ns": pa.array(range(first, first + count), pa.int64()), "rtt_ns": pa.nulls(count, pa.int64())})


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    directory = created(tmp_path)
    directory.append("probes", rows(0, 5))
    directory.append("probes", rows(5, 3))
    directory.know(mtu_bytes=1500)
    directory.know(ended=True)
    directory.finish([RESULT])
    again = RunDirectory.open(tmp_path / "run", NAME)
    assert again.plan == {"host": "192.0.2.1", "sizes": [64, 1500]}
    assert again.context["clocks"] == {"a": 1}
    assert again.facts == {"mtu_bytes": 1500, "ended": True}
    assert again.rows("probes", ["at_ns"])["at_ns"].to_pylist() == list(range(8))
    assert [batch.num_rows for batch in again.batches("probes")] == [5, 3]
    assert again.results() == [RESULT]


def test_a_run_is_not_written_over_and_another_measurement_is_refused(tmp_path: Path) -> None:
    created(tmp_path)
    with pytest.raises(PlanError, match="already holds a run"):
        created(tmp_path)
    with pytest.raises(PlanError, match="holds a run of path one-packet, not of clock stability"):
        RunDirectory.open(tmp_path / "run", "clock stability")
    with pytest.raises(PlanError, match="holds no run"):
        RunDirectory.open(tmp_path)
    with pytest.raises(PlanError, match="not the directory of a finished run"):
        RunDirectory.open(tmp_path / "run").results()
    with pytest.raises(PlanError, match="holds no rows of probes"):
        RunDirectory.open(tmp_path / "run").rows("probes")


def test_a_run_of_another_format_is_refused(tmp_path: Path) -> None:
    plan = created(tmp_path).path / "plan.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("format = 1", "format = 99"), encoding="utf-8")
    with pytest.raises(PlanError, match="has format 99"):
        RunDirectory.open(tmp_path / "run")


def test_what_was_appended_survives_kill_9(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from keisoku.ground.run.directory import RunDirectory
directory = RunDirectory.create(Path(sys.argv[1]), "path one-packet", {}, {})
for part in range(4):
    rows = range(10 * part, 10 * part + 10)
    directory.append("probes", pa.table({"at_ns": pa.array(rows, pa.int64()), "rtt_ns": pa.nulls(10, pa.int64())}))
    directory.append_line("notes.jsonl", b"{}")
(directory.path / "probes" / "00000004.partial").write_bytes(b"PAR1 cut off")
with (directory.path / "notes.jsonl").open("ab") as file:
    file.write(b'{"cut')
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "run"], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    directory = RunDirectory.open(tmp_path / "run")
    assert directory.rows("probes").num_rows == 40
    assert directory.append("probes", rows(40, 2)).name == "00000004.parquet"
    assert directory.rows("probes")["at_ns"].to_pylist() == list(range(42))
    assert directory.lines("notes.jsonl") == [b"{}"] * 4
    directory.drop_half_line("notes.jsonl")
    directory.append_line("notes.jsonl", b"[]")
    assert directory.lines("notes.jsonl") == [b"{}"] * 4 + [b"[]"]


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    directory = created(tmp_path)
    path = directory.append("probes", rows(0, 5))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(PlanError, match=r"00000000\.parquet is damaged"):
        directory.rows("probes")


def test_a_disk_that_does_not_take_it_is_one_sentence(tmp_path: Path) -> None:
    directory = created(tmp_path)
    (directory.path / "probes").write_text("in the way")
    with pytest.raises(KeisokuError, match=r"run directory: cannot write .*probes.*choose another --out"):
        directory.append("probes", rows(0, 1))
    assert not list(directory.path.glob("*.partial"))


def test_a_foreign_directory_was_written_into(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.html").write_text("somebody's")
    with pytest.raises(PlanError, match=r"^out: .*run holds report\.html, which is no run's; choose a new or an empty"):
        created(tmp_path)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["report.html"]


def test_a_file_is_no_directory_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("somebody's")
    with pytest.raises(PlanError, match=r"^out: .*run is a file; choose a directory"):
        created(tmp_path)


def test_an_empty_directory_and_one_of_a_run_killed_as_it_began_are_used(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert created(tmp_path).plan
    (tmp_path / "run" / "plan.toml").rename(tmp_path / "run" / "plan.toml.partial")
    assert created(tmp_path).plan
