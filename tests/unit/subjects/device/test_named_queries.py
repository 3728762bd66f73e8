"""Named queries about frames say what plain loops over the same rows say."""

from __future__ import annotations

from itertools import groupby
from math import ceil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import generated
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support.doc_blocks import ROOT
from support.synthetic_runs import host_run

from keisoku.errors import PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.faces.cli.query import command
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement.query import query
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, ENTRY, LOST, REORDERED
from keisoku.subjects.device.record.frames import arrived_rows, lost_rows
from keisoku.subjects.device.record.queries import QUERIES
from keisoku.subjects.device.record.trial_log import TrialLog

Row = dict[str, Any]
RATIOS = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999}


def made(path: Path, seed: int, frames: int) -> list[Row]:
    """A run of two trials with random frames of two streams; every row of them."""
    chance, rows = Random(seed), list[Row]()
    directory = RunDirectory.create(path, "device", parse({"methods": ["loss"], "dut": "sim:gs908e"}).plain(), {})
    log = TrialLog(directory)
    for record in host_run().records[:2]:
        log.append(record)
    for trial in range(2):
        own, lost = list[tuple[int, ...]](), {1: list[int](), 2: list[int]()}
        for number in range(frames):
            stream = chance.choice((1, 2))
            sent = 1000 * number
            latency = int(chance.lognormvariate(8, 3))
            kind = chance.random()
            if kind < 0.2:
                lost[stream].append(number)
                continue
            own.append((number, sent, sent + latency, stream, 1, 0))
            if kind > 0.9:
                own.append((number, sent, sent + latency + 5, stream, 1, DUPLICATE))
            if kind > 0.97:
                own.append((number + 3, 0, 0, stream, 1, CORRUPT))
        own = in_order_of_arrival(own)
        parts = [arrived_rows(np.array(own, ENTRY)), *(lost_rows(s, np.array(n, np.uint64)) for s, n in lost.items())]
        target = log.frames_of(trial)
        target.parent.mkdir(exist_ok=True)
        with pq.ParquetWriter(target, parts[0].schema) as writer:
            for part in parts:
                writer.write_table(part)
                rows += [{"trial": trial, **row} for row in part.to_pylist()]
    return rows


