"""Frames that arrived too late, each with the first arrival that had overtaken it, from the rows of one trial.

How far a frame is late (RFC 4737 §4.2) is its distance from the first arrival with a higher number. The highest number
so far never falls, so that arrival is found in it by bisection. Rows are stored nearly in the order of arrival, so they
are read once with few of them in memory; only frames that are late by more than these need another reading.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, LOST, REORDERED

LATE = pa.schema(
    [
        ("stream", pa.uint16()),
        ("port", pa.uint16()),
        ("sequence", pa.uint64()),
        ("transmit_ns", pa.int64()),
        ("receive_ns", pa.int64()),
        ("extent_frames", pa.int64()),
        ("behind", pa.uint64()),
        ("late_ns", pa.int64()),
    ]
)
ARRIVALS_KEPT = 1 << 22
"""Arrivals in memory: a frame that is not late by more is found in one reading."""
FRAMES_WAITING = 1 << 22
"""Frames that are later than that, and wait for another reading."""
_NUMBER_BITS, _STREAMS = 48, 1 << 16
"""A sequence number has 48 bits. In this file a frame's number has its stream above them, so that all streams of a port
are one rising sequence of numbers where their arrivals stand one stream behind the other."""
_COLUMNS = ("stream", "sequence", "transmit_ns", "receive_ns", "flags")
_PIECE = 1 << 16
"""Rows of a block, about: as many as fit into the caches of a CPU."""
_NEVER = np.iinfo(np.int64).max
_FEW = 8
"""Streams whose arrivals are picked out faster one after the other than by sorting."""
_Indices = NDArray[np.intp]
_Rows = dict[str, NDArray[Any]]
"""By the names of `_COLUMNS`."""
_WAITING = np.dtype([("number", "<u8"), ("transmit_ns", "<i8"), ("receive_ns", "<i8"), ("place", "<i8")])
_Waiting = np.ndarray[tuple[int], np.dtype[np.void]]
"""Late frames by their numbers (`_WAITING`), with their places among the arrivals of their streams."""


@dataclass(frozen=True)
class _Group:
    """A row group of a file."""

    index: int
    ports: tuple[int, int]
    """The least and the greatest."""
    first_ns: int
    """When its first frame arrived."""
    may_be_late: bool


@dataclass(frozen=True)
class _Block:
    """Consecutive arrivals at a port, one stream behind the other, each in the order of arrival."""

    port: int
    highest: NDArray[np.uint64]
    """At each arrival the highest number of its stream so far."""
    receive_ns: NDArray[np.int64]
    entered: NDArray[np.uint64]
    """The highest number of each of its streams before the block."""
    reached: NDArray[np.uint64]
    """The same at its end."""
    shift: NDArray[np.int64]
    """For each of its streams what makes an index of this block a place among all arrivals of the stream."""
    late: _Waiting

    def settle(self, late: _Waiting) -> tuple[pa.RecordBatch, _Waiting]:
        """Rows (`LATE`) of those frames that were overtaken first in this block, and the others."""
        begin, end = np.searchsorted(late["number"], self.entered), np.searchsorted(late["number"], self.reached)
        counts = end - begin
        chosen = np.repeat(begin - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        found = late[chosen]
        at = np.searchsorted(self.highest, found["number"], "right")
        stream, sequence = _stream_and_sequence(found["number"])
        columns = {
            "stream": stream,
            "port": np.full(len(found), self.port, np.uint16),
            "sequence": sequence,
            "transmit_ns": found["transmit_ns"],
            "receive_ns": found["receive_ns"],
            "extent_frames": found["place"] - at - np.repeat(self.shift, counts),
            "behind": _stream_and_sequence(self.highest[at])[1],
            "late_ns": found["receive_ns"] - self.receive_ns[at],
        }
        batch = pa.record_batch([pa.array(np.ascontiguousarray(columns[name])) for name in LATE.names], schema=LATE)
        return batch, np.delete(late, chosen)


class _Arrivals:
    """All arrivals at one port, which come in the order of the file and leave as blocks."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._carried: _Rows = {}
        self._reached = np.arange(_STREAMS, dtype=np.uint64) << np.uint64(_NUMBER_BITS)
        self._arrived = np.zeros(_STREAMS, np.int64)

    def block(self, rows: _Rows, chosen: _Indices, until_ns: int) -> _Block:
        """The chosen ones of these rows, and earlier rows, that arrived before this time; later ones are carried to the
        next block."""
        if carried := len(self._carried.get("stream", ())):
            rows = {name: np.concatenate([column, rows[name]]) for name, column in self._carried.items()}
            chosen = np.concatenate([np.arange(carried), chosen + carried])
        receive_ns = rows["receive_ns"][chosen]
        chosen = chosen[_order_of_arrival(receive_ns, rows["sequence"][chosen])]
        count = np.count_nonzero(receive_ns < until_ns)
        self._carried = {name: column[chosen[count:]] for name, column in rows.items()}
        order = _stream_by_stream(rows["stream"], chosen[:count])
        streams = rows["stream"][order]
        begin = np.flatnonzero(np.diff(streams, prepend=~streams[:1]))
        own = streams[begin]
        number = (streams.astype(np.uint64) << np.uint64(_NUMBER_BITS)) | rows["sequence"][order]
        entered, first = self._reached[own], self._arrived[own] - begin
        highest = number.copy()
        highest[begin] = np.maximum(highest[begin], entered)
        np.maximum.accumulate(highest, out=highest)
        end = np.append(begin, count)[1:]
        self._reached[own] = reached = highest[end - 1]
        self._arrived[own] += end - begin
        at = np.flatnonzero((rows["flags"][order] & REORDERED != 0) & (highest > number))
        late = np.empty(len(at), _WAITING)
        late["number"], late["place"] = number[at], at + first[np.searchsorted(begin, at, "right") - 1]
        for name in ("transmit_ns", "receive_ns"):
            late[name] = rows[name][order[at]]
        return _Block(self._port, highest, rows["receive_ns"][order], entered, reached, first, _by_number(late))


