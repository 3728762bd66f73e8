"""The log of a clock against a reference on disk, reading by reading, for days.

Every reading is kept with the ticks on both sides of it. The first reading is synced at once; then parts are synced
after 1, 2, 4 and 8 s, every ten seconds, and later every thousandth of the log, so that `kill -9` costs no more than
that. It computes no figure; `phase_log` makes phase of what it kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from keisoku.errors import EngineError, PlanError
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Flag
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase, plural
from keisoku.subjects.clock.host_clocks import HostClocks
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.stability.phase_log import Integers, PhaseLog, Readings, phase_log
from keisoku.subjects.clock.stability.power_law import Floats

TABLE = "readings"
_WORD = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("session", pa.int32(), nullable=False),  # counts how often the log was begun or resumed
        pa.field("at_ns", pa.int64(), nullable=False),  # CLOCK_MONOTONIC
        pa.field("reference_ns", pa.int64(), nullable=False),
        pa.field("before", pa.int64(), nullable=False),  # ticks of the counter around the reference
        pa.field("after", pa.int64(), nullable=False),
        pa.field("clock_ns", pa.int64()),  # of a clock that is not the counter, with ticks around it
        pa.field("clock_before", pa.int64()),
        pa.field("clock_after", pa.int64()),
        pa.field("boot", _WORD, nullable=False),
        pa.field("clock_source", _WORD, nullable=False),
        pa.field("suspended_low_ns", pa.int64(), nullable=False),
        pa.field("suspended_high_ns", pa.int64(), nullable=False),
        pa.field("realtime_low_ns", pa.int64(), nullable=False),
        pa.field("realtime_high_ns", pa.int64(), nullable=False),
        pa.field("frequency_ppb", pa.float64(), nullable=False),
        pa.field("status", pa.int32(), nullable=False),
    ]
)
SYNC_S = 10.0
_FIRST_SYNC_S = 1.0
_SYNC_SHARE = 1e-3
_ROWS_MAX = 65_536
_ANALYSED = (
    *("reference_ns", "before", "after", "clock_ns", "clock_before", "clock_after"),
    *("boot", "clock_source", "suspended_low_ns", "suspended_high_ns"),
)
NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class LogPosition:
    """The point from which a log continues: number of earlier sessions, and the time logged in them."""

    session: int = 0
    logged_s: float = 0.0


def place(directory: RunDirectory, every_s: float) -> LogPosition:
    """Of a log that may have been cut off at any moment; each reading stands for the interval that it begins."""
    spans: dict[int, tuple[int, int]] = {}
    for rows in directory.batches(TABLE, ["session", "at_ns"]):
        sessions, times = rows["session"].to_numpy(), rows["at_ns"].to_numpy()
        for session in np.unique(sessions).tolist():
            mine = times[sessions == session]
            first, _ = spans.get(session, (int(mine[0]), 0))
            spans[session] = (first, int(mine[-1]))
    logged_ns = sum(last - first for first, last in spans.values())
    return LogPosition(max(spans, default=-1) + 1, logged_ns / NS_PER_S + len(spans) * every_s)


@dataclass
class Logger:
    """Reads and keeps. `read` is the reference, `read_clock` the clock (None: the counter itself is the clock)."""

    directory: RunDirectory
    read: Callable[[], Reading]
    read_clock: Callable[[], Reading] | None
    look: Callable[[], HostClocks]
    boot: str
    """Another one after every boot."""
    monotonic_ns: Callable[[], int] = time.monotonic_ns
    sleep: Callable[[float], None] = time.sleep
    sync_s: float = SYNC_S
    """At most so long, or a thousandth of the log, is lost when the power is; at first half of the log."""
    failures: int = 0
    """Of the reference to answer; each is a missing reading."""
    _rows: list[dict[str, object]] = field(default_factory=list)

    def run(self, every_s: float, duration_s: float, start: LogPosition) -> Iterator[float]:
        """Logs until `duration_s` were logged in all sessions; yields the seconds logged so far, after each reading.

        A caller that stops early must call `keep`. A reading that falls due while another is in progress is left
        out and not repeated later. Raises EngineError if the reference does not answer the first time.
        """
        every_ns = round(every_s * NS_PER_S)
        self.keep()  # of nothing: Arrow and its Parquet writer take seconds to load, which no reading may wait for
        origin = self.monotonic_ns()
        synced, turn = origin, 0
        while round((duration_s - start.logged_s) / every_s) > turn:
            logged_s = start.logged_s + (turn + 1) * every_s
            now = self.monotonic_ns()
            self._append(start.session, first=turn == 0)
            # At first a log is short, and all of it would be lost with a part.
            soon_s = min(self.sync_s, max(_FIRST_SYNC_S, (now - origin) / NS_PER_S / 2))
            due = max(soon_s, _SYNC_SHARE * logged_s) * NS_PER_S
            if turn == 0 or now - synced >= due or len(self._rows) >= _ROWS_MAX:
                self.keep()
                synced = now
            yield logged_s
            # Whole intervals from the origin, so that being late once does not move the rest.
            turn = max(turn, (self.monotonic_ns() - origin) // every_ns) + 1
            if round((duration_s - start.logged_s) / every_s) <= turn:
                break  # not after another wait
            while (wait_ns := origin + turn * every_ns - self.monotonic_ns()) > 0:
                self.sleep(wait_ns / NS_PER_S)
        self.keep()

    def keep(self) -> None:
        """Writes what was read to the disk."""
        # An interruption in between keeps readings twice, which is harmless, and never loses one.
        self.directory.append(TABLE, pa.Table.from_pylist(self._rows, SCHEMA))
        self._rows = []

    def _append(self, session: int, first: bool) -> None:
        try:
            found = self.read()
            clock = self.read_clock() if self.read_clock else None
        except EngineError:
            if first:
                raise
            self.failures += 1
            return
        host = self.look()
        self._rows.append(
            {
                "session": session,
                "at_ns": self.monotonic_ns(),
                "reference_ns": found.reference_ns,
                "before": found.before,
                "after": found.after,
                "clock_ns": clock and clock.reference_ns,
                "clock_before": clock and clock.before,
                "clock_after": clock and clock.after,
                "boot": self.boot,
                "clock_source": host.clock_source,
                "suspended_low_ns": host.suspended_ns[0],
                "suspended_high_ns": host.suspended_ns[1],
                "realtime_low_ns": host.realtime_ns[0],
                "realtime_high_ns": host.realtime_ns[1],
                "frequency_ppb": host.steering.frequency_ppb,
                "status": host.steering.status,
            }
        )


def logged(directory: RunDirectory, tau0_s: float) -> PhaseLog:
    """The log's phase, as far as it is on the disk. Raises PlanError if it lacks readings, or is of two clocks."""
    rows = directory.rows(TABLE, _ANALYSED)
    if lacking := sorted(set(_ANALYSED) - set(rows.column_names)):
        raise PlanError("run", f"{directory.path} lacks {', '.join(lacking)} of its readings", "log anew")
    columns = {name: rows[name].to_numpy() for name in ("reference_ns", "before", "after")}
    ticks, half = _middle(columns["before"], columns["after"])
    rate = _ticks_per_ns(columns["reference_ns"], ticks)
    clock, bound = ticks, half / rate
    if rows["clock_ns"].null_count == 0:
        around, more = _middle(rows["clock_before"].to_numpy(), rows["clock_after"].to_numpy())
        # The clock when the reference was read: what passed between the two readings is counted by the counter.
        clock = rows["clock_ns"].to_numpy() + np.rint((ticks - around) / rate).astype(np.int64)
        bound = bound + more / rate
    elif rows["clock_ns"].null_count < rows.num_rows:
        raise PlanError("run", f"{directory.path} holds readings of two clocks", "log them apart")
    return phase_log(
        Readings(
            reference_ns=columns["reference_ns"],
            clock=clock,
            bound_ns=bound,
            boot=_codes(rows["boot"]),
            clock_source=_codes(rows["clock_source"]),
            suspended_ns=_proven(rows["suspended_low_ns"].to_numpy(), rows["suspended_high_ns"].to_numpy()),
        ),
        tau0_s,
    )


