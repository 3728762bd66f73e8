"""What was seen of one binding, as a raw row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import pyarrow as pa

Purpose = Literal["mapping", "filtering", "unsolicited", "hairpin", "answered", "unanswered"]
TABLE = "bindings"
SCHEMA = pa.schema(
    [
        ("purpose", pa.string()),
        ("binding", pa.int64()),
        ("local_address", pa.string()),
        ("local_port", pa.int64()),
        ("far_address", pa.string()),
        ("far_port", pa.int64()),
        ("mapped_address", pa.string()),
        ("mapped_port", pa.int64()),
        ("arrived", pa.bool_()),
        ("asked", pa.int64()),
        ("told", pa.int64()),
        ("sure", pa.bool_()),
        ("idle_least_ns", pa.int64()),
        ("idle_most_ns", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Observation:
    """One binding, and one socket of the far end."""

    purpose: Purpose
    binding: int
    local_address: str
    local_port: int
    far_address: str
    far_port: int
    """The socket that was sent to (mapping), or that sent (all others)."""
    mapped_address: str | None
    mapped_port: int | None
    """As the far end saw it; None if it did not."""
    arrived: bool
    """An answer (mapping), or what the far end or another binding sent without being asked by this one."""
    asked: int = 0
    """How often the far end was asked to send."""
    told: int = 0
    """How often it said that it had sent; those datagrams went by the same way."""
    sure: bool = True
    """That nothing arrived cannot be chance, by the losses of what it said."""
    idle_least_ns: int | None = None
    idle_most_ns: int | None = None
    """For how long nothing had passed the NAT of this binding."""


def table(rows: Iterable[Observation]) -> pa.Table:
    """A row for each."""
    return pa.Table.from_pylist([asdict(one) for one in rows], schema=SCHEMA)
