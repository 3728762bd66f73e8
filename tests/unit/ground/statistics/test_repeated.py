"""Repetitions as one figure: their median, its interval in order or by Student, and bounds among them."""

from __future__ import annotations

from typing import Literal

import pytest

from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import combined


def us(value: float, bound: Literal["", "at least", "at most"] = "", **more: float) -> Quantity:
    return Quantity(value=value, unit="µs", bound=bound, **more)


def test_six_repetitions_have_the_interval_of_their_order() -> None:
    found = combined([us(value) for value in (4, 1, 16, 2, 5, 3)])
    assert (found.value, found.bounds, found.uncertainty) == (3.5, (1, 16), 12.5)
    mirrored = combined([us(20 - value) for value in (4, 1, 16, 2, 5, 3)])
    assert (mirrored.value, mirrored.bounds, mirrored.uncertainty) == (16.5, (4, 19), 12.5)


def test_two_repetitions_have_students_interval() -> None:
    found = combined([us(10), us(12)])
    assert found.value == 11 and found.bounds == pytest.approx((11 - 12.7062, 11 + 12.7062), rel=1e-4)


def test_the_resolution_of_each_repetition_is_added() -> None:
    found = combined([us(value, uncertainty=0.5) for value in range(1, 7)])
    assert found.bounds == (0.5, 6.5)


def test_an_interval_ends_where_figures_do() -> None:
    assert combined([us(1), us(2)], least=0.0).bounds == pytest.approx((0, 1.5 + 6.353), rel=1e-4)


@pytest.mark.parametrize(
    ("repetitions", "found"),
    [
        ([us(3, "at most"), us(5, "at most"), us(6)], us(5, "at most")),
        ([us(3), us(5, "at least"), us(6, "at least")], us(5, "at least")),
        ([us(3, "at most"), us(5), us(6)], us(5)),
        ([us(3), us(5), us(6, "at least")], us(5)),
        ([us(3, "at most"), us(5, "at least")], us(4)),
        ([us(3, "at most")], us(3, "at most")),
    ],
)
def test_bounds_count_as_what_they_are(repetitions: list[Quantity], found: Quantity) -> None:
    assert combined(repetitions) == found


def test_different_units_are_no_repetitions() -> None:
    with pytest.raises(ValueError, match="one unit"):
        combined([us(1), Quantity(value=1, unit="ms")])
