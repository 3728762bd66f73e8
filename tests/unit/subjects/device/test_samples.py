"""Samples of a trial with many gaps are made in little time; these are the definitions that the fast way must equal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.subjects.device.analysis import samples
from keisoku.subjects.device.method.assumption import latency_course

TIMES = st.floats(0, 1e6, allow_nan=False)


@given(
    gaps=st.lists(st.tuples(st.integers(1, 50), TIMES, st.none() | TIMES), max_size=30),
    times=st.lists(st.floats(-1e3, 2e6), max_size=10),
)
def test_lost_frames_until_a_time_are_the_sum_over_all_gaps(
    gaps: list[tuple[int, float, float | None]], times: list[float]
) -> None:
    counts = np.array([count for count, _, _ in gaps])
    after, before = (np.array([gap[place] for gap in gaps], dtype=float) for place in (1, 2))
    lost = samples._Lost(cast(Any, SimpleNamespace(counts=counts, after_ns=after, before_ns=before)))
    ends = np.maximum(np.where(np.isnan(before), after, before), after + 1)
    counted = 0.0
    for time in times:
        within = np.maximum(np.minimum(ends, time) - np.maximum(after, counted), 0)
        assert lost.until(time) == pytest.approx(float((counts * within / (ends - after)).sum()), abs=1e-6)
        counted = max(counted, time)


@given(
    begins=st.lists(TIMES, max_size=30), place=st.floats(0, 2e6), width=st.floats(1, 1e5), seed=st.integers(0, 1 << 30)
)
def test_what_rises_within_a_width_is_the_sum_over_all(
    begins: list[float], place: float, width: float, seed: int
) -> None:
    counts = np.random.default_rng(seed).integers(1, 50, len(begins)).astype(float)
    found = samples._Ramps(counts, np.array(begins)).until(place, width)
    assert found == pytest.approx(float((counts * np.clip((place - np.array(begins)) / width, 0, 1)).sum()), abs=1e-6)


ANY = st.lists(st.sampled_from([1.0, 1.1, 5.0, 5.2, 9.0]), max_size=16)
STEP = st.builds(
    lambda before, after: [*before, after[0], *after],
    st.lists(st.sampled_from([1.0, 1.1]), min_size=2, max_size=8),
    st.lists(st.sampled_from([5.0, 5.2]), min_size=2, max_size=8),
)


@given(ANY | STEP)
def test_a_step_of_the_latency_is_that_which_lies_farthest_apart(means: list[float]) -> None:
    found = None
    widest = 0.0
    for place in range(3, len(means) - 3):
        before, after = means[:place], means[place + 1 :]
        apart = max(min(after) - max(before), min(before) - max(after))
        spread = max(max(before) - min(before), max(after) - min(after))
        if apart > max(widest, 4 * spread, 0.02 * max(means)):
            widest, found = apart, (place, sum(before) / len(before), sum(after) / len(after))
    record = SimpleNamespace(facts=SimpleNamespace(tracked=None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latency_course, "samples_of", lambda *_: [SimpleNamespace(mean_ns=one) for one in means])
        seen = latency_course._step(cast(Any, record))
    assert (seen is None) == (found is None)
    assert seen is None or seen == pytest.approx(found)
