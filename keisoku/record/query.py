"""Questions to a run in SQL, answered by DuckDB from the files of its directory. Changes nothing.

Three tables: `trials`, a row for each trial; `streams`, a row for each stream of each trial; `frames`, a row for
each frame where the run kept them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from keisoku.errors import PlanError
from keisoku.record.counts import Tracked
from keisoku.record.directory import FRAMES, RunDirectory
from keisoku.record.frames import CORRUPT, DUPLICATE, LOST, REORDERED
from keisoku.record.trial import TrialRecord

_FRAMES_VIEW = f"""
create view frames as select
    cast(regexp_extract(filename, '([0-9]+)[.]parquet$', 1) as integer) as trial,
    stream, sequence, transmit_ns, receive_ns, receive_ns - transmit_ns as latency_ns, port, flags,
    flags & {LOST} <> 0 as lost, flags & {CORRUPT} <> 0 as corrupt,
    flags & {DUPLICATE} <> 0 as duplicate, flags & {REORDERED} <> 0 as reordered
from read_parquet($files, filename = true)
"""


@dataclass(frozen=True)
class Answer:
    """Rows as tuples, with the names of their columns."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def query(path: Path, sql: str) -> Answer:
    """What DuckDB answers. Raises PlanError if there is no such run or the question is wrong."""
    records = RunDirectory(path).records()
    if not records:
        raise PlanError("run", f"{path} holds no finished trial", "give the directory of a run")
    with duckdb.connect() as connection:
        connection.register("trials", _trials(records))
        connection.register("streams", _streams(records))
        files = sorted(str(file) for file in (path / FRAMES).glob("*.parquet"))
        if files:
            connection.execute(_FRAMES_VIEW.replace("$files", repr(files)))
        try:
            found = connection.execute(sql)
            columns = [column[0] for column in found.description or ()]
            return Answer(columns, found.fetchall())
        except duckdb.Error as error:
            remedy = (
                "ask of the tables trials, streams and frames" if files else "measure with --frames for a table frames"
            )
            raise PlanError("query", str(error).splitlines()[0], remedy) from error


def _trials(records: list[TrialRecord]) -> pa.Table:
    def row(record: TrialRecord) -> dict[str, object]:
        return {
            "trial": record.index,
            "method": record.method,
            "purpose": record.trial.purpose,
            "frame_bytes": record.trial.frame_bytes,
            "intended_fps": record.trial.frames_per_second,
            "offered_fps": record.offered_fps,
            **_counts(record.facts.sent.offered_frames, record.facts.tracked),
            "foreign_frames": record.facts.tracked.foreign_frames,
            "valid": record.valid,
            "invalid_because": "; ".join(record.invalid_because) or None,
            "started_at": record.started_at,
        }

    return pa.Table.from_pylist([row(record) for record in records])


def _streams(records: list[TrialRecord]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "trial": record.index,
                "stream": stream.stream,
                "transmit": stream.transmit,
                "receive": stream.receive,
                **_counts(stream.offered_frames, stream.tracked),
            }
            for record in records
            for stream in record.facts.streams
        ]
    )


def _counts(offered_frames: int, tracked: Tracked) -> dict[str, object]:
    latency = tracked.latency
    return {
        "offered_frames": offered_frames,
        "forwarded_frames": tracked.forwarded_frames,
        "lost_frames": tracked.lost_frames,
        "corrupt_frames": tracked.corrupt.count,
        "duplicated_frames": tracked.duplicated.count,
        "reordered_frames": tracked.reordered.count,
        "latency_min_ns": latency and latency.min_ns,
        "latency_mean_ns": latency and latency.mean_ns,
        "latency_max_ns": latency and latency.max_ns,
    }
