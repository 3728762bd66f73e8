"""CPU time of threads and soft interrupts of this host, read before and after what causes it.

A thread's is the scheduler's own count in ns (/proc/PID/task/TID/schedstat). Soft interrupts are counted in ticks of
10 ms, by CPU (/proc/stat), and where they run in a thread of the kernel they are that thread's as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.host.activity import kinds_ns

PACKET_THREADS = ("ksoftirqd/", "napi/", "vhost-")
"""Beginnings of the names of the kernel's threads that carry packets."""
_NAME_BYTES = 15
Thread = tuple[int, int, str]
"""Process, thread, and the name of the thread."""


def of_processes(names: Sequence[str]) -> dict[Thread, int]:
    """CPU time in ns of each thread of the processes with these numbers or names, and of the kernel's threads that
    carry packets.

    Raises PlanError for a process that is not there.
    """
    found: dict[Thread, int] = {}
    missing = set(names)
    for process, name in _processes():
        # The kernel keeps the first 15 bytes of a name.
        asked = {each for each in names if each == str(process) or each.encode()[:_NAME_BYTES] == name.encode()}
        missing -= asked
        if not asked and not name.startswith(PACKET_THREADS):
            continue
        with suppress(OSError):
            for thread in os.scandir(f"/proc/{process}/task"):
                with suppress(OSError, ValueError):
                    ns = int(Path(thread.path, "schedstat").read_text().split()[0])
                    found[process, int(thread.name), Path(thread.path, "comm").read_text().strip()] = ns
    if missing:
        absent = sorted(missing)[0]
        raise PlanError("process", f"no process has the name or number {absent!r}", "look with 'ps -e'")
    return found


def of_soft_interrupts() -> dict[int, int]:
    """CPU time in ns of soft interrupts since the host started, by CPU, in steps of 10 ms."""
    lines = [line for line in Path("/proc/stat").read_text().splitlines() if re.match(r"cpu\d", line)]
    return {int(line.split()[0].removeprefix("cpu")): kinds_ns(line)["softirq"] for line in lines}


def named(before: Mapping[Thread, int], after: Mapping[Thread, int]) -> dict[str, int]:
    """What threads took from one reading to the next, in ns, by name; those that took nothing are left out."""
    taken: dict[str, int] = {}
    for thread, ns in after.items():
        if (took_ns := ns - before.get(thread, 0)) > 0:
            taken[thread[2]] = taken.get(thread[2], 0) + took_ns
    return taken


def _processes() -> Iterator[tuple[int, str]]:
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError):
                yield int(entry.name), Path(entry.path, "comm").read_text().strip()
