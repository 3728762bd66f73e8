"""Counts of events of threads: tried with events that every kernel counts, in place of the processor's own."""

from __future__ import annotations

import errno
import os
import threading
import time

import pytest

from keisoku.ground.host import cpu_counters
from keisoku.ground.host.cpu_counters import CpuCounters
from keisoku.ground.host.perf_event import SOFTWARE, Attributes

CPU_NS = {"cpu_ns": (SOFTWARE, 1)}


def _work(seconds: float) -> None:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def test_a_thread_is_counted_while_the_block_runs_with_those_that_it_makes() -> None:
    _work(0.05)
    with CpuCounters([0], CPU_NS) as counters:
        began_s = time.thread_time()
        _work(0.02)
        made = threading.Thread(target=_work, args=(0.03,))
        made.start()
        made.join()
        own_s = time.thread_time() - began_s
    _work(0.05)
    assert counters.found["cpu_ns"] / 1e9 == pytest.approx(own_s + 0.03, abs=0.01)


def test_of_a_thread_that_has_ended_nothing_is_counted() -> None:
    with CpuCounters([2**22 - 1], CPU_NS) as counters:
        _work(0.01)
    assert counters.found == {}


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EOPNOTSUPP])
def test_a_machine_without_an_event_counts_nothing(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    opened: list[int] = []

    def refused(attributes: Attributes, thread: int, cpu: int) -> int:
        if attributes.event == 1:
            raise OSError(number, os.strerror(number))
        opened.append(os.memfd_create("event"))
        return opened[0]

    monkeypatch.setattr(cpu_counters, "open_event", refused)
    with CpuCounters([0]) as counters:
        pass
    assert counters.found == {}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])
