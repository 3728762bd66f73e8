"""CPU time that others than the sender took: each part of it is counted once."""

from __future__ import annotations

import pytest

from keisoku.subjects.device.engine import cpu_times

MS = 1_000_000


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Of a load with a sender on CPU 0: 70 ms of soft interrupts on CPU 1, of which 40 ms ran in its thread."""
    threads = iter(({(12, 12, "ksoftirqd/1"): 5 * MS}, {(12, 12, "ksoftirqd/1"): 45 * MS, (7, 8, "vhost-7"): 3 * MS}))
    interrupts = iter(({0: 0, 1: 100 * MS}, {0: 90 * MS, 1: 170 * MS}))
    monkeypatch.setattr(cpu_times, "of_processes", lambda names: next(threads))
    monkeypatch.setattr(cpu_times, "of_soft_interrupts", lambda: next(interrupts))
    with cpu_times.CpuTimes(()) as times:
        pass
    return times.facts(sending={0})


def test_soft_interrupts_in_a_thread_of_the_kernel_are_not_counted_twice(taken: dict[str, object]) -> None:
    assert taken["packet_threads_ns"] == {"ksoftirqd/1": 40 * MS, "vhost-7": 3 * MS} and not taken["threads_ns"]
    assert taken["soft_interrupts_ns"] == {1: 30 * MS}
