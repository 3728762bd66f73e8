"""A percentile in a bucket that may hold one value many times."""

from __future__ import annotations

import pytest

from keisoku.subjects.device.analysis.percentile import BucketShape, percentile
from keisoku.subjects.device.record.counts import Buckets


@pytest.mark.parametrize("inside", [None, BucketShape(off_ns=1.0, deviation_ns=1e6)])
@pytest.mark.parametrize("truth_ns", [-5632.0, -5589.0, -5545.1])
@pytest.mark.parametrize("before", [10, 300, 480])
def test_the_interval_of_a_median_within_a_peak_contains_every_place_of_it(
    truth_ns: float, before: int, inside: BucketShape | None
) -> None:
    """IPDV of frames that wait for each other is the same for most: 67 ns were off where ± 49 ns were stated."""
    buckets = Buckets(
        negative=0,
        lower_ns=[-5719.0, -5632.0, -5545.0],
        upper_ns=[-5632.0, -5545.0, -5458.0],
        counts=[before, 2000, 500 - before],
    )
    found = percentile(buckets, 50.0, inside=inside)
    assert found is not None
    assert abs(found.value_ns - truth_ns) <= found.half_width_ns
    assert found.half_width_ns == 87 / 2
