"""The raw probes of a one-packet run as a table on disk, and back. It measures nothing and computes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.path.one_packet.probe import HopProbe, from_row

PROBES = "probes"
SCHEMA = pa.schema(
    [
        ("hop", pa.int16()),
        ("size_bytes", pa.int32()),
        ("sent_ns", pa.int64()),
        ("rtt_ns", pa.int64()),
        ("reply_bytes", pa.int32()),
        ("replier", pa.string()),
        ("reply_ttl", pa.int16()),
        ("icmp_type", pa.int16()),
        ("icmp_code", pa.int16()),
        ("stamps", pa.string()),
        ("rtt_tsc_ns", pa.int64()),
        ("rtt_gettimeofday_ns", pa.int64()),
        ("train", pa.int32()),
        ("place", pa.int32()),
        ("handed_ns", pa.int64()),
    ]
)


def append(directory: RunDirectory, probes: Sequence[HopProbe]) -> None:
    """Keeps probes; returns when they are on the disk."""
    directory.append(PROBES, pa.Table.from_pylist([probe.row() for probe in probes], schema=SCHEMA))


def probes_of(directory: RunDirectory) -> list[HopProbe]:
    """All probes of a run, in the order of sending. Raises PlanError if there are none."""
    return [from_row(row) for row in directory.rows(PROBES).to_pylist()]
