"""Figures that cannot be negative have no interval below zero; a host with its port is answered with what to write."""

from __future__ import annotations

import pytest

from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import combined


def times(*values: float) -> list[Quantity]:
    return [Quantity(value=value, unit="ns") for value in values]


def test_the_interval_of_a_time_does_not_reach_below_zero() -> None:
    found, whole = combined(times(100, 200, 900), least=0.0), combined(times(100, 200, 900))
    assert whole.bounds is not None and whole.bounds[0] < 0
    assert found.bounds == (0.0, whole.bounds[1])
    assert combined(times(100, 101, 102), least=0.0) == combined(times(100, 101, 102))


def test_a_figure_below_the_least_keeps_its_value_inside_its_interval() -> None:
    found = combined(times(-3, -2, 90), least=0.0)
    assert found.bounds is not None and found.bounds[0] == found.value == -2


def test_a_host_that_is_written_with_its_port_is_answered_with_the_option() -> None:
    with pytest.raises(EngineError, match="give --port 7719"):
        Place("127.0.0.1:7719").addresses()
