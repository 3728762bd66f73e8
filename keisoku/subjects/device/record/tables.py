"""A run as Arrow tables, with units in the names of columns. It computes no figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from keisoku.errors import PlanError
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, LOST, REORDERED
from keisoku.subjects.device.record.changed_headers import changes_of
from keisoku.subjects.device.record.counts import Tracked
from keisoku.subjects.device.record.late_arrivals import late_arrivals
from keisoku.subjects.device.record.trial_log import FRAMES, TrialLog
from keisoku.subjects.device.record.trial_record import TrialRecord

_FRAMES = f"""
select
    cast(regexp_extract(filename, '([0-9]+)[.]parquet$', 1) as integer) as trial,
    stream, sequence, transmit_ns, receive_ns, port, flags, receive_ns - transmit_ns as latency_ns,
    flags & {LOST} <> 0 as lost, flags & {CORRUPT} <> 0 as corrupt,
    flags & {DUPLICATE} <> 0 as duplicate, flags & {REORDERED} <> 0 as reordered, kind
from read_parquet($files, filename = true)
"""
_NO_FRAMES = PlanError("table", "this run kept no row of any frame", "measure with --frames, or frames=True")
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
_LOST_PLACES = pa.schema(
    [
        *_STREAM,
        ("sequence", pa.int64()),
        ("dropped_ns", pa.int64()),
        *((name, pa.string()) for name in ("kind", "reason", "function", "interface", "namespace", "qdisc")),
        *((name, pa.string()) for name in ("rule", "program")),
        ("readers", pa.list_(pa.string())),
        ("of_tester", pa.bool_()),
    ]
)
_LATE_PLACES = pa.schema(
    [
        *_STREAM,
        *((name, pa.int64()) for name in ("sequence", "latency_ns", "part", "came_ns", "waited_ns", "median_ns")),
        *((name, pa.string()) for name in ("kind", "interface", "namespace", "came_from", "qdisc", "handler")),
        ("of_tester", pa.bool_()),
    ]
)
_EXPORTS = pa.schema(
    [
        *_STREAM,
        *((name, pa.string()) for name in ("protocol", "address")),
        *((name, pa.int64()) for name in ("arrived_ns", "interface", "one_in", "frames", "bytes")),
        ("older", pa.bool_()),
    ]
)
_CHANGES = pa.schema(
    [
        *_STREAM,
        ("kind", pa.int64()),
        *((name, pa.string()) for name in ("field", "before", "after")),
        ("frames", pa.int64()),
        ("corrupt", pa.bool_()),
        ("first_received_ns", pa.int64()),
        ("last_received_ns", pa.int64()),
    ]
)
_LATENCIES = pa.schema([*_STREAM, *((name, pa.int64()) for name in ("lower_ns", "upper_ns", "frames"))])


def tables(directory: RunDirectory) -> dict[str, Callable[[], pa.Table] | str | PlanError]:
    """What makes each table of a run; `frames` is a SELECT over the files that hold them, or why there are none.

    'trials', 'streams': counts. 'lost': ranges of sequence numbers, and between which departures (ns). 'lost_places':
    lost frames that this host's kernel was seen to drop, where that was watched. 'late_places': a row for each part of
    the way of the slowest frames, where that was watched. 'exports': what the device exported of each flow. 'changes':
    what differs in each kind of changed frames. 'latencies': histogram of every frame's latency. 'frames': a row for
    each frame, or for each changed one; times are ns since the first was due; only if the run kept these rows.
    """
    log = TrialLog(directory)
    found: dict[str, Callable[[], pa.Table] | str | PlanError] = {
        "trials": lambda: trials(log.records()),
        "streams": lambda: streams(log.records()),
        "lost": lambda: _of_streams(log.records(), _LOST, _lost),
        "lost_places": lambda: _lost_places(log.records()),
        "late_places": lambda: _late_places(log.records()),
        "exports": lambda: _exports(log.records()),
        "changes": lambda: _changes(log.records()),
        "latencies": lambda: _of_streams(log.records(), _LATENCIES, _latencies),
    }
    files = [str(file) for file in _frame_files(directory)]
    return {**found, "frames": _FRAMES.replace("$files", repr(files)) if files else _NO_FRAMES}


def late_arrivals_of(directory: RunDirectory) -> dict[int, Callable[[], pa.RecordBatchReader]] | PlanError:
    """For each trial what opens its late arrivals."""
    files = _frame_files(directory)
    return {int(file.stem): partial(late_arrivals, file) for file in files} if files else _NO_FRAMES


def _frame_files(directory: RunDirectory) -> list[Path]:
    return sorted((directory.path / FRAMES).glob("*.parquet"))


def trials(records: Iterable[TrialRecord]) -> pa.Table:
    """A row for each trial: its settings and the counts of its frames."""
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
    """A row for each stream of each trial at each port that it goes to; ports are indices of the plan's."""
    rows = [
        {
            "trial": record.index,
            "stream": stream.stream,
            "transmit": stream.transmit,
            "receive": branch.receive,
            **_counts(stream.offered_frames, branch.tracked),
        }
        for record in records
        for stream in record.facts.streams
        for branch in stream.everywhere
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


def _changes(records: Iterable[TrialRecord]) -> pa.Table:
    """A row for each difference of each kind of changed frames; `kind` leads to the rows of `frames`."""
    rows = [
        {
            "trial": record.index,
            "stream": stream.stream,
            "kind": kind.kind,
            "field": change.field,
            "before": change.before or None,
            "after": change.after or None,
            "frames": kind.frames,
            "corrupt": kind.corrupt,
            "first_received_ns": kind.first_received_ns,
            "last_received_ns": kind.last_received_ns,
        }
        for record in records
        for stream in record.facts.streams
        if stream.changes is not None
        for kind in stream.changes.kinds
        for change in changes_of(kind)
    ]
    return pa.Table.from_pylist(rows, schema=_CHANGES)


def _lost_places(records: Iterable[TrialRecord]) -> pa.Table:
    """A row for each lost frame that the kernel was seen to drop."""
    made = []
    for record in records:
        if (drops := record.facts.drops) is None:
            continue
        stream, sequence, place, dropped_ns = drops.frames.rows.T
        columns = {
            "trial": pa.array(np.full(len(stream), record.index)),
            "stream": pa.array(np.array([one.stream for one in record.facts.streams], np.int64)[stream]),
            "sequence": pa.array(sequence),
            "dropped_ns": pa.array(dropped_ns),
        }
        for name in _LOST_PLACES.names[len(columns) :]:
            words = pa.array([getattr(one, name) for one in drops.places], _LOST_PLACES.field(name).type)
            columns[name] = words.take(pa.array(place))
        made.append(pa.table(columns, schema=_LOST_PLACES))
    return pa.concat_tables(made) if made else _LOST_PLACES.empty_table()


def _late_places(records: Iterable[TrialRecord]) -> pa.Table:
    """A row for each part of the way of each of the slowest frames."""
    made = []
    for record in records:
        if (waits := record.facts.waits) is None or not len(waits.frames):
            continue
        rows = waits.frames.rows
        stream, sequence, place, came_ns, waited_ns = rows.T
        begins = np.flatnonzero(np.any(np.diff(rows[:, :2], axis=0, prepend=-1), axis=1))
        parts = np.diff(begins, append=len(rows))
        columns = {
            "trial": pa.array(np.full(len(rows), record.index)),
            "stream": pa.array(np.array([one.stream for one in record.facts.streams], np.int64)[stream]),
            "sequence": pa.array(sequence),
            "latency_ns": pa.array(np.repeat(np.add.reduceat(waited_ns, begins), parts)),
            "part": pa.array(np.arange(len(rows)) - np.repeat(begins, parts)),
            "came_ns": pa.array(came_ns),
            "waited_ns": pa.array(waited_ns),
        }
        for name in _LATE_PLACES.names[len(columns) :]:
            words = pa.array([getattr(one, name) for one in waits.places], _LATE_PLACES.field(name).type)
            columns[name] = words.take(pa.array(place))
        made.append(pa.table(columns, schema=_LATE_PLACES))
    return pa.concat_tables(made) if made else _LATE_PLACES.empty_table()


def _exports(records: Iterable[TrialRecord]) -> pa.Table:
    """A row for each sampled frame or record of a flow; without a stream where it is none of the trial's."""
    made = []
    for record in records:
        if (exports := record.facts.exports) is None:
            continue
        exporter, stream, arrived_ns, interface, one_in, frames, bytes_, older = exports.flows.rows.T
        numbers = np.array([*(one.stream for one in record.facts.streams), -1], np.int64)[stream]
        columns = {
            "trial": pa.array(np.full(len(stream), record.index)),
            "stream": pa.array(numbers, mask=stream < 0),
            "protocol": pa.array([one.protocol for one in exports.exporters], pa.string()).take(pa.array(exporter)),
            "address": pa.array([one.address for one in exports.exporters], pa.string()).take(pa.array(exporter)),
            "arrived_ns": pa.array(arrived_ns),
            "interface": pa.array(interface),
            "one_in": pa.array(one_in, mask=one_in == 0),
            "frames": pa.array(frames),
            "bytes": pa.array(bytes_),
            "older": pa.array(older == 1),
        }
        made.append(pa.table(columns, schema=_EXPORTS))
    return pa.concat_tables(made) if made else _EXPORTS.empty_table()


def _lost(tracked: Tracked) -> list[dict[str, object]]:
    names = ("first", "last", "count", "after_ns", "before_ns")
    return [{name: getattr(gap, name) for name in names} for gap in tracked.lost]


def _latencies(tracked: Tracked) -> list[dict[str, object]]:
    if tracked.latency is None:
        return []
    found = tracked.latency.histogram
    return [
        {"lower_ns": lower, "upper_ns": upper, "frames": count}
        for lower, upper, count in zip(found.lower_ns, found.upper_ns, found.counts, strict=True)
    ]


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
