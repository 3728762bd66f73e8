"""One row for each frame of a trial, in Parquet, written while the trial runs.

A row is an arrival, or a frame that never arrived. The core's rows are written unchanged; a file appears under its name
when its trial is finished.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from keisoku.errors import EngineError
from keisoku.subjects.device.record.arrival import CORRUPT, ENTRY, LOST, NO_TIME_NS
from keisoku.subjects.device.record.facts import Facts

SCHEMA = pa.schema(
    [
        pa.field("stream", pa.uint16(), nullable=False),
        pa.field("sequence", pa.uint64(), nullable=False),
        pa.field("transmit_ns", pa.int64()),  # absent for a corrupt or lost frame, and where clocks are not related
        pa.field("receive_ns", pa.int64()),
        pa.field("port", pa.uint16()),  # at which it arrived
        pa.field("flags", pa.uint8(), nullable=False),
        pa.field("kind", pa.uint32(), nullable=False),  # of its change, among those of its stream; 0: none
    ]
)
_ROWS_OF_A_GROUP = 1 << 18
"""A row group has frames of one port and one stretch of time, so that whoever asks for some ports or some time reads
little more than these: Parquet keeps the least and the greatest value of each group."""
_MOST_ROWS_WAITING = 1 << 21


class FrameWriter:
    """The rows of one trial; a context manager that leaves no half-written file.

    Raises EngineError from `finish` if the engine lost rows or the trial is longer than its lists of lost frames.
    """

    def __init__(self, path: Path, every: int = 1, changed_only: bool = False) -> None:
        """`every` is stored in the file's metadata: one in so many frames that arrived whole has a row. With
        `changed_only` only those have rows that arrived otherwise than expected, and not those that were lost."""
        self.changed_only = changed_only
        self._path, self._partial = path, path.with_suffix(".partial")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(
            self._partial,
            SCHEMA.with_metadata({"keisoku.frames_every": str(every)}),
            compression="zstd",
            compression_level=1,
            use_dictionary=["stream", "port", "flags"],
            column_encoding=dict.fromkeys(("sequence", "transmit_ns", "receive_ns"), "DELTA_BINARY_PACKED"),
        )
        self._waiting: list[bytes] = []
        self._rows = 0
        self._ports = 1
        """At which frames arrived, as far as it is known."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._partial.unlink(missing_ok=True)

    def append(self, entries: bytes) -> None:
        """Writes rows as the core passes them on (`ENTRY`)."""
        self._waiting.append(entries)
        self._rows += len(entries) // ENTRY.itemsize
        if self._rows >= min(_ROWS_OF_A_GROUP * self._ports, _MOST_ROWS_WAITING):
            self._flush()

    def finish(self, facts: Facts) -> None:
        """Adds the frames that were lost, and gives the file its name. Raises EngineError if a lost frame has no
        row."""
        self._flush()
        for stream in () if self.changed_only else facts.streams:
            for gap in stream.tracked.lost:
                try:
                    numbers = np.array(gap.numbers(), np.uint64)
                except ValueError as error:
                    raise EngineError(f"frames: not every lost frame has a row: {error}; shorten the trial") from error
                self._write(lost_rows(stream.stream, numbers))
        self._writer.close()
        self._partial.rename(self._path)

    def _flush(self) -> None:
        if self._rows:
            entries = np.frombuffer(b"".join(self._waiting), ENTRY)
            self._waiting, self._rows = [], 0
            ports = np.flatnonzero(np.bincount(entries["port"]))
            self._ports = max(self._ports, len(ports))
            for port in ports:
                self._write(arrived_rows(entries[entries["port"] == port] if len(ports) > 1 else entries))

    def _write(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=_ROWS_OF_A_GROUP)


def arrived_rows(entries: np.ndarray[tuple[int], np.dtype[np.void]]) -> pa.Table:
    """Rows of frames from `ENTRY`s."""
    corrupt = entries["flags"] & CORRUPT != 0
    times = {}
    for name in ("transmit_ns", "receive_ns"):
        values = np.ascontiguousarray(entries[name])
        times[name] = pa.array(values, mask=(values == NO_TIME_NS) | (corrupt & (values == 0)))
    plain = {name: np.ascontiguousarray(entries[name]) for name in ("stream", "sequence", "port")}
    flags, kind = entries["flags"].astype(np.uint8), entries["flags"] >> 8
    return (
        pa.table({**{name: pa.array(column) for name, column in plain.items()}, **times, "flags": flags, "kind": kind})
        .select(SCHEMA.names)
        .cast(SCHEMA)
    )


def lost_rows(stream: int, numbers: NDArray[np.uint64]) -> pa.Table:
    """Rows of frames that never arrived, by their sequence numbers, which are numbers of frames."""
    count = len(numbers)
    return pa.table(
        {
            "stream": pa.array(np.full(count, stream, np.uint16)),
            "sequence": pa.array(numbers),
            "transmit_ns": pa.nulls(count, pa.int64()),
            "receive_ns": pa.nulls(count, pa.int64()),
            "port": pa.nulls(count, pa.uint16()),
            "flags": pa.array(np.full(count, LOST, np.uint8)),
            "kind": pa.array(np.zeros(count, np.uint32)),
        },
        schema=SCHEMA,
    )
