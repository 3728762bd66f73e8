"""The share of time in which a load wanted a CPU, so that 'limited by the CPUs' can be refuted.

It computes this from what `keisoku.ground.host.thread_watch` saw, and reads nothing itself.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from keisoku.ground.host.thread_watch import Look
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.share import clopper_pearson
from keisoku.ground.statistics.uncertainty import half_width

CPU = "cpu"
"""Name of the figure: time in which a thread of the load ran or waited for a CPU, in percent."""
_ALL = (0, 2**63)


def wanted_percent(looks: Sequence[Look], spans_ns: Sequence[tuple[int, int]] = (_ALL,)) -> Quantity | None:
    """Percent of the looks in spans of time.monotonic_ns() in which the load wanted a CPU. None without looks.

    The interval is that of a share of so many looks, or, where it is wider, that of the mean of the spans' shares.
    """
    within = [[one.wanted for one in looks if begin <= one.at_ns <= end] for begin, end in spans_ns]
    shares = [statistics.fmean(span) for span in within if span]
    if not shares:
        return None
    mean = statistics.fmean(shares)
    count = sum(map(len, within))
    lower, upper = clopper_pearson(mean * count, count)
    error = max(mean - lower, upper - mean)
    if len(shares) > 1:
        error = max(error, half_width(shares))
    return Quantity(value=100 * mean, unit="%", uncertainty=100 * error)


def with_cpu(result: Result, looks: Sequence[Look]) -> Result:
    """The result with a row 'threads' of all looks of the step."""
    if (found := wanted_percent(looks)) is None:
        return result
    return result.model_copy(update={"rows": [*result.rows, Row(case="threads", figures={CPU: found})]})
