"""How busy the busiest CPU of this host was while a step was measured, so that 'limited by the CPUs' can be refuted.

It computes this from what `keisoku.host.activity` saw, and reads nothing itself.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from keisoku.analysis.quantity import Quantity
from keisoku.host.activity import ActivityInterval
from keisoku.run.result import Result, Row

EVERY_S = 0.1
"""Length of the intervals to watch in: ten ticks of the kernel's accounts (10 ms each)."""
BUSIEST = "cpu"
"""Name of the figure: time that the busiest CPU was not idle, in percent."""

Intervals = Sequence[ActivityInterval]


def busiest(intervals: Intervals, spans_ns: Sequence[tuple[int, int]]) -> Quantity | None:
    """Percent of time that the busiest CPU was not idle, mean over spans of time.monotonic_ns().

    None where no span holds an interval.
    """
    shares = [share for begin, end in spans_ns if (share := _share(intervals, begin, end)) is not None]
    if not shares:
        return None
    error = statistics.stdev(shares) / len(shares) ** 0.5 if len(shares) > 1 else None
    return Quantity(value=100 * statistics.fmean(shares), unit="%", uncertainty=None if error is None else 200 * error)


def median(intervals: Intervals) -> Quantity | None:
    """The same as a median over seconds: of a step whose load has short pauses. None of less than a second."""
    if not intervals:
        return None
    begin, end = intervals[0].began_ns, intervals[-1].ended_ns
    spans = [(at, at + 10**9) for at in range(begin, end - 10**9, 10**9)]
    shares = [share for span in spans if (share := _share(intervals, *span)) is not None]
    return Quantity(value=100 * statistics.median(shares), unit="%") if shares else None


def with_busiest(result: Result, intervals: Intervals) -> Result:
    """The result with a row 'busiest CPU' of the whole step."""
    if (busy := median(intervals)) is None:
        return result
    return result.model_copy(update={"rows": [*result.rows, Row(case="busiest CPU", figures={BUSIEST: busy})]})


def _share(intervals: Intervals, begin_ns: int, end_ns: int) -> float | None:
    within = [one.of_cpus for one in intervals if one.began_ns >= begin_ns and one.ended_ns <= end_ns]
    busy: dict[str, int] = {}
    whole: dict[str, int] = {}
    for cpus in within:
        for cpu in cpus:
            busy[cpu.name] = busy.get(cpu.name, 0) + cpu.busy_ns
            whole[cpu.name] = whole.get(cpu.name, 0) + cpu.all_ns
    return max((busy[name] / whole[name] for name in busy if whole[name]), default=None)
