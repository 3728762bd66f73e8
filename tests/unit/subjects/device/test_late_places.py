"""Which part of the way of the slowest frames is named, and in which words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from keisoku.ground.report import digits
from keisoku.language import translated
from keisoku.subjects.device.record.waits import WaitingFrames, WaitPlace, Waits
from keisoku.subjects.device.report.late_places import late_frames, late_limits, late_plot, late_sentence, where

PLACES = (
    WaitPlace(kind="ring", interface="eth1", namespace="r1", sampled=9, median_ns=1000),
    WaitPlace(kind="queue", interface="eth2", namespace="r1", qdisc="fq_codel", sampled=9, median_ns=1200),
)


def record(index: int, *ways: tuple[int, ...], median_ns: int = 2200, **more: Any) -> Any:
    """A trial whose slowest frames spent these times at the places."""
    rows = [(0, frame, place, 0, waited_ns) for frame, way in enumerate(ways) for place, waited_ns in enumerate(way)]
    waits = Waits(
        places=PLACES,
        frames=WaitingFrames(rows),
        slowest=len(ways),
        sampled=9,
        median_ns=median_ns,
        **{"not_followed": 0, **more},
    )
    return SimpleNamespace(
        index=index, facts=SimpleNamespace(waits=waits, tracked=SimpleNamespace(forwarded_frames=5000))
    )


def test_the_place_with_most_of_what_is_more_than_the_median_is_named() -> None:
    late = late_frames([record(0, (2000, 180_000), (3000, 210_000))])
    assert late is not None and late.cause is not None
    assert late.cause.place.kind == "queue"
    assert translated(late_sentence(late)) == (
        f"The slowest 2 of {digits.count(5000)} frames (182 µs and more) waited in the queue of eth2 in r1 (fq_codel): "
        "195 µs of 198 µs on average; a median frame spends 1.2 µs there."
    )


@pytest.mark.parametrize("way", [(2000, 2100), (3000, 1000)])
def test_no_place_is_named_where_the_slowest_are_hardly_slower(way: tuple[int, int]) -> None:
    late = late_frames([record(0, way, median_ns=2200)])
    assert late is not None and late.cause is None
    assert "no part of the kernel stands out" in translated(late_sentence(late))


def test_a_place_where_every_frame_waits_is_named_too() -> None:
    late = late_frames([record(0, (1000, 3_000_000), median_ns=2_900_000)])
    assert late is not None and late.cause is not None and late.cause.place.kind == "queue"


def test_the_trial_with_the_slowest_frames_speaks() -> None:
    records = [record(3, (1, 5)), record(4, (1, 500)), record(5, (1, 50))]
    records.append(SimpleNamespace(index=6, facts=SimpleNamespace(waits=None)))
    late = late_frames(records)
    assert late is not None and late.trial == 4
    assert late_frames(records[-1:]) is None


def test_what_was_not_looked_at_is_said() -> None:
    late = late_frames(
        [record(0, (1, 5), not_followed=1, apart_ns=40, unread=2, absent=[("netif_rx", "no such event")])]
    )
    assert late is not None
    limits = " ".join(map(translated, late_limits(late)))
    for part in ("1 of the slowest frames has no hops", "up to 40 ns", "2 packets", "netif_rx (no such event)"):
        assert part in limits


def test_every_kind_of_place_has_words() -> None:
    kinds = ("tester", "ring", "backlog", "gro", "stack", "program", "queue", "driver", "unseen")
    words = {translated(where(WaitPlace(kind=kind, interface="eth2", came_from="eth1"))) for kind in kinds}
    words.add(translated(where(WaitPlace(kind="stack", interface="a", came_from="b", handler="br_handle_frame"))))
    words.add(translated(where(WaitPlace(kind="stack", interface="a", came_from="b", handler="other_handler"))))
    assert len(words) == 11


def test_the_plot_has_both_bars_at_each_place() -> None:
    late = late_frames([record(0, (2000, 180_000))])
    assert late is not None
    device: Any = SimpleNamespace(name="bridge", index=0)
    drawn = late_plot(late, device)
    assert [trace["x"] for trace in drawn.traces] == [["ring eth1", "queue eth2"]] * 2
    assert [trace["y"] for trace in drawn.traces] == [[1.0, 1.2], [2.0, 180.0]]
