"""Raw rows of transactions: what the core returns (core/src/transaction/row.rs) as tables for the run's directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from keisoku.language import phrase

TRANSACTIONS, TRIALS = "transactions", "trials"
"""Names of the tables: a row for each transaction, and a row for each trial that came to its end."""
FAILURES = {
    1: phrase("no answer in time"),
    2: phrase("no connection in time"),
    3: phrase("refused by the far host"),
    4: phrase("the connection broke"),
    5: phrase("something else than the answer came"),
    6: phrase("this host could not send (no port, buffer or file was free)"),
    7: phrase("no connection became free in time"),
}
"""By the number in the column `failure`; 0: it was answered."""
NOT_BEGUN = 7
_TIMES = ("due_ns", "begun_ns", "setup_ns", "sent_ns", "left_ns", "arrived_ns", "ended_ns")
"""ns since the trial began, and for `setup_ns` a duration; null where not known. `left_ns` and `arrived_ns` are the
kernel's stamps of the request and of the response."""
_DTYPE = np.dtype([("connection", "<u4"), ("failure", "<u4"), *((name, "<i8") for name in _TIMES)])
_UNKNOWN = np.iinfo(np.int64).min
_PARTS = ("reading", "answering", "sending", "all")
_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("window_ns", pa.int64()),
        ("full", pa.bool_()),
        ("cpu_ns", pa.int64()),
        ("late", pa.int64()),
        ("foreign", pa.int64()),
        ("far_cpu_ns", pa.int64()),
        ("far_connections", pa.int64()),
        ("far_answered", pa.int64()),
        ("far_foreign", pa.int64()),
        ("far_refused", pa.int64()),
        ("far_stamped", pa.int64()),
        *((f"far_{part}_ns", pa.float64()) for part in _PARTS),
    ]
)
"""`far_…_ns` are means over the transactions for which the server has both of its kernel's stamps."""


def transactions(number: int, rows: bytes) -> pa.Table:
    """The rows of trial `number`; what never began has no connection."""
    found = np.frombuffer(rows, _DTYPE)
    columns: dict[str, pa.Array] = {
        "number": pa.array(np.full(len(found), number, np.int64)),
        "connection": pa.array(np.ascontiguousarray(found["connection"]), mask=found["failure"] == NOT_BEGUN),
        "failure": pa.array(found["failure"].astype(np.uint8)),
    }
    for name in _TIMES:
        values = np.ascontiguousarray(found[name])
        columns[name] = pa.array(values, mask=values == _UNKNOWN)
    return pa.table(columns)


def trial_row(number: int, near: Mapping[str, Any], far: Mapping[str, Any]) -> pa.Table:
    """The row of trial `number`, from the reports of both ends."""
    shares = far["shares"]
    count = int(shares["all"]["count"])
    row = {
        "number": number,
        **{name: near[name] for name in ("window_ns", "full", "cpu_ns", "late", "foreign")},
        **{f"far_{name}": far[name] for name in ("cpu_ns", "connections", "answered", "foreign", "refused")},
        "far_stamped": count,
        **{f"far_{part}_ns": shares[part]["sum_ns"] / count if count else None for part in _PARTS},
    }
    return pa.Table.from_pylist([row], schema=_SCHEMA)
