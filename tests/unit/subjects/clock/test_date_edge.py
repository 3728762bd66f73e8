"""The search for a second's end at a server that shows whole seconds, in virtual time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.date_edge import DateEdge
from keisoku.subjects.clock.reference.http import edge_reading

S = 1_000_000_000


def searched(
    ahead_ns: int, trips: list[tuple[int, int]], rate: float = 0.0, requests: int = 40
) -> tuple[DateEdge, int]:
    """A server `ahead_ns` of the local clock; ways there and back in turn; the local time at the end."""
    search, now = DateEdge(), 5 * S
    for index in range(requests):
        there, back = trips[index % len(trips)]
        now = search.ask_at_ns(now)
        written = now + there
        search.add(now, (written + round(written * rate) + ahead_ns) // S, written + back)
        now = written + back
        if search.ended:
            break
    return search, now


@given(
    ahead=st.integers(-(10**18), 2 * 10**18),
    trips=st.lists(st.tuples(st.integers(1000, 2_000_000), st.integers(1000, 2_000_000)), min_size=1, max_size=5),
)
def test_the_difference_is_bounded_and_as_narrow_as_the_ways_allow(ahead: int, trips: list[tuple[int, int]]) -> None:
    search, now = searched(ahead, trips)
    assert now < 45 * S
    assert search.ended or len(trips) > 1
    assert search.low_ns <= ahead <= search.high_ns
    assert search.contradictions == 0


def test_a_clock_that_runs_100_ppm_fast_is_no_contradiction() -> None:
    search, _ = searched(10**18, [(100_000, 100_000)], rate=1e-4)
    assert search.contradictions == 0


def test_a_date_made_in_advance_is_seen() -> None:
    search, now = searched(10**18, [(100_000, 100_000)])
    search.add(now, (now + 10**18) // S - 3, now + 200_000)
    assert search.contradictions == 1


def test_an_edge_is_a_reading_in_ticks() -> None:
    """Ticks are half ns; the local clock began at tick 1000."""
    search, now = searched(123_456_789_000, [(50_000, 50_000)])
    first, last = Reading(990, 7_000, 1010), Reading(990 + 2 * now, 7_000 + now, 1010 + 2 * now)
    found = edge_reading(search, first, last)
    true = 1000 + 2 * (found.reference_ns - 123_456_789_000)
    assert found.before <= true <= found.after
    assert found.width <= 2 * search.width_ns + 50
    assert found.reference_ns % S == 0
