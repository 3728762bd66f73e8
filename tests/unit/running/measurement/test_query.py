"""Rows of frames as Parquet, and SQL about a run: what was written is what is answered."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.one_stream import facts_of
from support.synthetic_runs import bounded_run, host_run

import keisoku as ks
from keisoku.errors import EngineError, PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.figure_table import figures
from keisoku.running.measurement.query import query
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, ENTRY
from keisoku.subjects.device.record.frames import SCHEMA, FrameWriter
from keisoku.subjects.device.record.trial_log import TrialLog


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of three trials, the second with rows of its frames."""
    records = host_run().records[:3]
    plan = parse({"methods": ["loss"], "dut": "sim:gs908e"}).plain()
    directory = RunDirectory.create(tmp_path / "run", "device", plan, {})
    log = TrialLog(directory)
    for record in records:
        log.append(record)
    entries = np.array(
        [(0, 100, 900, 1, 1, 0), (1, 200, 1100, 1, 1, 0), (1, 200, 1200, 1, 1, DUPLICATE), (3, 0, 0, 1, 1, CORRUPT)],
        ENTRY,
    )
    lossy = records[0].facts
    with FrameWriter(log.frames_of(records[1].index)) as writer:
        writer.append(entries[:2].tobytes())
        writer.append(entries[2:].tobytes())
        writer.finish(lossy)
    return directory.path


def test_counts_are_those_of_the_records(run: Path) -> None:
    records = TrialLog(RunDirectory.open(run)).records()
    answer = query(run, "select trial, offered_frames, lost_frames, valid from trials order by trial")
    assert answer.rows == [
        (record.index, record.facts.sent.offered_frames, record.facts.tracked.lost_frames, record.valid)
        for record in records
    ]
    assert query(run, "select count(*) from streams").rows == [(3,)]


def test_every_frame_has_a_row(run: Path) -> None:
    lost = TrialLog(RunDirectory.open(run)).records()[0].facts.tracked.lost_frames
    arrived = query(
        run, "select sequence, transmit_ns, receive_ns, latency_ns, duplicate, corrupt from frames where not lost"
    )
    assert arrived.rows == [
        (0, 100, 900, 800, False, False),
        (1, 200, 1100, 900, False, False),
        (1, 200, 1200, 1000, True, False),
        (3, None, None, None, False, True),
    ]
    assert query(run, "select trial, count(*), count(receive_ns) from frames where lost group by trial").rows == [
        (1, lost, 0)
    ]


def test_a_trial_that_fails_leaves_no_half_written_file(tmp_path: Path) -> None:
    path = tmp_path / "frames" / "000000.parquet"
    with pytest.raises(KeyboardInterrupt), FrameWriter(path):
        raise KeyboardInterrupt
    assert list(path.parent.iterdir()) == []


