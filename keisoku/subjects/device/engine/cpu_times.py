"""The CPU time that others than the sender took for the load of a trial. Reads; judges nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Self

from keisoku.ground.host.cpu_time import PACKET_THREADS, Thread, named, of_processes, of_soft_interrupts


class CpuTimes:
    """Reads before and after its block, if the trial asks for it (`Trial.processes`)."""

    def __init__(self, processes: Sequence[str] | None) -> None:
        self._processes = processes
        self._threads: list[dict[Thread, int]] = []
        self._interrupts: list[dict[int, int]] = []

    def _read(self) -> None:
        if self._processes is not None:
            self._threads.append(of_processes(self._processes))
            self._interrupts.append(of_soft_interrupts())

    def __enter__(self) -> Self:
        """Raises PlanError for a process that is not there."""
        self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._read()

    def facts(self, sending: Collection[int]) -> dict[str, object]:
        """Fields of the trial's facts; `sending` are the CPUs of senders, whose soft interrupts batches contain."""
        if not self._threads:
            return {}
        (before, after), (earlier, later) = self._threads, self._interrupts
        threads = named(before, after)
        # A soft interrupt that ran in its CPU's own thread is in both counts.
        others = {
            cpu: max(0, ns - earlier.get(cpu, ns) - threads.get(f"ksoftirqd/{cpu}", 0))
            for cpu, ns in later.items()
            if cpu not in sending
        }
        carrying = {name: ns for name, ns in threads.items() if name.startswith(PACKET_THREADS)}
        return {
            "threads_ns": {name: ns for name, ns in threads.items() if name not in carrying},
            "packet_threads_ns": carrying,
            "soft_interrupts_ns": others,
        }
