"""The rows of streams as an Arrow table; the far end, which writes none, does without it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from keisoku.subjects.stream.flow.report import Row

SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("path", pa.string()),
        ("setup", pa.int64()),
        ("message_bytes", pa.int64()),
        ("direction", pa.string()),
        ("flow", pa.int64()),
        ("warm_up", pa.bool_()),
        ("sent_bytes", pa.int64()),
        ("sent_calls", pa.int64()),
        ("sent_ns", pa.int64()),
        ("sender_cpu_ns", pa.int64()),
        ("received_bytes", pa.int64()),
        ("received_ns", pa.int64()),
        ("settled_bytes", pa.int64()),
        ("settled_ns", pa.int64()),
        ("settled_parts", pa.list_(pa.int64())),
        ("receiver_cpu_ns", pa.int64()),
        ("retransmissions", pa.int64()),
        ("rtt_us", pa.float64()),
        ("round_trips_us", pa.list_(pa.int64())),
        ("greatest_rtt_us", pa.int64()),
        ("least_rtt_us", pa.int64()),
        ("segment_bytes", pa.int64()),
        ("receiver_limited_us", pa.int64()),
        ("buffer_limited_us", pa.int64()),
        ("busy_us", pa.int64()),
        ("offered", pa.int64()),
        ("refused", pa.int64()),
        ("came", pa.int64()),
        ("arrived", pa.int64()),
        ("lost", pa.int64()),
        ("duplicated", pa.int64()),
        ("reordered", pa.int64()),
        ("foreign", pa.int64()),
        ("socket_drops", pa.int64()),
        ("host_drops", pa.int64()),
        ("buffers", pa.int64()),
        ("most_in_buffer", pa.int64()),
        ("error", pa.string()),
    ]
)
"""A row for each stream of each trial; what a protocol does not have is null. `path` is 'dut' or 'bare'.
`settled_parts` are the settled bytes in equal parts of their time; `round_trips_us` are the kernel's smoothed ones at
equal distances over the time of sending."""


def table(rows: Sequence[Row]) -> pa.Table:
    """For the run's directory."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)
