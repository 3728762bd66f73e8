"""Whether new runs differ from kept ones, with which they cannot take turns: Student's interval of two samples.

Both are taken to vary as much; where only one run was kept, how runs vary is known from the new ones alone. A drift
between then and now is not excluded by anything. The number of new runs is fixed beforehand, so there is one look.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from keisoku.ground.statistics.distribution import student_quantile
from keisoku.ground.statistics.paired import SHOWN_ERROR, Ends, Judgement, Rule, alarm_errors, final, widened, width
from keisoku.ground.statistics.quantity import Quantity

LEAST = 3
"""New runs, below which there is no interval."""
_NOWHERE: Ends = (-math.inf, math.inf)


def judge_against(kept: Sequence[Quantity], new: Sequence[Quantity], rule: Rule, ended: bool) -> Judgement:
    """The judgement when all new runs are there; a bound says too little here, and is left out."""
    kept, new = ([figure for figure in side if not figure.bound] for side in (kept, new))
    a, b = ([figure.value for figure in side] for side in (kept, new))
    if not a or not b:
        return Judgement("not measured", ended, 0, _NOWHERE, _NOWHERE, _NOWHERE)
    of_logs = min(*a, *b) > 0
    if of_logs:
        ones, others = [math.log(value) for value in a], [math.log(value) for value in b]
    else:
        ones, others = a, b
    scale = max(abs(statistics.median(a)), abs(statistics.median(b)))

    def share(difference: float) -> float:
        if of_logs:
            return math.expm1(min(difference, 700.0))
        return difference / scale if scale else 0.0

    found = statistics.fmean(others) - statistics.fmean(ones)
    change = share(found), share(found)
    if len(others) < LEAST:
        return final(len(others), change, _NOWHERE, _NOWHERE, rule, ended)
    freedom = len(ones) + len(others) - 2
    squares = sum((value - statistics.fmean(side)) ** 2 for side in (ones, others) for value in side)
    error = math.sqrt(squares / freedom * (1 / len(ones) + 1 / len(others)))
    resolution = statistics.median([width(one, other, of_logs) for one in kept for other in new])

    def ends(miss: float) -> Ends:
        reach = student_quantile(freedom, 1 - miss / rule.comparisons / 2) * error
        low, high = widened((found - reach, found + reach), (found, found), resolution)
        return share(low), share(high)

    lower, upper = map(ends, alarm_errors(rule.better))
    return final(len(others), change, ends(SHOWN_ERROR), (lower[0], upper[1]), rule, ended)
