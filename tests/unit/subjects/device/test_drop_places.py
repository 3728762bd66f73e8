"""Dropped frames joined with lost ones: whatever was dropped and lost, each lost frame has at most one place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from keisoku.subjects.device.engine.drop_places import Watched, with_places
from keisoku.subjects.device.record.drops import DroppedFrames, DropPlace
from keisoku.subjects.device.record.gaps import Gap, Gaps
from keisoku.subjects.device.record.packed import STORED

FIRST, START_NS = 65_500, (1 << 48) - 1000
PLACES = {3: DropPlace(kind="freed", reason="A"), 7: DropPlace(kind="freed", reason="B")}


def stream(*lost: set[int], arrived: int = 20) -> Any:
    """A stream with what was lost at each port that it goes to, and how many arrived there."""
    gaps = [Gaps(Gap(one, one, 1, None, None) for one in sorted(own)) for own in lost]
    tracked = [SimpleNamespace(lost=own, lost_frames=sum(own.counts), forwarded_frames=arrived) for own in gaps]
    return SimpleNamespace(everywhere=[SimpleNamespace(tracked=one) for one in tracked])


def watched(dropped: list[tuple[int, int, int, int]], more: int = 0) -> Watched:
    """Of stream, sequence number, place and ns since the start; `more` have no entry, at place 3."""
    entries = np.array(
        [
            (FIRST + own << 48 | sequence, (START_NS + since_ns) % (1 << 48) << 16 | place)
            for own, sequence, place, since_ns in dropped
        ],
        np.dtype([("frame", "<u8"), ("when", "<u8")]),
    )
    frames = {place: sum(one[2] == place for one in dropped) for place in PLACES}
    frames[3] += more
    return Watched(PLACES, frames, entries.tobytes(), 0, 0, [])


def test_each_lost_frame_has_its_place_and_its_time() -> None:
    found = with_places(
        [stream({2, 5}), stream({2})], FIRST, START_NS, watched([(0, 5, 7, 400), (0, 2, 3, 9), (1, 2, 3, 2000)])
    )
    assert found.frames.rows.tolist() == [[0, 2, 0, 9], [0, 5, 1, 400], [1, 2, 0, 2000]]
    assert [(place.frames, place.first_ns, place.last_ns, place.streams) for place in found.places] == [
        (2, 9, 2000, (0, 1)),
        (1, 400, 400, (0,)),
    ]
    assert (found.lost_frames, found.not_seen) == (3, 0)


def test_a_frame_is_lost_where_its_last_copy_was_dropped() -> None:
    found = with_places(
        [stream({1, 2})], FIRST, START_NS, watched([(0, 1, 3, 50), (0, 1, 7, 60), (0, 2, 3, 5), (0, 2, 3, 4)])
    )
    assert found.frames.rows.tolist() == [[0, 1, 1, 60], [0, 2, 0, 5]]
    assert [(place.frames, place.copies) for place in found.places] == [(1, 2), (1, 0)]


def test_a_place_where_all_are_dropped_whether_they_arrive_or_not_says_nothing() -> None:
    everywhere = [(0, number, 3, number) for number in range(4)]
    found = with_places([stream({1}, arrived=3)], FIRST, START_NS, watched(everywhere))
    assert not len(found.frames) and found.not_seen == 1
    assert (found.places[0].frames, found.places[0].copies) == (0, 4)


def test_most_of_them_may_be_lost_and_its_last_drop_says_nothing_yet() -> None:
    """As the ring of a program that forwards frames: what has no room there is dropped once more behind it."""
    behind = [(0, number, 3, 10 * number + 5) for number in range(10)]
    ring = [(0, number, 7, 10 * number) for number in range(2, 10)]
    found = with_places([stream(set(range(2, 10)), arrived=2)], FIRST, START_NS, watched(behind + ring))
    assert [(place.frames, place.copies) for place in found.places] == [(0, 10), (8, 0)]


def test_a_copy_for_each_port_that_lost_it() -> None:
    found = with_places([stream({1}, {1}, set())], FIRST, START_NS, watched([(0, 1, 3, 1), (0, 1, 7, 2), (0, 1, 7, 3)]))
    assert found.frames.rows.tolist() == [[0, 1, 1, 3], [0, 1, 1, 2]]
    assert (found.lost_frames, found.not_seen) == (2, 0)


def test_what_has_no_entry_is_counted_and_said() -> None:
    found = with_places([stream(set(range(10)))], FIRST, START_NS, watched([(0, 1, 3, 1)], more=6))
    assert (found.places[0].frames, found.unlisted, found.not_seen) == (7, 6, 3)


NUMBERS = st.integers(0, 20)


@given(
    st.lists(st.tuples(st.integers(0, 1), NUMBERS, st.sampled_from([3, 7]), st.integers(0, 10**9)), max_size=60),
    st.lists(st.sets(NUMBERS), min_size=2, max_size=2),
)
def test_the_sum_over_places_and_what_was_not_seen_is_what_was_lost(
    dropped: list[tuple[int, int, int, int]], lost: list[set[int]]
) -> None:
    found = with_places([stream(own) for own in lost], FIRST, START_NS, watched(dropped))
    assert sum(place.frames for place in found.places) + found.not_seen == sum(map(len, lost)) == found.lost_frames
    kept = [tuple(row[:2]) for row in found.frames.rows.tolist()]
    assert len(set(kept)) == len(kept)
    assert all(number in lost[own] for own, number in kept)
    assert sum(place.frames + place.copies for place in found.places) == len(dropped)


@given(st.lists(st.tuples(*[st.integers(0, (1 << 48) - 1)] * 4), max_size=80))
def test_frames_are_read_as_they_were_written(rows: list[tuple[int, int, int, int]]) -> None:
    adapter, frames = TypeAdapter(DroppedFrames), DroppedFrames(rows)
    assert adapter.validate_json(adapter.dump_json(frames)) == frames
    assert adapter.validate_json(adapter.dump_json(frames, context=STORED)) == frames


@given(st.sets(st.integers(0, 300)), st.lists(st.integers(0, 300)))
def test_gaps_hold_what_is_missing(missing: set[int], asked: list[int]) -> None:
    gaps = Gaps(Gap(one, one, 1, None, None) for one in sorted(missing))
    assert gaps.hold(np.array(asked, np.int64)).tolist() == [one in missing for one in asked]


def test_gaps_hold_what_a_bitmap_says() -> None:
    gaps = Gaps([Gap(2, 2, 1, None, None), Gap(10, 17, 2, None, None, bitmap="gQ==")])  # bits 0 and 7
    assert gaps.hold(np.arange(20)).nonzero()[0].tolist() == [2, 10, 17]
