"""A run as Arrow tables, units in the names of columns. Facts and figures as they are kept; computes none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from keisoku.device.record.counts import Tracked
from keisoku.device.record.frames import CORRUPT, DUPLICATE, LOST, REORDERED
from keisoku.device.record.trial import TrialRecord
from keisoku.errors import PlanError
from keisoku.run.directory import FRAMES
from keisoku.run.result import Result
from keisoku.run.run import Run

TableName = Literal["figures", "trials", "streams", "lost", "latencies", "frames"]

_FIGURES = pa.schema(
    [
        ("method", pa.string()),
        ("frame_bytes", pa.int64()),
        ("case", pa.string()),
        ("figure", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        pa.field("uncertainty_k2", pa.float64()),
        ("trial", pa.int64()),
        ("remark", pa.string()),
    ]
)
_COUNTS = [
    *(
        (name, pa.int64())
        for name in (
            "offered_frames",
            "forwarded_frames",
            "lost_frames",
            "corrupt_frames",
            "duplicated_frames",
            "reordered_frames",
        )
    ),
    *((name, pa.float64()) for name in ("latency_min_ns", "latency_mean_ns", "latency_max_ns")),
]
_TRIALS = pa.schema(
    [
        ("trial", pa.int64()),
        ("method", pa.string()),
        ("purpose", pa.string()),
        ("frame_bytes", pa.int64()),
        ("intended_fps", pa.float64()),
        ("offered_fps", pa.float64()),
        *_COUNTS,
        ("foreign_frames", pa.int64()),
        ("valid", pa.bool_()),
        ("invalid_because", pa.string()),
        ("started_at", pa.string()),
    ]
)
_STREAM = [("trial", pa.int64()), ("stream", pa.int64())]
_STREAMS = pa.schema([*_STREAM, ("transmit", pa.int64()), ("receive", pa.int64()), *_COUNTS])
_LOST = pa.schema([*_STREAM, *((name, pa.int64()) for name in ("first", "last", "count", "after_ns", "before_ns"))])
_LATENCIES = pa.schema([*_STREAM, *((name, pa.int64()) for name in ("lower_ns", "upper_ns", "frames"))])


def table(run: Run, name: TableName) -> pa.Table:
    """One table of a run. Raises PlanError for a name that is none, or for frames of a run that kept none.

    'figures': a row for each figure of each result, with the expanded uncertainty (null: not known). 'trials',
    'streams': what was counted. 'lost': ranges of sequence numbers, and between which departures (ns). 'latencies':
    histogram of every frame's latency. 'frames': a row for each frame; times are ns since the first was due.
    """
    match name:
        case "figures":
            return figures(run.results)
        case "trials":
            return trials(run.records)
        case "streams":
            return streams(run.records)
        case "lost":
            return _of_streams(run.records, _LOST, _lost)
        case "latencies":
            return _of_streams(run.records, _LATENCIES, _latencies)
        case "frames":
            return _frames(run.directory / FRAMES)
    raise PlanError("table", f"there is no table '{name}'", f"use {', '.join(get_args(TableName))}")


def figures(results: Iterable[Result]) -> pa.Table:
    """Long form, one figure a row: each has a unit and an uncertainty of its own."""
    rows = [
        {
            "method": result.method,
            "frame_bytes": row.frame_bytes,
            "case": row.case or None,
            "figure": name,
            "value": figure.value,
            "unit": figure.unit,
            "uncertainty_k2": figure.uncertainty,
            "trial": row.trial,
            "remark": row.remark or None,
        }
        for result in results
        for row in result.rows
        for name, figure in row.figures.items()
    ]
    return pa.Table.from_pylist(rows, schema=_FIGURES)


def trials(records: Iterable[TrialRecord]) -> pa.Table:
    """A row for each trial: what was asked, and what became of its frames."""
    rows = [
        {
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
        for record in records
    ]
    return pa.Table.from_pylist(rows, schema=_TRIALS)


def streams(records: Iterable[TrialRecord]) -> pa.Table:
    """A row for each stream of each trial; ports are indices of the plan's."""
    rows = [
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
    return pa.Table.from_pylist(rows, schema=_STREAMS)


def _of_streams(records: Iterable[TrialRecord], schema: pa.Schema, rows_of: Any) -> pa.Table:
    rows = [
        {"trial": record.index, "stream": stream.stream, **row}
        for record in records
        for stream in record.facts.streams
        for row in rows_of(stream.tracked)
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def _lost(tracked: Tracked) -> list[dict[str, object]]:
    return [gap.model_dump(exclude={"bitmap"}) for gap in tracked.lost]


def _latencies(tracked: Tracked) -> list[dict[str, object]]:
    if tracked.latency is None:
        return []
    found = tracked.latency.histogram
    return [
        {"lower_ns": lower, "upper_ns": upper, "frames": count}
        for lower, upper, count in zip(found.lower_ns, found.upper_ns, found.counts, strict=True)
    ]


def _frames(folder: Path) -> pa.Table:
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise PlanError("table", "the run kept no row of any frame", "measure with frames=True, not on sim:")
    return pa.concat_tables(_of_trial(file) for file in files)


def _of_trial(file: Path) -> pa.Table:
    found = pq.read_table(file).replace_schema_metadata()
    number = pa.array([int(file.stem)] * len(found), pa.int64())
    found = found.add_column(0, "trial", number)
    latency_ns = pc.subtract(found["receive_ns"], found["transmit_ns"])
    found = found.append_column("latency_ns", latency_ns)
    for name, bit in (("lost", LOST), ("corrupt", CORRUPT), ("duplicate", DUPLICATE), ("reordered", REORDERED)):
        set_ = pc.not_equal(pc.bit_wise_and(found["flags"], pa.scalar(bit, pa.uint8())), 0)
        found = found.append_column(name, set_)
    return found


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
