"""CPU time that a load takes on one CPU, whoever else runs there: what its threads are charged, and soft interrupts.

The kernel charges a soft interrupt to the thread in whose time it ran (unless it is built with IRQ_TIME_ACCOUNTING).
Those that a sender causes on its own CPU run in its time. Those that it causes on another CPU run in the time of any
thread there, so a clock of soft interrupts (`softirq_time.bpf.c`) is needed for them.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peers.compiled import Compiled


class SoftirqClock:
    """Reads the sums of `softirq_time`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def read(self) -> Counter[tuple[int, int]]:
        """ns of soft interrupts so far, by (CPU, thread in whose time they ran)."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        sums: Counter[tuple[int, int]] = Counter()
        while words := self._process.stdout.readline().split():
            cpu, thread, took_ns = map(int, words)
            sums[cpu, thread] = took_ns
        return sums


@contextmanager
def softirq_clock(compiled: Compiled) -> Iterator[SoftirqClock]:
    """Soft interrupts are timed inside the context, which makes each of them some 0.1 µs longer."""
    command = [str(compiled.softirq_time), str(compiled.softirq_time_program)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield SoftirqClock(process)
        finally:
            assert process.stdin
            process.stdin.close()


def charged(group: int, cpu: int) -> Counter[int]:
    """ns so far of each thread of a process group that is bound to `cpu`, and of `ksoftirqd` there; by thread.

    Soft interrupts that ran in a thread's time are in it. `ksoftirqd` goes on with those for which there was no time.
    """
    found: Counter[int] = Counter()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            ours = os.getpgid(int(process.name)) == group
            if not ours and (process / "comm").read_text() != f"ksoftirqd/{cpu}\n":
                continue
            for task in (process / "task").iterdir():
                if os.sched_getaffinity(int(task.name)) == {cpu}:
                    found[int(task.name)] = int((task / "schedstat").read_text().split()[0])
        except (ProcessLookupError, FileNotFoundError):
            continue
    return found
