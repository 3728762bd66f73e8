"""Where the time of this host went while something was measured: what its CPUs did, who waited, what TCP repeated.

A thread reads the kernel's own counts a few times a second. It judges nothing. Work on other hosts is not seen.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from keisoku.ground.host.namespace import named, run_in_namespace

INTERVAL_S = 0.5
SAMPLE_S = 0.05
_KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Columns of /proc/stat (proc(5)). Those behind them, of guests, are in the first two already."""


@dataclass(frozen=True)
class ActivityInterval:
    """Of all CPUs together; times in ns, in steps of the kernel's tick."""

    began_ns: int
    ended_ns: int
    """By CLOCK_MONOTONIC."""
    cpus: int
    user_ns: int
    system_ns: int
    """Without interrupts."""
    softirq_ns: int
    """Of interrupts too: packets are received in them."""
    idle_ns: int
    steal_ns: int
    """What a hypervisor took."""
    runnable: float
    """Threads that ran or waited for a CPU, on average of the samples."""
    waited_ns: int | None
    """Time in which at least one thread waited for a CPU (PSI); None where the kernel does not report it."""
    retransmitted: int
    """TCP segments, of the network namespaces that were asked for."""
    squeezed: int
    """Times at which a CPU stopped receiving packets although more were there."""
    backlog_drops: int
    """Packets for which a CPU's receive backlog had no room."""


class ActivityWatch:
    """Watches while its block runs; `intervals` has what was seen. `namespaces`: names or paths, None is this one."""

    def __init__(self, namespaces: Sequence[str | None] = (None,), interval_s: float = INTERVAL_S) -> None:
        self._namespaces = list(dict.fromkeys(namespaces))
        self._interval_ns = interval_s * 1e9
        self.intervals: list[ActivityInterval] = []
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._before = self._read()
        self._runnable: list[int] = []
        self._thread = threading.Thread(target=self._watch, name="keisoku-activity", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._keep()

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self._runnable.append(_count(Path("/proc/stat"), "procs_running"))
            if time.monotonic_ns() - self._before["at"] >= self._interval_ns:
                self._keep()

    def _keep(self) -> None:
        now, before = self._read(), self._before
        change = {name: now[name] - before[name] for name in now if name in before}
        # The thread that samples runs itself.
        seen = [max(0, count - 1) for count in self._runnable]
        self.intervals.append(
            ActivityInterval(
                began_ns=before["at"],
                ended_ns=now["at"],
                cpus=os.cpu_count() or 1,
                user_ns=change["user"] + change["nice"],
                system_ns=change["system"],
                softirq_ns=change["softirq"] + change["irq"],
                idle_ns=change["idle"] + change["iowait"],
                steal_ns=change["steal"],
                runnable=sum(seen) / len(seen) if seen else 0.0,
                waited_ns=change.get("waited"),
                retransmitted=change["retransmitted"],
                squeezed=change["squeezed"],
                backlog_drops=change["dropped"],
            )
        )
        self._before, self._runnable = now, []

    def _read(self) -> dict[str, int]:
        """Counts by name."""
        read = kinds_ns(Path("/proc/stat").read_text().partition("\n")[0])
        with suppress(OSError, IndexError, ValueError):
            pressure = Path("/proc/pressure/cpu").read_text().partition("\n")[0]
            read["waited"] = int(pressure.rpartition("total=")[2]) * 1000
        backlogs = [line.split() for line in Path("/proc/net/softnet_stat").read_text().splitlines()]
        read["dropped"] = sum(int(line[1], 16) for line in backlogs)
        read["squeezed"] = sum(int(line[2], 16) for line in backlogs)
        read["retransmitted"] = sum(run_in_namespace(named(place), _retransmitted) for place in self._namespaces)
        return read | {"at": time.monotonic_ns()}


def kinds_ns(line: str) -> dict[str, int]:
    """What CPUs did, in ns by kind, of a line of /proc/stat: of all together, or of one."""
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return {name: int(value) * tick_ns for name, value in zip(_KINDS, line.split()[1:], strict=False)}


def _retransmitted() -> int:
    """Segments that the namespace of the calling thread has sent again."""
    names, values = (
        line.split() for line in Path("/proc/thread-self/net/snmp").read_text().splitlines() if line.startswith("Tcp:")
    )
    return int(values[names.index("RetransSegs")])


def _count(file: Path, name: str) -> int:
    return next((int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith(name)), 0)
