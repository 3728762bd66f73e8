"""Which limits can do anything."""

import pytest

from keisoku.application.candidate import Candidates
from keisoku.application.observation import ClientView, Observation
from keisoku.application.reach import within_reach

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


def test_nothing_shown_leaves_all():
    assert within_reach(SPACE, [], ["a"]) is SPACE