def test_frames_of_one_port_and_some_time_are_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trial, port and time lead to the row groups in question; the others are not read."""
    directory = RunDirectory.create(
        tmp_path / "run", "device", parse({"methods": ["loss"], "dut": "sim:gs908e"}).plain(), {}
    )
    log, facts = TrialLog(directory), host_run().records[0].facts
    log.append(host_run().records[0])
    monkeypatch.setattr("keisoku.subjects.device.record.frames._ROWS_OF_A_GROUP", 1000)
    entries = np.zeros(10_000, ENTRY)
    entries["sequence"] = entries["transmit_ns"] = entries["receive_ns"] = np.arange(len(entries))
    entries["port"] = 1 + entries["sequence"] % 3
    for trial in range(2):
        with FrameWriter(log.frames_of(trial)) as writer:
            for part in np.array_split(entries, 40):
                writer.append(part.tobytes())
            writer.finish(facts.model_copy(update={"streams": []}))
    metadata = pq.read_metadata(log.frames_of(0))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    port, time = SCHEMA.get_field_index("port"), SCHEMA.get_field_index("receive_ns")
    assert all(group.column(port).statistics.min == group.column(port).statistics.max for group in groups)
    assert max(group.num_rows for group in groups) == 1000
    for own in range(1, 4):
        times = [group.column(time).statistics for group in groups if group.column(port).statistics.min == own]
        assert len(times) >= 2 and all(one.max < other.min for one, other in pairwise(times))
    asked = "from frames where trial = 1 and port = 2 and receive_ns between 9000 and 9100"
    assert query(directory.path, f"select count(*), min(sequence) {asked}").rows == [(34, 9001)]
    plan = "\n".join(str(row) for row in query(directory.path, f"explain analyze select sum(latency_ns) {asked}").rows)
    assert "Total Files Read: 1" in plan, plan


def test_dask_asks_the_same_files(run: Path) -> None:
    """As docs/runs.md says it, for sets larger than a machine."""
    dataframe = pytest.importorskip("dask.dataframe", reason="the extras 'cluster' and 'notebook' are not installed")
    columns = ["port", "transmit_ns", "receive_ns"]
    frames = dataframe.read_parquet(str(run.parent / "*" / "frames" / "*.parquet"), columns=columns)
    slow = frames[frames.receive_ns - frames.transmit_ns > 800].groupby("port").size()
    answer = query(run, "select port, count(*) from frames where latency_ns > 800 group by port")
    assert answer.rows and dict(answer.rows) == slow.compute(scheduler="synchronous").to_dict()


def test_lost_frames_that_are_not_listed_cannot_have_rows(tmp_path: Path) -> None:
    facts = host_run().records[0].facts
    gap = replace(facts.tracked.lost[0], last=facts.tracked.lost[0].last + 1)
    merged = facts_of(facts.sent, facts.tracked.model_copy(update={"lost": [gap]}))
    with (
        pytest.raises(EngineError, match="not every lost frame has a row"),
        FrameWriter(tmp_path / "x.parquet") as writer,
    ):
        writer.finish(merged)


def test_a_bound_has_one_end_and_says_so() -> None:
    table = figures(bounded_run().results[:1]).to_pylist()
    rows = {row["frame_bytes"]: row for row in table if row["figure"] == "throughput"}
    assert (rows[128]["bound"], rows[128]["covers"], rows[128]["uncertainty_k2"]) == ("at least", None, None)
    assert (rows[128]["lower"], rows[128]["upper"]) == (rows[128]["value"], None)
    assert (rows[64]["bound"], rows[64]["covers"]) == (None, "resolution")
    assert rows[64]["lower"] < rows[64]["value"] < rows[64]["upper"]


def test_wrong_questions_get_one_sentence(run: Path, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="query"):
        query(run, "select nothing from nowhere")
    with pytest.raises(PlanError, match="holds no run"):
        query(tmp_path / "none", "select 1")
    RunDirectory.create(tmp_path / "empty", "device", {"methods": ["loss"]}, {})
    with pytest.raises(PlanError, match="holds no finished trial"):
        query(tmp_path / "empty", "select 1")


@pytest.mark.parametrize(("form", "shown"), [("table", "trials\n3"), ("csv", "trials\n3\n"), ("json", '"trials": 3')])
def test_the_command_prints_the_answer(run: Path, form: str, shown: str) -> None:
    result = CliRunner().invoke(keisoku, ["query", str(run), "select count(*) as trials from trials", "--format", form])
    assert result.exit_code == 0
    assert shown in result.output


def test_several_runs_are_asked_at_once(tmp_path: Path) -> None:
    for name, size in (("one's", 64), ("other", 512)):
        ks.measure("loss", dut="sim:gs908e", frame_bytes=size, trial_s=0.01, out=tmp_path / name)
    ks.measure("clock cost", reads=1000, stall_scan_s=0, out=tmp_path / "clock")
    paths = [tmp_path / name for name in ("one's", "other", "clock")]
    found = query(paths[0], "select directory, count(*) from trials group by all order by all", *paths[1:])
    assert [(Path(directory).name, count > 0) for directory, count in found.rows] == [("one's", True), ("other", True)]
    sql = "select count(distinct directory), count(distinct measurement) from figures"
    assert query(paths[0], sql, *paths[1:]).rows == [(3, 2)]
    with pytest.raises(PlanError, match="loss_bursts is asked of one run"):
        query(paths[0], "loss_bursts", paths[1])
