"""What the CPUs of this host do, sampled: the kernel's chain of calls at equal distances of a CPU's time.

A timer of each CPU interrupts it and keeps the chain of calls that it interrupted (perf_event_open(2), software event
cpu-clock, which needs no counters in hardware). Nothing is added to the path itself. Chains stay in memory that the
kernel writes and are read when it is over. An idle CPU is not sampled.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from keisoku.errors import PlanError
from keisoku.ground.host import perf_event
from keisoku.ground.host.perf_event import (
    DISABLED,
    NO_USER_CHAIN,
    NOT_IDLE,
    OWN_CLOCK,
    SOFTWARE,
    Attributes,
    open_event,
)

_CPU_CLOCK = 0
_TASK, _TIME, _CHAIN = 1 << 1, 1 << 2, 1 << 5
"""What each sample holds: process and thread, the time, and the chain of calls (PERF_SAMPLE_*)."""
_LOST, _SAMPLE = 2, 9
_HEAD, _OFFSET = 1024, 1040
"""Where the first page says how far the kernel wrote, and where the records begin."""
_NO_ADDRESS = 2**64 - 4096
"""From here on an entry of a chain is a mark (PERF_CONTEXT_*) and no address."""
_ROOM_BYTES = 512
"""Of a sample: a chain has about 30 calls."""
_PAGES = range(4, 12)
"""Powers of two; more than 8 MB are used for no CPU."""


class CpuSample(NamedTuple):
    """What a CPU did at a moment."""

    cpu: int
    at_ns: int
    """By CLOCK_MONOTONIC."""
    process: int
    thread: int
    calls: tuple[int, ...]
    """Addresses in the kernel, the innermost first; empty in a program of a user."""


class CpuSamples:
    """Samples all CPUs while its block runs, each every `period_ns` of its time, and keeps as much as `seconds` need.

    Raises PlanError for `field` if the kernel does not let this process do it.
    """

    def __init__(self, period_ns: int, seconds: float, field: str) -> None:
        self.found: list[CpuSample] = []
        """After the block: all samples of a CPU in the order of their times, CPU by CPU."""
        self.lost = 0
        """Samples for which there was no room."""
        needed = seconds * 1e9 / period_ns * _ROOM_BYTES / mmap.PAGESIZE
        pages = 1 << next((power for power in _PAGES if 1 << power >= needed), _PAGES[-1])
        self._bytes = (1 + pages) * mmap.PAGESIZE
        self._events: dict[int, tuple[int, mmap.mmap]] = {}
        try:
            for cpu in _online():
                event = _opened(cpu, period_ns)
                try:
                    self._events[cpu] = event, mmap.mmap(event, self._bytes)
                except OSError:
                    os.close(event)
                    raise
        except OSError as error:
            self._close()
            raise PlanError(
                field,
                f"the kernel lets nobody here look where its CPUs are ({error.strerror})",
                "run it as root, or with CAP_PERFMON and CAP_SYSLOG, or leave it out",
            ) from error

    def __enter__(self) -> Self:
        for event, _ in self._events.values():
            perf_event.enable(event)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for event, _ in self._events.values():
            perf_event.disable(event)
        for cpu, (_, room) in self._events.items():
            (written,), (begin,) = struct.unpack_from("Q", room, _HEAD), struct.unpack_from("Q", room, _OFFSET)
            for kind_of, record in records(room[begin : begin + written]):
                if kind_of == _SAMPLE:
                    self.found.append(_sample(cpu, record))
                elif kind_of == _LOST:
                    self.lost += struct.unpack_from("QQ", record)[1]
        self._close()

    def _close(self) -> None:
        for event, room in self._events.values():
            room.close()
            os.close(event)
        self._events.clear()


def records(written: bytes) -> Iterator[tuple[int, bytes]]:
    """Kinds and contents of what the kernel wrote into a buffer."""
    at = 0
    while at + 8 <= len(written):
        kind, _, size = struct.unpack_from("IHH", written, at)
        if size < 8:
            return
        yield kind, written[at + 8 : at + size]
        at += size


def _sample(cpu: int, record: bytes) -> CpuSample:
    process, thread, at_ns, count = struct.unpack_from("iiQQ", record)
    calls = struct.unpack_from(f"{count}Q", record, 24)
    return CpuSample(cpu, at_ns, process, thread, tuple(call for call in calls if call < _NO_ADDRESS))


def _opened(cpu: int, period_ns: int) -> int:
    """Raises OSError if the kernel refuses."""
    attributes = Attributes(
        kind=SOFTWARE,
        event=_CPU_CLOCK,
        period=period_ns,
        sample=_TASK | _TIME | _CHAIN,
        flags=DISABLED | NOT_IDLE | NO_USER_CHAIN | OWN_CLOCK,
        clock=time.CLOCK_MONOTONIC,
    )
    return open_event(attributes, -1, cpu)


def _online() -> list[int]:
    text = Path("/sys/devices/system/cpu/online").read_text()
    spans = [span.split("-") for span in text.strip().split(",")]
    return [cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1)]
