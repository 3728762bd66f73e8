"""`ClientRun`: the record of one client in one run of a load. Counts and times only; the analysis computes rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class ClientRun:
    """`latencies` are (lower ns, upper ns, count) in ascending order: lower <= latency < upper."""

    client: str
    completed: int
    failed: int
    received_bytes: int
    """Of answers, with their headers."""
    began_ns: int
    ended_ns: int
    """By CLOCK_MONOTONIC."""
    latencies: tuple[tuple[int, int, int], ...] = ()
    given_up: int = 0
    """Under way when the load ended."""
    unsent: int = 0
    """Open loop: due by the end, but never sent, for every connection was taken."""
    cpu_ns: int | None = None
    """Processor time of the client; None if it does not report it."""
    failures: Mapping[str, int] = field(default_factory=dict)
    slices: tuple[tuple[int, int], ...] = ()
    """Requests completed and bytes received in each tenth of a second; empty if the client does not report them."""

    @property
    def seconds(self) -> float:
        """From the beginning to the end."""
        return (self.ended_ns - self.began_ns) / 1e9


class Running(Protocol):
    """A load that is ready to begin."""

    def begin(self, at_ns: int) -> None:
        """At that time of CLOCK_MONOTONIC; returns before."""

    def finish(self) -> ClientRun:
        """Waits for its end. Raises EngineError if it could not go on."""

    def stop(self) -> None:
        """Ends it early; `finish` then returns the record, or raises EngineError where the client has none."""
