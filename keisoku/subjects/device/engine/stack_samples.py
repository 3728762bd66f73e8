"""Where in the kernel the CPU time of a trial's load goes, sampled. Reads; judges nothing."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Self

from keisoku.ground.host.cpu_samples import CpuSamples
from keisoku.ground.host.cpu_time import of_processes
from keisoku.ground.host.kernel_symbols import KernelSymbols
from keisoku.subjects.device.record.stacks import SENDER, SOFT_INTERRUPTS, Stack, Stacks
from keisoku.subjects.device.record.trial import NS_PER_S, Trial

_FIELD = "inside"
_SOFT = frozenset({"handle_softirqs", "__do_softirq"})
_SOFT_THREADS = ("ksoftirqd/", "napi/")
_OF_PORTS = frozenset({"transmit", "receive", "pass", "count_refused"})
"""Names of the tester's programs at its ports (core/bpf); it loads others into lab devices."""
_PROGRAM = re.compile(r"bpf_prog_(?P<tag>[0-9a-f]{16})(?:_(?P<name>.+))?")


class StackSamples:
    """Samples while its block runs, if the trial asks for it (`Trial.sample_every_ns`).

    Raises PlanError if the kernel does not let this process do it.
    """

    def __init__(self, trial: Trial, processes: Sequence[str]) -> None:
        """The threads of `processes`, numbers or names, are told apart."""
        self._trial, self._processes = trial, processes
        self._samples: CpuSamples | None = None
        if (period_ns := trial.sample_every_ns) is not None:
            self._symbols = KernelSymbols(_FIELD)
            seconds = (trial.duration_ns + trial.phases.drain_ns) / NS_PER_S
            self._samples = CpuSamples(period_ns, seconds, _FIELD)

    def __enter__(self) -> Self:
        if self._samples is not None:
            self._samples.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._samples is not None:
            self._samples.__exit__(kind, error, trace)

    def facts(self, sending: Collection[int], batches: Sequence[tuple[int, int]]) -> dict[str, object]:
        """Fields of the trial's facts; `sending` are the CPUs of senders, and `batches` say when each batch of the
        sender began, by CLOCK_MONOTONIC, and how long it took, in ns."""
        period_ns = self._trial.sample_every_ns
        if self._samples is None or period_ns is None:
            return {}
        threads = {thread: name for _, thread, name in of_processes(self._processes)}
        folded: dict[tuple[str, tuple[str, ...]], list[tuple[int, int]]] = {}
        for sample in self._samples.found:
            calls = tuple(self._symbols.name(address) for address in sample.calls)
            if sample.process == os.getpid():
                around = _around(sample.at_ns, batches) if sample.cpu in sending else None
                if around is not None:
                    folded.setdefault((SENDER, calls), []).append(around)
            elif where := _where(calls, threads.get(sample.thread, ""), sample.cpu in sending):
                folded.setdefault((where, calls), []).append((0, 0))
        functions = sorted({call for _, calls in folded for call in calls})
        places = {name: place for place, name in enumerate(functions)}
        found = [
            Stack(
                where=where,
                calls=tuple(places[call] for call in calls),
                count=len(around),
                batches_ns=around if where == SENDER else [],
            )
            for (where, calls), around in folded.items()
        ]
        testers = _of_tester(functions, _own_tags())
        return {"stacks": Stacks(functions=functions, testers=testers, found=found, lost=self._samples.lost)}


def _around(at_ns: int, batches: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """How long the batch before that took in which this moment is, and this one; None if it is in none, or in the
    first."""
    place = bisect_right(batches, (at_ns, inf)) - 1
    if place < 1 or at_ns >= sum(batches[place]):
        return None
    return batches[place - 1][1], batches[place][1]


def _where(calls: Sequence[str], thread: str, on_sender: bool) -> str:
    """Whose time it is; empty if it has nothing to do with the load."""
    if thread.startswith(_SOFT_THREADS):
        return SOFT_INTERRUPTS
    return SOFT_INTERRUPTS if not thread and not on_sender and not _SOFT.isdisjoint(calls) else thread


def _of_tester(functions: Sequence[str], tags: Collection[str]) -> list[str]:
    """Programs that this process has loaded at its ports: a device may have some of the same names."""
    programs = [match for name in functions if (match := _PROGRAM.fullmatch(name))]
    return [match[0] for match in programs if match["tag"] in tags and match["name"] in _OF_PORTS]


def _own_tags() -> set[str]:
    """Tags of the BPF programs that this process has opened."""
    found = set()
    for entry in os.scandir("/proc/self/fdinfo"):
        with suppress(OSError):
            found |= set(re.findall(r"^prog_tag:\t(\w+)$", Path(entry.path).read_text(), re.MULTILINE))
    return found
