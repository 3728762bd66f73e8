"""Records of trains at both ends, packet by packet, to Parquet and back. It computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from keisoku.subjects.path.time_source import Source, stamp_column
from keisoku.subjects.path.train.probe import ROW, Direction, Rows, TrainPlan

_STAMPS = ("realtime_ns", "monotonic_ns", "kernel_ns", "hardware_ns")


@dataclass(frozen=True)
class Train:
    """One train by one source of time."""

    number: int
    stage: str
    direction: Direction
    ip_bytes: int
    sent_ns: NDArray[np.int64]
    """By place in the train; 0 where there is no stamp."""
    received_ns: NDArray[np.int64]
    """0 where the packet was lost or has no stamp."""
    ttl: int
    """Of the last packet that came; 0: none did."""

    @property
    def count(self) -> int:
        """Packets that were to be sent."""
        return len(self.sent_ns)

    @property
    def complete(self) -> bool:
        """All packets arrived and have both stamps."""
        return bool((self.sent_ns > 0).all() and (self.received_ns > 0).all())

    @property
    def received(self) -> int:
        """Packets that arrived (and have a stamp)."""
        return int((self.received_ns > 0).sum())


class TrainLog:
    """Trains in the order in which they were sent, with their packets."""

    def __init__(self) -> None:
        self._plans: dict[int, TrainPlan] = {}
        self._sent: list[Rows] = []
        self._received: list[Rows] = []

    def __len__(self) -> int:
        return len(self._plans)

    def add(self, first: int, plans: Sequence[TrainPlan], sent: Rows, received: Rows) -> None:
        """Trains numbered from `first`."""
        self._plans |= {first + place: plan for place, plan in enumerate(plans)}
        self._sent.append(sent)
        self._received.append(received)

    def extend(self, other: TrainLog) -> None:
        """Adds the trains of another log."""
        self._plans |= other._plans
        self._sent += other._sent
        self._received += other._received

    def trains(self, source: Source = "kernel") -> list[Train]:
        """Every train by one source of time. A packet that came twice counts by its first arrival."""
        sent, received = _by_train(self._sent), _by_train(self._received)
        return [
            _train(number, plan, sent.get(number), received.get(number), source) for number, plan in self._plans.items()
        ]

    def table(self) -> pa.Table:
        """One row a packet; 0 stands for a stamp that is missing."""
        sent, received = _by_train(self._sent), _by_train(self._received)
        rows = list(self._packets(sent, received))
        columns: dict[str, pa.Array] = {
            "train": pa.array([row[0] for row in rows], pa.uint32()),
            "index": pa.array([row[1] for row in rows], pa.uint16()),
            "stage": pa.array([row[2].stage for row in rows], pa.string()).dictionary_encode(),
            "direction": pa.array([row[2].direction for row in rows], pa.string()).dictionary_encode(),
            "ip_bytes": pa.array([row[2].ip_bytes for row in rows], pa.uint16()),
            "ttl": pa.array([int(row[4]["ttl"]) for row in rows], pa.uint16()),
        }
        for name in _STAMPS:
            columns[f"sent_{name}"] = pa.array([int(row[3][name]) for row in rows], pa.int64())
            columns[f"received_{name}"] = pa.array([int(row[4][name]) for row in rows], pa.int64())
        return pa.table(columns)

    @classmethod
    def from_table(cls, table: pa.Table) -> TrainLog:
        """What `table` made."""
        log = cls()
        columns = {name: table[name].to_numpy() for name in table.column_names if name not in ("stage", "direction")}
        stages, directions = table["stage"].to_pylist(), table["direction"].to_pylist()
        counts = np.unique(columns["train"], return_index=True, return_counts=True)
        for number, first, count in zip(*(part.tolist() for part in counts), strict=True):
            log._plans[number] = TrainPlan(stages[first], directions[first], int(columns["ip_bytes"][first]), count)
        log._plans = dict(sorted(log._plans.items()))
        for end, kept in (("sent", log._sent), ("received", log._received)):
            rows = np.zeros(table.num_rows, ROW)
            for name in ("train", "index", "ttl"):
                rows[name] = columns[name]
            for name in _STAMPS:
                rows[name] = columns[f"{end}_{name}"]
            kept.append(rows[rows["realtime_ns"] > 0])
        return log

    def _packets(
        self, sent: dict[int, Rows], received: dict[int, Rows]
    ) -> Iterator[tuple[int, int, TrainPlan, np.void, np.void]]:
        for number, plan in self._plans.items():
            one, other = (_in_places(rows.get(number), plan.count) for rows in (sent, received))
            for index in range(plan.count):
                yield number, index, plan, one[index], other[index]


def _by_train(parts: Sequence[Rows]) -> dict[int, Rows]:
    if not parts:
        return {}
    rows = np.concatenate(parts)
    rows = rows[np.argsort(rows["train"], kind="stable")]
    numbers, starts = np.unique(rows["train"], return_index=True)
    return dict(zip(numbers.tolist(), np.split(rows, starts[1:]), strict=True))


def _in_places(rows: Rows | None, count: int) -> Rows:
    placed = np.zeros(count, ROW)
    if rows is not None:
        # In reverse, so that the first of several remains.
        for row in rows[::-1]:
            if row["index"] < count:
                placed[int(row["index"])] = row
    return placed


def _train(number: int, plan: TrainPlan, sent: Rows | None, received: Rows | None, source: Source) -> Train:
    one, other = _in_places(sent, plan.count), _in_places(received, plan.count)
    ttl = 0 if received is None else int(received["ttl"][-1])
    return Train(
        number,
        plan.stage,
        plan.direction,
        plan.ip_bytes,
        stamp_column(one, source),
        stamp_column(other, source),
        ttl,
    )