def late_arrivals(file: Path) -> pa.RecordBatchReader:
    """Each reordered frame of the file, in no order (`LATE`): how many arrivals and nanoseconds it came behind
    the first that had overtaken it, and that one's number. Arrivals of one time are in the order of their numbers.

    A file whose rows are far from the order of arrival takes memory for all rows that others must come before.
    """
    return pa.RecordBatchReader.from_batches(LATE, _settled(file))


def _settled(file: Path) -> Iterator[pa.RecordBatch]:
    kept = deque[_Block]()
    waiting = defaultdict[int, list[_Waiting]](list)
    for block in _blocks(file):
        kept.append(block)
        while len(kept) > 1 and sum(len(old.highest) for old in kept) > ARRIVALS_KEPT:
            kept.popleft()
        late = block.late
        for known in reversed(kept):
            if len(late) and known.port == block.port:
                batch, late = known.settle(late)
                yield batch
        if len(late):
            waiting[block.port].append(late)
        if sum(len(part) for parts in waiting.values() for part in parts) > FRAMES_WAITING:
            yield from _settled_again(file, waiting)
            waiting.clear()
    if waiting:
        yield from _settled_again(file, waiting)


def _settled_again(file: Path, waiting: dict[int, list[_Waiting]]) -> Iterator[pa.RecordBatch]:
    """Reads the file from its begin until every one of these frames is settled."""
    left = {port: _by_number(np.concatenate(parts)) for port, parts in waiting.items()}
    for block in _blocks(file):
        if block.port in left:
            batch, left[block.port] = block.settle(left[block.port])
            yield batch
        if not any(len(late) for late in left.values()):
            return


def _blocks(file: Path) -> Iterator[_Block]:
    """All arrivals, as soon as no later row has earlier ones of their port; nothing of a file without late frames."""
    arrivals: dict[int, _Arrivals] = {}
    for port, rows, chosen, until_ns in _pieces(file):
        own = arrivals.get(port) or arrivals.setdefault(port, _Arrivals(port))
        yield own.block(rows, chosen, until_ns)
    for rest in arrivals.values():
        yield rest.block(rows, chosen[:0], _NEVER)


def _pieces(file: Path) -> Iterator[tuple[int, _Rows, _Indices, int]]:
    """Port, rows, the first arrivals of whole frames among them, and before when no later row of the port arrived."""
    with pq.ParquetFile(file) as parquet, ThreadPoolExecutor(1) as reader:
        groups = _groups(parquet.metadata)
        if not any(group.may_be_late for group in groups):
            return
        ahead = reader.submit(_read, parquet, groups[0])
        for place in range(1, len(groups) + 1):
            read = ahead.result()
            if place < len(groups):
                ahead = reader.submit(_read, parquet, groups[place])
            begins = np.arange(0, len(read["flags"]), _PIECE)
            # Behind each piece the earliest arrival of the rest of its group.
            first_ns = np.append(np.minimum.reduceat(read["receive_ns"], begins)[1:], _NEVER)
            next_ns = np.minimum.accumulate(first_ns[::-1])[::-1]
            own = _values(read["port"]) if "port" in read else [groups[place - 1].ports[0]]
            behind_ns = {port: _earliest_ns(groups[place:], port) for port in own}
            for begin, within_ns in zip(begins, next_ns.tolist(), strict=True):
                rows = {name: column[begin : begin + _PIECE] for name, column in read.items()}
                ports = rows.pop("port", None)
                whole = rows["flags"] & (DUPLICATE | CORRUPT | LOST) == 0
                for port in own if ports is None else _values(ports):
                    chosen = np.flatnonzero(whole if ports is None else whole & (ports == port))
                    yield port, rows, chosen, min(within_ns, behind_ns[port])


