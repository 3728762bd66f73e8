"""What threads make the processor do, by its own counters: cycles, instructions, cache misses.

They count in programs and in the kernel, soft interrupts that run in these threads' place included. What a neighbour
takes of a shared machine is in none of them: instructions not at all, cycles only where it slows a shared cache.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from types import TracebackType
from typing import Self

from keisoku.ground.host import perf_event
from keisoku.ground.host.perf_event import DISABLED, HARDWARE, INHERITED, Attributes, open_event

EVENTS: Mapping[str, tuple[int, int]] = {
    "cycles": (HARDWARE, 0),
    "instructions": (HARDWARE, 1),
    "cache_misses": (HARDWARE, 3),
}
"""Kind and number of each (PERF_COUNT_HW_*)."""
_TIMES = 3
"""Read how long the event was wanted and how long it was counted, in ns, beside the count."""


@lru_cache
def counted() -> bool:
    """Whether this machine has these counters, and this process may read them."""
    with CpuCounters([0]) as counters:
        pass
    return bool(counters.found)


class CpuCounters:
    """Counts `events` of threads, and of those that they make, while its block runs.

    Of a machine that does not have an event, as most virtual machines, or of a kernel that does not allow it, nothing
    is counted.
    """

    def __init__(self, threads: Iterable[int], events: Mapping[str, tuple[int, int]] = EVENTS) -> None:
        self.found: dict[str, int] = {}
        """After the block: counts by the name of the event; empty where none was counted."""
        self._threads, self._events = threads, events
        self._open: list[tuple[str, int]] = []

    def __enter__(self) -> Self:
        for name, (kind, event) in self._events.items():
            for thread in self._threads:
                attributes = Attributes(kind=kind, event=event, read=_TIMES, flags=DISABLED | INHERITED)
                try:
                    self._open.append((name, open_event(attributes, thread, -1)))
                except OSError as error:
                    if error.errno == errno.ESRCH:  # the thread has ended
                        continue
                    self._close()
                    return self
        for _, event in self._open:
            perf_event.enable(event)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, event in self._open:
            perf_event.disable(event)
        for name, event in self._open:
            with suppress(OSError):
                count, wanted_ns, counted_ns = struct.unpack("QQQ", os.read(event, 24))
                # Where there are more events than counters, the kernel counts each for a part of the time.
                whole = round(count * wanted_ns / counted_ns) if counted_ns else 0
                self.found[name] = self.found.get(name, 0) + whole
        self._close()

    def _close(self) -> None:
        for _, event in self._open:
            os.close(event)
        self._open.clear()
