"""How well the median of inter-packet delay variation is known from one trial.

Half of all differences are above the median. Where latencies are independent, a difference and the next one share a
latency, so that rises and falls alternate more than those of independent values do: the number of rises in n values has
the variance (n + 1) / 12, a third of the binomial one, whatever their distribution is (Mann 1945).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from keisoku.ground.statistics.uncertainty import COVERAGE_FACTOR, deviation, student
from keisoku.subjects.device.analysis.percentile import percentile
from keisoku.subjects.device.record.counts import Variation


def error_of_median(variation: Variation) -> float:
    """Standard error (k = 1) in ns of the median of one trial's differences, from their number and histogram."""
    share = 100 * math.sqrt((variation.count + 1) / 12) / max(1, variation.count)
    ends = [
        percentile(variation.histogram, max(0.0, min(100.0, 50 + way * share)), variation.min_ns, variation.max_ns)
        for way in (-1, 1)
    ]
    low, high = (variation.min_ns if end is None else end.value_ns for end in ends)
    return (high - low) / 2


def error_of_medians(variations: Sequence[Variation], medians_ns: Sequence[float]) -> float:
    """Standard error (k = 1) in ns of the median of several trials' medians: that of independent latencies, or that of
    the trials' own scatter where this is larger."""
    count = len(medians_ns)
    if not count:
        return 0.0
    share = math.sqrt(math.pi / 2 / count) if count > 2 else 1 / math.sqrt(count)
    errors = [statistics.fmean(error_of_median(one) for one in variations) * share]
    if count > 2:
        errors.append(deviation(medians_ns) * share * student(count - 1) / COVERAGE_FACTOR)
    return max(errors)
