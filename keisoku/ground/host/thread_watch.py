"""Whether a load waits for a CPU: the states of the threads that carry it, looked at again and again.

Where a CPU is all that holds a load up, one of its threads runs or waits for a CPU at any moment. How busy each CPU is
does not tell: the threads move between CPUs, so that none need be busy throughout, and other programs use them too.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

EVERY_S = 0.02
"""Mean time between looks. They come at random, so that they keep no step with the kernel's tick."""
STREAMS = ("keisoku-stream-",)
"""Beginnings of the names of threads that carry streams (core/src/stream)."""
REQUESTS = ("keisoku-http-",)
"""Of those that request files (core/src/system/http_load)."""
_FIND_S = 1.0
"""Time between searches for processes of other programs."""
_OWN = Path("/proc/self/task")
_SOFTIRQ = "ksoftirqd/"
"""Threads of the kernel that deliver packets where there are too many for the thread that sends them."""
_WANTS_CPU = "R"


class Look(NamedTuple):
    """At a moment in which threads with one of the names were there."""

    at_ns: int
    """By CLOCK_MONOTONIC."""
    wanted: bool
    """Whether one of them, of the server or of the kernel that delivers packets, ran or waited for a CPU."""


class ThreadWatch:
    """Looks at this process's threads whose names begin with one of `names` while its block runs.

    Single-threaded processes that are called `program`, of the server, are looked at beside them. `looks` has what was
    seen. A thread waits for a CPU, too, while a hypervisor keeps the CPU from this host.
    """

    def __init__(self, names: Sequence[str], program: str | None = None) -> None:
        self._names, self._program = tuple(names), program
        self.looks: list[Look] = []
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._watch, name="keisoku-threads", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        moments = random.Random(0)
        others: list[Path] = []
        found_s = -math.inf
        while not self._over.wait(moments.uniform(0.5, 1.5) * EVERY_S):
            at_ns = time.monotonic_ns()
            own = [seen for seen in map(_seen, _OWN.iterdir()) if seen[0].startswith(self._names)]
            if not own:
                continue
            self.looks.append(Look(at_ns, wants_cpu([*own, *map(_seen, others)])))
            if time.monotonic() - found_s > _FIND_S:
                others, found_s = self._others(), time.monotonic()

    def _others(self) -> list[Path]:
        processes = (path for path in Path("/proc").iterdir() if path.name.isdigit())
        named = ((path, _seen(path)[0]) for path in processes)
        return [path for path, name in named if name == self._program or name.startswith(_SOFTIRQ)]


def wants_cpu(threads: Iterable[tuple[str, str]]) -> bool:
    """Whether one of the threads, with names and states, runs or waits for a CPU."""
    return any(state == _WANTS_CPU for _, state in threads)


def name_and_state(stat: str) -> tuple[str, str]:
    """Of a thread, from the text of its `stat` (proc_pid_stat(5)); a name may contain spaces and brackets."""
    head, _, rest = stat.rpartition(")")
    return head.partition("(")[2], rest.split()[0]


def _seen(thread: Path) -> tuple[str, str]:
    """Empty for one that has ended."""
    with suppress(OSError):
        return name_and_state((thread / "stat").read_text())
    return "", ""
