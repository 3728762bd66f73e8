"""Frames with another hop count: a loop while routes change, or another way."""

from __future__ import annotations

from keisoku.subjects.device.analysis.hops import HopCount

S = 1_000_000_000


def seen(found: int, longest_ns: int, first_ns: int = 0, last_ns: int = S) -> HopCount:
    return HopCount(62, found, 100, 1, first_ns, last_ns, longest_ns)


def test_a_short_time_with_fewer_hops_left_is_a_loop() -> None:
    assert seen(60, S // 10).is_loop(S, 10 * S)
    assert not seen(63, S // 10).is_loop(S, 10 * S), "more hops left is a shorter way"
    assert not seen(62, S // 10).is_loop(S, 10 * S)


def test_half_of_the_time_between_two_events_is_a_way() -> None:
    assert seen(60, S // 2 - 1).is_loop(S, 10 * S)
    assert not seen(60, S // 2).is_loop(S, 10 * S)


def test_a_way_is_used_in_each_round_in_which_it_is_seen() -> None:
    """Three short loops, one in each of three rounds, last as long as half of one way, and not of three."""
    three = seen(60, 6 * S // 10, first_ns=S, last_ns=24 * S)
    assert three.is_loop(S, 10 * S)
    assert not seen(60, 6 * S // 10, first_ns=S, last_ns=9 * S).is_loop(S, 10 * S)
    assert not seen(60, 6 * S // 10, first_ns=S, last_ns=S).is_loop(S, 10 * S)
