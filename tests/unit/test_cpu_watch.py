"""How busy CPUs are, from the kernel's accounts by hand."""

from __future__ import annotations

import time

import pytest

from keisoku.study.cpu_watch import CpuWatch, accounts

STAT = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 1 2 80 5 1 1 0 3 0\ncpu1 40 0 0 60 0 0 0 0 0 0\nintr 1\n"


def test_idle_and_waiting_for_a_disk_are_not_busy() -> None:
    assert accounts(STAT) == [(15, 100), (40, 100)]


def watch(*busy: tuple[int, int]) -> CpuWatch:
    """An account of two CPUs each 0.1 s, of 10 ticks, with so many of them busy."""
    found = CpuWatch()
    totals = [[0, 0], [0, 0]]
    for number, (one, other) in enumerate([(0, 0), *busy]):
        for total, ticks in zip(totals, (one, other), strict=True):
            total[0] += ticks
            total[1] += 10 * (number > 0)
        found._at_ns.append(number * 10**8)
        found._accounts.append([(total[0], total[1]) for total in totals])
    return found


def test_the_busiest_cpu_counts_and_spans_are_averaged() -> None:
    seen = watch((1, 9), (1, 9), (2, 4), (2, 4), (0, 0))
    both = seen.busiest([(0, 2 * 10**8 + 1), (2 * 10**8, 4 * 10**8 + 1)])
    assert both is not None and both.value == pytest.approx(65)
    assert both.uncertainty == pytest.approx(2 * 25)  # two standard errors of 90 and 40 %
    assert seen.busiest([]) is None and seen.busiest([(10**12, 10**13)]) is None
    assert CpuWatch().median() is None


def test_a_busy_loop_is_seen() -> None:
    with CpuWatch() as seen:
        begin = time.monotonic_ns()
        while time.monotonic_ns() < begin + 5 * 10**8:
            pass
        end = time.monotonic_ns()
    found = seen.busiest([(begin, end)])
    assert found is not None and found.value > 30
