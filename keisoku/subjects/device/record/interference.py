"""Interference with the tester during a trial: by the host (`Interference`), and at its ports (`PortCounters`).

`Interference` mirrors `core/src/hiccup.rs`. These are measured values; `validity` judges whether they make a trial
invalid. A value that the kernel does not provide is None, which is different from zero.
"""

from __future__ import annotations

from typing import Literal, Self, TypeAlias

from keisoku.frozen import Frozen
from keisoku.subjects.device.record.counts import Buckets

PortEngine: TypeAlias = Literal["xdp", "afxdp", "packet"]
"""What drives a port of this host: XDP frames from BPF, AF_XDP sockets, or packet sockets."""


class Lateness(Frozen):
    """How late a thread that sleeps to a fixed grid of times woke, over all points of the grid.

    A point that the thread missed counts with its own lateness: the counts describe an event due at any time, not the
    thread's wake-ups.
    """

    points: int
    max_ns: int
    over_1_ms: int
    histogram: Buckets


class Speed(Frozen):
    """How fast a core worked: pieces of the same work, 0.1 % of a sender's time (`core/src/hiccup/speed.rs`)."""

    pieces: int
    fastest_ns: int
    """The shortest time that a piece took since the ports were opened."""
    total_ns: int
    """Sum of the times of all pieces."""

    @property
    def slowdown(self) -> float:
        """Mean time of a piece as a ratio to the fastest one; 1 if no piece was worked."""
        return self.total_ns / (self.pieces * self.fastest_ns) if self.pieces and self.fastest_ns else 1.0


class Core(Frozen):
    """One of the tester's cores."""

    cpu: int
    steal_ns: int | None
    """Time that the hypervisor took from the core (steal), in steps of `Interference.steal_resolution_ns`."""
    heat_events: int | None
    """Number of times the core was throttled because of heat."""
    frequency_khz: tuple[int, int] | None
    """At the beginning and at the end."""
    lateness: Lateness | None
    """None on a core on which a sender polls: a sleeping thread there would disturb the sender and measure only it."""
    speed: Speed | None = None
    """None where no sender works."""
    of_device: bool = False
    """Whether a device of the lab works on this core: what is taken from it is taken from the device."""


class Thread(Frozen):
    """One thread of the tester over its part of the trial."""

    role: str
    """'sender' or 'accounting', perhaps followed by a port's name."""
    ran_ns: int
    run_delay_ns: int | None
    """Time in which it was runnable but waited for other threads on its core (schedstat, exact)."""
    involuntary_switches: int


class Throttling(Frozen):
    """Time taken by CPU quotas of the process's control groups, or of groups above them."""

    periods: int
    """Periods of a quota that ended with threads stopped."""
    stopped_ns: int
    """Total stopped time, summed over cores."""


class Interference(Frozen):
    """Interference by the host during `span_ns`, the trial and its drain."""

    span_ns: int
    steal_resolution_ns: int
    cores: list[Core]
    threads: list[Thread]
    throttling: Throttling | None
    """None where no CPU quota can be seen."""
    clock_sources: tuple[str, str]
    """The kernel's clock source at the beginning and at the end."""

    @property
    def slowdown(self) -> float:
        """That ratio of the senders' core that was slowed most: see `Speed.slowdown`."""
        return max((core.speed.slowdown for core in self.cores if core.speed is not None), default=1.0)

    @property
    def device_slowdown(self) -> float:
        """The same ratio of the core on which a device of the lab works, if a sender works there too; else 1."""
        own = [core.speed.slowdown for core in self.cores if core.of_device and core.speed is not None]
        return max(own, default=1.0)


class PortCounters(Frozen):
    """The kernel's counters of one tester port (`ip -s -s link`): since the port was made, or a change of them."""

    port: str
    engine: PortEngine
    driver: str | None
    rx_packets: int
    tx_packets: int
    rx_errors: int
    tx_errors: int
    rx_dropped: int
    """Frames dropped for lack of room, frames for which the host has no protocol, and with some drivers those that the
    tester's program took (`validity.port_drops`)."""
    tx_dropped: int
    rx_missed_errors: int
    rx_fifo_errors: int
    rx_over_errors: int
    rx_crc_errors: int = 0
    """Frames with a wrong FCS: they were damaged on the wire."""
    peer_tx_dropped: int | None
    """Frames that the device's end of a veth could not put into this port's ring; None where the tester cannot read
    that end."""
    taken_frames: int | None = None
    """Frames that the tester's own program took out of the host's way at this port; None where it has no program."""

    def since(self, before: Self) -> Self:
        """The change from `before`, a reading of the same port."""
        counts = {
            name: getattr(self, name) - getattr(before, name)
            for name in type(self).model_fields
            if isinstance(getattr(before, name), int) and getattr(self, name) is not None
        }
        return self.model_copy(update=counts)