def _earliest_ns(groups: Sequence[_Group], port: int) -> int:
    """Before when nothing arrived at the port in any of these groups."""
    return min((group.first_ns for group in groups if group.ports[0] <= port <= group.ports[1]), default=_NEVER)


def _groups(metadata: pq.FileMetaData) -> list[_Group]:
    """Those that have arrivals. What their statistics do not say is taken to be anything."""
    found = []
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        columns = {group.column(number).path_in_schema: group.column(number) for number in range(group.num_columns)}
        said = {name: columns[name].statistics for name in ("receive_ns", "port", "flags")}
        time, port, flags = (one if one is not None and one.has_min_max else None for one in said.values())
        nulls = said["receive_ns"].null_count if said["receive_ns"] is not None else 0
        if (nulls or 0) < group.num_rows:
            ports = (port.min, port.max) if port else (0, _STREAMS)
            first_ns = time.min if time else -_NEVER
            found.append(_Group(index, ports, first_ns, flags is None or flags.max >= REORDERED))
    return found


def _read(parquet: pq.ParquetFile, group: _Group) -> _Rows:
    """With the column `port` where it is not the same in all rows."""
    least, most = group.ports
    table = parquet.read_row_group(group.index, [*_COLUMNS, *(["port"] if least < most else [])])
    absent = {"receive_ns": _NEVER}
    return {name: _numbers(table.column(name), absent.get(name, 0)) for name in table.column_names}


def _numbers(column: pa.ChunkedArray, absent: int) -> NDArray[Any]:
    """Without a copy where nothing is absent: copies took a third of the time of reading."""
    whole = column.fill_null(absent) if column.null_count else column
    numbers: NDArray[Any] = (whole.chunk(0) if whole.num_chunks == 1 else whole).to_numpy()
    return numbers


def _order_of_arrival(receive_ns: NDArray[np.int64], sequence: NDArray[np.uint64]) -> _Indices:
    """Indices by time, and by sequence number where that is equal. Only rows that are not so already are compared."""
    order = np.arange(len(receive_ns))
    fall = np.flatnonzero(receive_ns[1:] <= receive_ns[:-1])
    if ((receive_ns[fall + 1] < receive_ns[fall]) | (sequence[fall + 1] < sequence[fall])).any():
        latest, earliest = np.maximum.accumulate(receive_ns), np.minimum.accumulate(receive_ns[::-1])[::-1]
        apart = np.concatenate([[True], latest[:-1] < earliest[1:], [True]])
        loose = np.flatnonzero(~(apart[:-1] & apart[1:]))
        order[loose] = loose[np.lexsort((sequence[loose], receive_ns[loose]))]
    return order


def _stream_by_stream(stream: NDArray[np.uint16], chosen: _Indices) -> _Indices:
    """These indices by their streams, otherwise in their order."""
    own = stream[chosen]
    few = _values(own)
    if len(few) > _FEW:
        chosen = chosen[np.argsort(own, kind="stable")]
    elif len(few) > 1:
        chosen = chosen[np.concatenate([np.flatnonzero(own == value) for value in few])]
    return chosen


def _values(numbers: NDArray[np.uint16]) -> list[int]:
    """Each number that occurs, rising."""
    if len(numbers) and numbers.min() == numbers.max():
        return [int(numbers[0])]
    return np.flatnonzero(np.bincount(numbers)).tolist()


def _by_number(late: _Waiting) -> _Waiting:
    return late[np.argsort(late["number"])]


def _stream_and_sequence(number: NDArray[np.uint64]) -> tuple[NDArray[np.uint16], NDArray[np.uint64]]:
    return (number >> np.uint64(_NUMBER_BITS)).astype(np.uint16), number & np.uint64((1 << _NUMBER_BITS) - 1)
