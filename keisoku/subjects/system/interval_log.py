"""Log of a run on a whole system: every interval, with its command and the observation of the network.

One row for each client of an interval, as Parquet parts of the run's directory. It scores and infers nothing.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import pyarrow as pa

from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Flag
from keisoku.language import phrase
from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.search.candidate import Limit
from keisoku.subjects.system.state import State

TABLE = "intervals"
_PART_INTERVALS, _PART_S = 600, 5.0
"""A part is written after so many intervals or seconds: later ones are lost at `kill -9`."""
_TYPES = {"str": pa.string(), "float": pa.float64(), "float | None": pa.float64(), "int": pa.int64()}
_TYPES |= {"int | None": _TYPES["int"], "bool": pa.bool_()}
_VIEW = [(field.name, _TYPES[str(field.type)]) for field in fields(ClientView)]
_INTERVAL = [
    ("interval", pa.int64()),
    ("purpose", pa.string()),
    ("why", pa.string()),
    ("commanded_bps", pa.float64()),
    ("used", pa.bool_()),
    ("seconds", pa.float64()),
    ("server_line_bps", pa.float64()),
    ("truth", pa.string()),
]
SCHEMA = pa.schema(_INTERVAL + _VIEW)


@dataclass(frozen=True)
class KeptInterval:
    """An interval of a run."""

    purpose: str
    """`begin`, `search`, `confirm`, `sweep`, `look` or `hold`."""
    why: str
    commanded_bps: Limit
    """The limit of the governed ports that was asked for; None: none. What was set is in the observation."""
    used: bool
    """False while the system settled after a change of the limit, or if the limit was not the one that was asked for:
    not analysed."""
    observation: Observation
    truth: State | None
    """True state of the whole system, where it is known; for scoring only."""

    def as_asked(self, ports: Collection[str]) -> bool:
        """Whether these clients' ports had the limit that was asked for throughout the interval, read back there."""
        views = (client for client in self.observation.clients if client.name in ports)
        return all(client.limited_to(self.commanded_bps) for client in views)

    def unused(self) -> KeptInterval:
        """The same, to be left out of the analysis."""
        return replace(self, used=False)


class IntervalLog:
    """Appends to a run's directory. What was added is on the disk after `flush`, which leaving the context does."""

    def __init__(self, directory: RunDirectory) -> None:
        self.directory = directory
        self.held = kept_intervals(directory)
        """Intervals of the run that is continued; none in a new one."""
        self.intervals = len(self.held)
        self._rows: list[dict[str, Any]] = []
        self._pending, self._since_s = 0, time.monotonic()

    def add(self, kept: KeptInterval) -> None:
        """Keeps an interval."""
        at = kept.observation
        interval = {
            "interval": self.intervals,
            "purpose": kept.purpose,
            "why": kept.why,
            "commanded_bps": kept.commanded_bps,
            "used": kept.used,
            "seconds": at.seconds,
            "server_line_bps": at.server_line_bps,
            "truth": None if kept.truth is None else kept.truth.value,
        }
        self._rows += [interval | asdict(client) for client in at.clients]
        self.intervals += 1
        self._pending += 1
        if self._pending >= _PART_INTERVALS or time.monotonic() - self._since_s > _PART_S:
            self.flush()

    def flush(self) -> None:
        """Writes what is pending."""
        self.directory.append(TABLE, pa.Table.from_pylist(self._rows, SCHEMA))
        self._rows, self._pending, self._since_s = [], 0, time.monotonic()

    def __enter__(self) -> IntervalLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()


def not_as_asked(intervals: Sequence[KeptInterval], ports: Collection[str]) -> list[Flag]:
    """Says so, where the ports did not have the limit that was asked for."""
    lost = [kept for kept in intervals if not kept.as_asked(ports)]
    if not lost:
        return []
    seconds = sum(kept.observation.seconds for kept in lost)
    text = phrase(
        "In {lost} of {intervals} intervals ({seconds:.3g} s) the ports did not keep the "
        "limit that was asked for, or not throughout: they are not used, and it was set "
        "again. The guard lifts all limits when this process stands still for 4 s.",
        lost=len(lost),
        intervals=len(intervals),
        seconds=seconds,
    )
    return [Flag(name="limit-not-kept", text=text)]


def kept_intervals(directory: RunDirectory) -> list[KeptInterval]:
    """All intervals of a run, in order; empty if it ended before the first."""
    return [_interval(rows) for rows in _grouped(directory)]


def _grouped(directory: RunDirectory) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for part in directory.batches(TABLE):
        for row in part.to_pylist():
            if rows and row["interval"] != rows[0]["interval"]:
                yield rows
                rows = []
            rows.append(row)
    if rows:
        yield rows


def _interval(rows: list[dict[str, Any]]) -> KeptInterval:
    first = rows[0]
    views = tuple(ClientView(**{name: row[name] for name, _ in _VIEW}) for row in rows)
    return KeptInterval(
        first["purpose"],
        first["why"],
        first["commanded_bps"],
        first["used"],
        Observation(first["seconds"], views, first["server_line_bps"]),
        None if first["truth"] is None else State(first["truth"]),
    )
