"""Missing sequence numbers in columns say what they say as objects."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from keisoku.device.record.gaps import Gap, Gaps

TIMES = st.none() | st.integers(0, 2**53)


@st.composite
def gap(draw: st.DrawFn) -> Gap:
    first = draw(st.integers(0, 2**40))
    count = draw(st.integers(1, 2**20))
    return Gap(first, first + count - 1, count, draw(TIMES), draw(TIMES), draw(st.none() | st.just("AQ==")))


@given(st.lists(gap(), max_size=20))
def test_columns_are_the_fields_of_the_gaps(listed: list[Gap]) -> None:
    gaps = Gaps(listed)
    assert list(gaps) == listed and gaps == listed
    assert gaps.firsts.tolist() == [one.first for one in listed]
    assert gaps.counts.tolist() == [one.count for one in listed]
    for column, name in ((gaps.after_ns, "after_ns"), (gaps.before_ns, "before_ns")):
        known = [None if math.isnan(time_ns) else int(time_ns) for time_ns in column.tolist()]
        assert known == [getattr(one, name) for one in listed]


@given(st.lists(gap(), max_size=20))
def test_gaps_survive_json(listed: list[Gap]) -> None:
    kept = TypeAdapter(Gaps)
    text = kept.dump_json(Gaps(listed))
    assert len(json.loads(text)) == len(listed)
    assert kept.validate_json(text) == listed
