"""Which limits can do anything."""

from dataclasses import replace

import pytest

from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.search.candidate import Candidates
from keisoku.subjects.system.search.reach import within_reach
from keisoku.subjects.system.search.search import SearchSettings, limit_search

SPACE = Candidates(10e6, 10e9)


def shown(**megabits):
    views = (
        ClientView(name, 10e9, None, round(m * 1e6 / 8), 0.0, 1, 0, 1, 1.0, 0.1, None) for name, m in megabits.items()
    )
    return [Observation(1.0, tuple(views))]


@pytest.mark.parametrize(
    ("carried", "ports", "top"),
    [
        ({"a": 400, "b": 900}, ["a"], 600e6),
        ({"a": 400, "b": 900}, ["a", "b"], 1350e6),
        ({"a": 1, "b": 900}, ["a"], 20e6),
        ({"a": 9000}, ["a"], 10e9),
        ({"a": 400}, [], 10e9),
        ({"a": 400}, ["c"], 10e9),
    ],
)
def test_limits_end_above_what_a_port_carries(carried, ports, top):
    found = within_reach(SPACE, shown(**carried), ports)
    assert (found.floor_bps, found.count) == (SPACE.floor_bps, SPACE.count)
    assert found.line_bps == pytest.approx(top)


def test_limit_that_just_binds_is_tried_first():
    found = within_reach(SPACE, shown(a=400), ["a"])
    assert found.binding is not None
    assert found.limits[found.binding] == pytest.approx(380e6, rel=0.03)
    search = limit_search(found, SearchSettings())
    first = [next(search).limit] + [search.send(0.0).limit for _ in range(5)]
    assert found.limits[found.binding] in first and None in first
    assert SPACE.binding is None and within_reach(SPACE, shown(a=1), ["a"]).binding is None


def test_a_port_that_carries_more_than_is_delivered_is_searched_up_to_what_it_carries():
    (seen,) = shown(a=20)
    wasted = Observation(1.0, (replace(seen.clients[0], passed_bytes=round(95e6 / 8)),))
    found = within_reach(SPACE, [wasted], ["a"])
    assert found.line_bps == pytest.approx(1.5 * 95e6)
    assert found.binding is not None and found.limits[found.binding] == pytest.approx(19e6, rel=0.03)


def test_nothing_shown_leaves_all():
    assert within_reach(SPACE, [], ["a"]) is SPACE
