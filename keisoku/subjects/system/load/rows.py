"""The raw rows of a load on disk: one a client and run, its latencies, its tenths of a second, and what the host did.

Computes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields

import pyarrow as pa

from keisoku.ground.host.activity import ActivityInterval
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.schedule import LoadTrial

RUNS, LATENCIES, SLICES, ACTIVITY = "runs", "latencies", "slices", "activity"


def append(
    directory: RunDirectory, trial: LoadTrial, runs: Sequence[ClientRun], activity: Sequence[ActivityInterval] = ()
) -> None:
    """Keeps the records of all clients of a trial, and what this host did in each interval of it."""
    if activity:
        directory.append(
            ACTIVITY, pa.Table.from_pylist([{"trial": trial.number, **asdict(one)} for one in activity], _ACTIVITY)
        )
    directory.append(LATENCIES, _latencies(trial, runs))
    directory.append(SLICES, _slices(trial, runs))
    # Last: a run counts as kept when it has its row here.
    rows = [
        {
            "trial": trial.number,
            "pattern": trial.pattern,
            "file": trial.file,
            "concurrency": trial.concurrency,
            "repetition": trial.repetition,
            "connections": load.connections,
            "client": run.client,
            "completed": run.completed,
            "failed": run.failed,
            "given_up": run.given_up,
            "unsent": run.unsent,
            "received_bytes": run.received_bytes,
            "began_ns": run.began_ns,
            "ended_ns": run.ended_ns,
            "cpu_ns": run.cpu_ns,
            "failures": json.dumps(dict(run.failures)),
        }
        for load, run in zip(trial.loads, runs, strict=True)
    ]
    directory.append(RUNS, pa.Table.from_pylist(rows, schema=_SCHEMA))


_SCHEMA = pa.schema(
    [
        ("trial", pa.int64()),
        ("pattern", pa.string()),
        ("file", pa.string()),
        ("concurrency", pa.int64()),
        ("repetition", pa.int64()),
        ("connections", pa.int64()),
        ("client", pa.string()),
        ("completed", pa.int64()),
        ("failed", pa.int64()),
        ("given_up", pa.int64()),
        ("unsent", pa.int64()),
        ("received_bytes", pa.int64()),
        ("began_ns", pa.int64()),
        ("ended_ns", pa.int64()),
        ("cpu_ns", pa.int64()),
        ("failures", pa.string()),
    ]
)


_KINDS = {"int": pa.int64(), "float": pa.float64(), "int | None": pa.int64()}
_ACTIVITY = pa.schema(
    [("trial", pa.int64()), *((field.name, _KINDS[str(field.type)]) for field in fields(ActivityInterval))]
)


def _latencies(trial: LoadTrial, runs: Sequence[ClientRun]) -> pa.Table:
    rows = [(trial.number, run.client, *bucket) for run in runs for bucket in run.latencies]
    return _table(rows, ("trial", "client", "lower_ns", "upper_ns", "count"))


def _slices(trial: LoadTrial, runs: Sequence[ClientRun]) -> pa.Table:
    rows = [(trial.number, run.client, at, *counts) for run in runs for at, counts in enumerate(run.slices)]
    return _table(rows, ("trial", "client", "slice", "completed", "received_bytes"))


def _table(rows: Sequence[tuple[int | str, ...]], names: tuple[str, ...]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    kinds = [pa.string() if name == "client" else pa.int64() for name in names]
    return pa.table({name: pa.array(column, kind) for name, column, kind in zip(names, columns, kinds, strict=True)})
