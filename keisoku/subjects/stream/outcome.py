"""Figures of the single trials of each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keisoku.subjects.stream.schedule import Cell


@dataclass
class CellOutcome:
    """Figures of one cell on one path ('dut' or 'bare'), an entry for each trial in their order."""

    path: str
    cell: Cell
    numbers: list[int] = field(default_factory=list)
    """Number of the trial in the run, which gives the order in time."""
    bps: dict[str, list[float]] = field(default_factory=dict)
    """Received, by direction and 'all'."""
    offered_bps: list[float] = field(default_factory=list)
    sender_s_per_gb: list[float] = field(default_factory=list)
    """CPU time of the sending threads for 10⁹ bytes that they sent."""
    receiver_s_per_gb: list[float] = field(default_factory=list)
    rtt_us: list[float] = field(default_factory=list)
    retransmissions: int = 0
    segments_sent: int = 0
    segment_bytes: int = 0
    """TCP: longest segment of all trials."""
    offered: int = 0
    arrived: int = 0
    lost: int = 0
    reordered: int = 0
    duplicated: int = 0
    foreign: int = 0
    dropped: int = 0
    """Datagrams that the receiving socket dropped. With offload it counts buffers, each taken for as many datagrams as
    came in one on average; `dropped_least` and `dropped_most` are what it may be."""
    dropped_least: int = 0
    dropped_most: int = 0
    host_drops: int = 0
    """Packets that the receiving host dropped before any socket, of whatever traffic."""
    failures: int = 0
    errors: set[str] = field(default_factory=set)
    receiver_limited: float = 0.0
    """Sum over trials of the share of busy time that waited for the receiver's window."""

    @property
    def values(self) -> list[float]:
        """What was received in all in bit/s, by trial."""
        return self.bps.get("all", [])

    @property
    def network_lost(self) -> int:
        """Datagrams that were lost before the receiving host, counting all drops of that host as ours."""
        return max(self.lost - self.dropped - self.host_drops, 0)

    @property
    def host_lost(self) -> int:
        """Datagrams that the receiving host lost before its socket, as far as that is known."""
        return self.lost - self.dropped - self.network_lost

    @property
    def network_bounds(self) -> tuple[int, int]:
        """The same at least and at most; one number without offload."""
        least = max(self.lost - self.dropped_most - self.host_drops, 0)
        return least, max(self.lost - self.dropped_least, 0)


def cell_outcomes(rows: Sequence[Mapping[str, Any]]) -> list[CellOutcome]:
    """By path and cell. Trials to warm up are left out; those in which a stream broke are only counted."""
    trials: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        if not row["warm_up"]:
            trials.setdefault((row["path"], row["number"]), []).append(row)
    found: dict[tuple[str, Cell], CellOutcome] = {}
    for (path, number), streams in trials.items():
        cell = Cell(streams[0]["setup"], streams[0]["message_bytes"])
        outcome = found.setdefault((path, cell), CellOutcome(path, cell))
        if errors := {row["error"] for row in streams if row["error"]}:
            outcome.failures += 1
            outcome.errors |= errors
        else:
            _add(outcome, number, streams)
    return sorted(found.values(), key=lambda one: (one.path, one.cell))


def _add(outcome: CellOutcome, number: int, streams: Sequence[Mapping[str, Any]]) -> None:
    outcome.numbers.append(number)
    by_direction: dict[str, float] = {}
    for row in streams:
        rate = 8e9 * row["settled_bytes"] / row["settled_ns"] if row["settled_ns"] else 0.0
        by_direction[row["direction"]] = by_direction.get(row["direction"], 0.0) + rate
    for name, rate in {**by_direction, "all": sum(by_direction.values())}.items():
        outcome.bps.setdefault(name, []).append(rate)
    outcome.offered_bps.append(sum(8e9 * row["sent_bytes"] / row["sent_ns"] for row in streams if row["sent_ns"]))
    for figures, cpu, moved in (
        (outcome.sender_s_per_gb, "sender_cpu_ns", "sent_bytes"),
        (outcome.receiver_s_per_gb, "receiver_cpu_ns", "received_bytes"),
    ):
        if total := sum(row[moved] for row in streams):
            # ns for a byte are s for 10⁹ of them.
            figures.append(sum(row[cpu] for row in streams) / total)
    times = [row["rtt_us"] for row in streams if row["rtt_us"] is not None]
    if times:
        outcome.rtt_us.append(sum(times) / len(times))
    shares = [row["receiver_limited_us"] / row["busy_us"] for row in streams if row["busy_us"]]
    outcome.receiver_limited += sum(shares) / len(shares) if shares else 0.0
    for row in streams:
        outcome.retransmissions += row["retransmissions"] or 0
        outcome.segment_bytes = max(outcome.segment_bytes, row["segment_bytes"] or 0)
        outcome.segments_sent += row["sent_bytes"] // row["segment_bytes"] if row["segment_bytes"] else 0
        drops, lost = row["socket_drops"] or 0, row["lost"] or 0
        per_buffer = (row["came"] or 0) / row["buffers"] if row["buffers"] else 1.0
        outcome.dropped += min(round(drops * per_buffer), lost)
        outcome.dropped_least += min(drops, lost)
        outcome.dropped_most += min(drops * (row["most_in_buffer"] or 1), lost)
        for name in ("offered", "arrived", "lost", "reordered", "duplicated", "foreign", "host_drops"):
            setattr(outcome, name, getattr(outcome, name) + (row[name] or 0))
