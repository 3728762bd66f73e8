"""Missing sequence numbers in columns say what they say as objects."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from keisoku.subjects.device.record.gaps import Gap, Gaps

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


@st.composite
def following(draw: st.DrawFn) -> list[Gap]:
    """As a record has them: in order, whole, as a bitmap, or joined."""
    found, next_number = [], 0
    for _ in range(draw(st.integers(0, 12))):
        first = next_number + draw(st.integers(0, 50))
        length = draw(st.integers(1, 40))
        kind = draw(st.sampled_from(["whole", "bitmap", "joined"]))
        bits = draw(st.binary(min_size=1, max_size=20)) if kind == "bitmap" else b""
        kept = b64encode(bits).decode() if kind == "bitmap" else None
        length = 8 * len(bits) or length
        counts = {"whole": length, "bitmap": sum(octet.bit_count() for octet in bits)}
        count = counts[kind] if kind in counts else draw(st.integers(1, length))
        found.append(Gap(first, first + length - 1, count, None, None, kept))
        next_number = first + length + 1
    return found


@given(following())
def test_ranges_count_the_missing_numbers_of_each_gap_and_each_64_of_a_bitmap(listed: list[Gap]) -> None:
    ranges = [tuple(row) for row in Gaps(listed).ranges().tolist()]
    assert all(end <= first for (_, end, _), (first, _, _) in pairwise(ranges))
    assert sum(count for _, _, count in ranges) == sum(one.count for one in listed)
    for one in listed:
        own = [row for row in ranges if one.first <= row[0] <= one.last]
        if one.bitmap is None:
            assert own == [(one.first, one.last + 1, one.count)]
            continue
        for first, end, count in own:
            assert 0 < end - first <= 64 and 0 < count == sum(first <= number < end for number in one.numbers())


@given(st.lists(gap(), max_size=20))
def test_gaps_survive_json(listed: list[Gap]) -> None:
    kept = TypeAdapter(Gaps)
    text = kept.dump_json(Gaps(listed))
    assert len(json.loads(text)) == len(listed)
    assert kept.validate_json(text) == listed