def in_order_of_arrival(own: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The rows with REORDERED where a frame of the stream with a higher number was before."""
    highest: dict[int, int] = {}
    found = list[tuple[int, ...]]()
    for sequence, sent, received, stream, port, flags in sorted(own, key=lambda row: (row[2], row[0])):
        late = not flags and sequence < highest.get(stream, 0)
        if not flags:
            highest[stream] = max(highest.get(stream, 0), sequence)
        found.append((sequence, sent, received, stream, port, flags | (REORDERED if late else 0)))
    return found


def extents(rows: list[Row]) -> list[tuple[int, int, int, int, int, int]]:
    """Of all pairs, by the definition."""
    found = []
    arrived = [row for row in rows if not row["flags"] & (LOST | CORRUPT | DUPLICATE)]
    arrived.sort(key=lambda row: (row["trial"], row["stream"], row["receive_ns"], row["sequence"]))
    for (trial, stream), group in groupby(arrived, key=lambda row: (row["trial"], row["stream"])):
        own = list(group)
        for i, row in enumerate(own):
            j = next(j for j, other in enumerate(own) if other["sequence"] > row["sequence"] or j == i)
            if j < i:
                late_ns = row["receive_ns"] - own[j]["receive_ns"]
                found.append((trial, stream, row["sequence"], i - j, own[j]["sequence"], late_ns))
    return found


def answered(path: Path, sql: str) -> list[Row]:
    answer = query(path, sql)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def timed(rows: list[Row]) -> list[Row]:
    """Arrivals with a latency."""
    found = [row for row in rows if not row["flags"] & (LOST | CORRUPT)]
    return [{**row, "latency_ns": row["receive_ns"] - row["transmit_ns"]} for row in found]


def bursts(rows: list[Row]) -> list[tuple[int, int, int, int, int, int | None]]:
    found: list[tuple[int, int, int, int, int, int | None]] = []
    lost = sorted((row["trial"], row["stream"], row["sequence"]) for row in rows if row["flags"] & LOST)
    for (trial, stream), group in groupby(lost, key=lambda row: row[:2]):
        own: list[list[int]] = []
        for _, _, sequence in group:
            if own and own[-1][-1] == sequence - 1:
                own[-1].append(sequence)
            else:
                own.append([sequence])
        for place, burst in enumerate(own):
            gap = burst[0] - own[place - 1][-1] - 1 if place else None
            found.append((trial, stream, burst[0], burst[-1], len(burst), gap))
    return found


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.integers(1, 200))
def test_named_queries_say_what_plain_loops_say(seed: int, frames: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        rows = made(path, seed, frames)
        expected = bursts(rows)
        assert query(path, "loss_bursts").rows == expected

        found = answered(path, "from latency_over_time(interval_ns := 50000)")
        intervals: dict[tuple[int, int], list[int]] = {}
        for row in timed(rows):
            intervals.setdefault((row["trial"], row["receive_ns"] // 50000 * 50000), []).append(row["latency_ns"])
        assert [(row["trial"], row["start_ns"]) for row in found] == sorted(intervals)
        for row in found:
            values = sorted(intervals[row["trial"], row["start_ns"]])
            assert (row["frames"], row["min_ns"], row["max_ns"]) == (len(values), values[0], values[-1])
            for name, ratio in RATIOS.items():
                exact = values[max(0, ceil(round(ratio * len(values), 9)) - 1)]
                assert exact * (1 - 1 / 1024) <= row[name] <= exact, name

        whole = [row for row in rows if not row["flags"] & CORRUPT]
        near = sorted(
            (trial, stream, first, distance, row["sequence"], row["receive_ns"] or 0, bool(row["flags"] & LOST))
            for trial, stream, first, last, *_ in expected
            for row in whole
            if (row["trial"], row["stream"]) == (trial, stream)
            for distance in [row["sequence"] - (first if row["sequence"] < first else last)]
            if (row["sequence"] < first or row["sequence"] > last) and abs(distance) <= 2
        )
        names = ("trial", "stream", "first", "distance", "sequence", "receive_ns", "lost")
        said = answered(path, "from around_losses(near := 2)")
        assert sorted(tuple(row[name] or 0 for name in names) for row in said) == near

        about = ("trial", "stream", "sequence", "extent_frames", "behind", "late_ns")
        assert [tuple(row[name] for name in about) for row in answered(path, "reorder_extents")] == extents(rows)

        places = ("trial", "stream", "sequence", "receive_ns")
        worst = sorted(timed(rows), key=lambda row: (-row["latency_ns"], *(row[name] for name in places)))[:4]
        said = answered(path, "from worst_latencies(most := 4, near := 1)")
        expected_worst = sorted(
            (rank, row["sequence"] - one["sequence"], row["sequence"], row["receive_ns"] or 0)
            for rank, one in enumerate(worst, 1)
            for row in whole
            if (row["trial"], row["stream"]) == (one["trial"], one["stream"])
            and abs(row["sequence"] - one["sequence"]) <= 1
        )
        order = ("rank", "distance", "sequence", "receive_ns")
        assert sorted(tuple(row[name] or 0 for name in order) for row in said) == expected_worst


def test_changed_frames_are_those_that_the_device_rewrote(tmp_path: Path) -> None:
    toml = '[[rewrite]]\nchanges = ["IP.dscp=8", "IP.ttl=-1"]\nevery = 7\n'
    (tmp_path / "device.toml").write_text(toml + '[[rewrite]]\nchanges = ["UDP.chksum=0"]\nframes = [3]\n')
    run = str(tmp_path / "run")
    words = f"changes --dut sim:{tmp_path / 'device.toml'} --size 64 --rate 50kpps --duration 10ms --waits 1ms"
    assert CliRunner().invoke(keisoku, [*words.split(), "--out", run]).exit_code == 0
    found = query(Path(run), "select sequence, field, before, after from changed_frames() order by 1, 2").rows
    rewritten = [(n, *one) for n in range(0, 500, 7) for one in (("IP.dscp", "0", "8"), ("IP.ttl", "10", "9"))]
    assert found == sorted([*rewritten, (3, "UDP.chksum", "right", "zero")])
    only = query(Path(run), "select distinct field from changed_frames(of_field := 'IP.ttl', of_trial := 0)").rows
    assert only == [("IP.ttl",)]


def test_a_trial_can_be_chosen(tmp_path: Path) -> None:
    made(tmp_path / "run", 3, 200)
    for name in QUERIES.keys() - {"changed_frames"}:
        assert {row["trial"] for row in answered(tmp_path / "run", f"from {name}(of_trial := 1)")} == {1}


def test_reorder_extents_stand_in_sql_like_a_table_and_read_only_the_trials_that_are_asked_for(tmp_path: Path) -> None:
    rows = made(tmp_path / "run", 3, 200)
    far = [row for row in extents(rows) if row[0] == 1 and row[3] > 5]
    (tmp_path / "run" / "frames" / "000000.parquet").write_bytes(b"PAR1 cut off")
    asked = "select trial, stream, sequence, extent_frames, behind, late_ns from reorder_extents(of_trial := 1) e"
    assert query(tmp_path / "run", f"{asked} where extent_frames > 5").rows == far != []
    twice = (
        f"{asked} join reorder_extents(of_trial := 1) f using (trial, stream, sequence, extent_frames, behind, late_ns)"
    )
    assert sorted(query(tmp_path / "run", f"{twice} where extent_frames > 5").rows) == sorted(far)
    with pytest.raises(PlanError, match="magic bytes") as raised:
        query(tmp_path / "run", "reorder_extents")
    assert "Traceback" not in str(raised.value)


def test_the_columns_are_those_that_are_documented(tmp_path: Path) -> None:
    made(tmp_path / "run", 3, 50)
    page = generated.filled((ROOT / "docs" / "runs.md").read_text())
    for name, named in QUERIES.items():
        assert query(tmp_path / "run", name).columns == [*named.columns]
        assert f"### `{name}`" in page
        for column, meaning in named.columns.items():
            assert f"| `{column}` | {meaning} |" in page, (name, column)


def test_the_help_names_every_query() -> None:
    said = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert all(name in said for name in QUERIES)


def test_a_run_without_frames_says_how_to_keep_them(tmp_path: Path) -> None:
    log = TrialLog(RunDirectory.create(tmp_path / "run", "device", {"methods": ["loss"]}, {}))
    log.append(host_run().records[0])
    with pytest.raises(PlanError, match="kept no row of any frame"):
        query(tmp_path / "run", "loss_bursts")