def host_flags(directory: RunDirectory) -> list[Flag]:
    """Flags for what the kernel did to the clocks that it steers while they were logged."""
    rows = directory.rows(TABLE, ["boot", "frequency_ppb", "realtime_low_ns", "realtime_high_ns"])
    flags = []
    frequency = rows["frequency_ppb"].to_numpy()
    if frequency.max() > frequency.min():
        by = Quantity(value=float(frequency.max() - frequency.min()), unit="ppb", uncertainty=0.0, covers="observed")
        text = phrase("the kernel steered its clocks to other rates while they were logged")
        flags.append(Flag(name="steered", text=text, figures={"by": by}))
    offset = _proven(rows["realtime_low_ns"].to_numpy(), rows["realtime_high_ns"].to_numpy())
    stepped = (np.diff(offset) != 0) & (np.diff(_codes(rows["boot"])) == 0)
    if stepped.any():
        flags.append(
            Flag(
                name="time-stepped",
                text=plural(
                    "the time of day was set {count} time",
                    "the time of day was set {count} times",
                    count=np.count_nonzero(stepped),
                ),
            )
        )
    return flags


def _middle(before: Integers, after: Integers) -> tuple[Integers, Floats]:
    return before + (after - before) // 2, np.asarray((after - before) / 2.0)


def _ticks_per_ns(reference_ns: Integers, ticks: Integers) -> float:
    """Good to far better than a bound needs, whatever happened to either clock on the way."""
    if len(ticks) < 2:
        return 1.0
    passed = np.diff(reference_ns)
    return float(np.median(np.diff(ticks)[passed > 0] / passed[passed > 0])) if (passed > 0).any() else 1.0


def _codes(column: pa.ChunkedArray) -> Integers:
    """A number for each value."""
    chunks = column.dictionary_encode().unify_dictionaries().chunks
    return np.concatenate([chunk.indices.to_numpy() for chunk in chunks]).astype(np.int64)


def _proven(low: Integers, high: Integers) -> Integers:
    """A difference known by bounds, as it must have changed at least: constant wherever bounds overlap."""
    steps = np.zeros(len(low), np.int64)
    up, down = low[1:] > high[:-1], high[1:] < low[:-1]
    middle = (low + high) // 2
    steps[1:] = np.where(up | down, np.diff(middle), 0)
    return np.asarray(np.cumsum(steps))
