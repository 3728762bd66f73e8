"""Raw rows of a test of capacity: what each status said, and what this end had to do until then."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pyarrow as pa

from keisoku.subjects.stream.capacity.capacity_test import CapacityTest, ObservedStatus
from keisoku.subjects.stream.capacity.pdu import Status, SubInterval
from keisoku.subjects.stream.capacity.sending_rate import IP_BYTES, IPV4_BYTES, IPV6_BYTES
from keisoku.subjects.stream.capacity.settings import Way

STATUSES = "statuses"
_OF_STATUS = (
    "number",
    "lost",
    "reordered",
    "duplicated",
    "delay_least_ms",
    "delay_most_ms",
    "delay_sum_ms",
    "delays",
    "rtt_least_ms",
    "rtt_over_ms",
    "lasted_us",
    "datagrams",
    "payload_bytes",
    "sub_intervals",
)
_OF_END = tuple(one.name for one in fields(ObservedStatus) if one.name != "status")
_OF_SUB = tuple(one.name for one in fields(SubInterval))
SCHEMA = pa.schema(
    [("way", pa.string()), ("header_bytes", pa.int64()), ("rate_bps", pa.float64())]
    + [(name, pa.int64()) for name in (*_OF_END, *_OF_STATUS)]
    + [(f"sub_{name}", pa.int64()) for name in _OF_SUB]
)


@dataclass(frozen=True)
class Reading:
    """One row, as the analysis takes it."""

    seen: ObservedStatus
    header_bytes: int
    """Of IP and UDP, by which packets are longer than payloads."""


def table(way: Way, test: CapacityTest) -> pa.Table:
    """Of one test."""
    header_bytes = IP_BYTES + (IPV6_BYTES - IPV4_BYTES if test.ipv6 else 0)
    rows = [
        {
            "way": way,
            "header_bytes": header_bytes,
            "rate_bps": one.status.rate.bps,
            **{name: getattr(one, name) for name in _OF_END},
            **{name: getattr(one.status, name) for name in _OF_STATUS},
            **{f"sub_{name}": getattr(one.status.sub_interval, name) for name in _OF_SUB},
        }
        for one in test.seen
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def readings(rows: pa.Table) -> dict[Way, list[Reading]]:
    """Rows of a run by direction, each in the order in which its statuses came."""
    found: dict[Way, list[Reading]] = {}
    for row in rows.to_pylist():
        status = Status(
            sub_interval=SubInterval(**{name: row[f"sub_{name}"] for name in _OF_SUB}),
            **{name: row[name] for name in _OF_STATUS},
        )
        seen = ObservedStatus(status=status, **{name: row[name] for name in _OF_END})
        found.setdefault(row["way"], []).append(Reading(seen, row["header_bytes"]))
    return found
