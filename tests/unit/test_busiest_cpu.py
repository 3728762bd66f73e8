"""How busy CPUs are, from the kernel's accounts by hand."""

from __future__ import annotations

import time

import pytest

from keisoku.host.activity import ActivityInterval, ActivityWatch, CpuTime, cpu_times
from keisoku.study.busiest_cpu import EVERY_S, busiest, median

STAT = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 1 2 80 5 1 1 0 3 0\ncpu1 40 0 0 60 0 0 0 0 0 0\nintr 1\n"
TICK_NS = 10**7


def test_idle_and_waiting_for_a_disk_are_not_busy() -> None:
    assert [(one.busy_ns / TICK_NS, one.all_ns / TICK_NS) for one in cpu_times(STAT).values()] == [(15, 100), (40, 100)]


def watched(*busy: tuple[int, int]) -> list[ActivityInterval]:
    """An interval of two CPUs each 0.1 s, of 10 ticks, with so many of them busy."""
    counts = dict.fromkeys(
        ("user_ns", "system_ns", "softirq_ns", "idle_ns", "steal_ns", "retransmitted", "squeezed", "backlog_drops"), 0
    )
    return [
        ActivityInterval(
            began_ns=number * 10**8,
            ended_ns=(number + 1) * 10**8,
            cpus=2,
            runnable=0.0,
            waited_ns=None,
            of_cpus=tuple(CpuTime(f"cpu{at}", ticks * TICK_NS, 10 * TICK_NS) for at, ticks in enumerate(both)),
            **counts,
        )
        for number, both in enumerate(busy)
    ]


def test_the_busiest_cpu_counts_and_spans_are_averaged() -> None:
    seen = watched((1, 9), (1, 9), (2, 4), (2, 4), (0, 0))
    both = busiest(seen, [(0, 2 * 10**8 + 1), (2 * 10**8, 4 * 10**8 + 1)])
    assert both is not None and both.value == pytest.approx(65)
    assert both.uncertainty == pytest.approx(2 * 25)  # two standard errors of 90 and 40 %
    assert busiest(seen, []) is None and busiest(seen, [(10**12, 10**13)]) is None
    assert median([]) is None


def test_a_cpu_that_goes_offline_is_left_out_while_it_is_away() -> None:
    seen = [*watched((1, 9), (1, 9))]
    gone = ActivityInterval(**{**vars(seen[1]), "of_cpus": seen[1].of_cpus[:1]})
    found = busiest([seen[0], gone], [(0, 10**9)])
    assert found is not None and found.value == pytest.approx(90)


def test_a_busy_loop_is_seen() -> None:
    with ActivityWatch(interval_s=EVERY_S) as seen:
        begin = time.monotonic_ns()
        while time.monotonic_ns() < begin + 5 * 10**8:
            pass
        end = time.monotonic_ns()
    found = busiest(seen.intervals, [(begin, end)])
    assert found is not None and found.value > 30
