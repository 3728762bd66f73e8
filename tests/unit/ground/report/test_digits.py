"""Digits: no digit below the uncertainty, the right unit, and no invented certainty."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keisoku.ground.report.digits import (
    EXACT_MARK,
    MARKS,
    RESOLUTION_MARK,
    SCALES,
    THIN_SPACE,
    column,
    count,
    digits,
    text,
    value_text,
)
from keisoku.ground.statistics.difference import ROUNDING
from keisoku.ground.statistics.quantity import Interval, Quantity

POWERS = {name: power for scales in SCALES.values() for power, name in scales}


def number(shown: str) -> Decimal:
    return Decimal(shown.replace("−", "-").replace(THIN_SPACE, ""))


@pytest.mark.parametrize(
    ("value", "unit", "uncertainty", "expected"),
    [
        (12_340.4, "ns", 50, "12.34 ± 0.05 µs"),
        (12_340.4, "ns", 12, "12.340 ± 0.012 µs"),
        (811, "ns", 0, "811 ns (exact)"),
        (811.0004, "ns", 0, "811.0004 ns (exact)"),
        (12_300, "ns", None, "12.3 µs (uncertainty unknown)"),
        (12_345.678, "ns", math.nan, "12.35 µs (uncertainty unknown)"),
        (148_809.52, "frames/s", 40, "148.81 ± 0.04 kframes/s"),
        (1_488_095.2, "frames/s", 96, "1.48810 ± 0.00010 Mframes/s"),
        (3, "ns", 230, "0 ± 230 ns"),
        (-47.3, "ns", 5, "−47 ± 5 ns"),
        (-0.2, "ns", 5, "0 ± 5 ns"),
        (2e9, "ns", 1e6, "2.0000 ± 0.0010 s"),
        (987e6, "bit/s", 1e6, "987.0 ± 1.0 Mb/s"),
        (7.99, "ns/byte", 0.00713, "7.990 ± 0.007 ns/byte"),
        (0, "%", 0, "0 % (exact)"),
        (math.nan, "ns", None, "– ns"),
    ],
)
def test_examples(value: float, unit: str, uncertainty: float | None, expected: str) -> None:
    assert text(Quantity(value=value, unit=unit, uncertainty=uncertainty)) == expected


@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-6, 1e12),
    st.sampled_from(["ns", "frames/s", "bit/s", "%", "ns/byte"]),
)
def test_no_digit_is_below_the_uncertainty(value: float, uncertainty: float, unit: str) -> None:
    assume(uncertainty > ROUNDING * abs(value))
    shown = digits(Quantity(value=value, unit=unit, uncertainty=uncertainty))
    power = POWERS.get(shown.unit, 0)
    error, last = number(shown.uncertainty), Decimal(1).scaleb(number(shown.value).as_tuple().exponent)  # type: ignore[arg-type]
    assert number(shown.uncertainty).as_tuple().exponent == number(shown.value).as_tuple().exponent
    assert last <= error
    if last < 1:
        assert error < 30 * last, "at most two significant digits"
    exact = Decimal(repr(value)).scaleb(-power)
    assert abs(number(shown.value) - exact) <= Decimal(repr(uncertainty)).scaleb(-power)


@given(st.floats(1e-3, 1e15), st.sampled_from(sorted(SCALES)))
def test_the_unit_leaves_one_to_three_digits_before_the_point(value: float, unit: str) -> None:
    power = POWERS[digits(Quantity(value=value, unit=unit)).unit]
    scales = [power for power, _ in SCALES[unit]]
    assert value >= 10.0**power or power == scales[0]
    assert value < 10.0 ** (power + 3) or power == scales[-1]


@given(st.floats(allow_nan=True, allow_infinity=True), st.none() | st.floats(allow_nan=True))
def test_any_figure_can_be_shown(value: float, uncertainty: float | None) -> None:
    assert "E" not in digits(Quantity(value=value, unit="ns", uncertainty=uncertainty)).compact


def test_a_column_has_one_unit() -> None:
    values = [Quantity(value=811, unit="ns", uncertainty=5), None, Quantity(value=12_000, unit="ns")]
    unit, cells = column(values)
    assert unit == "µs"
    assert [cell and cell.compact for cell in cells] == ["0.811 ± 0.005", None, "12†"]
    assert column([None]) == ("", [None])
    with pytest.raises(ValueError):
        column([Quantity(value=1, unit="ns"), Quantity(value=1, unit="%")])


@given(st.floats(1, 1e12), st.floats(0, ROUNDING / 2), st.sampled_from(["ns", "frames/s", "bit/s", "%"]))
def test_an_uncertainty_from_the_arithmetic_alone_is_never_shown(value: float, share: float, unit: str) -> None:
    shown = digits(Quantity(value=value, unit=unit, uncertainty=share * value))
    exact = digits(Quantity(value=value, unit=unit, uncertainty=0.0))
    assert (shown.value, shown.uncertainty, shown.unit) == (exact.value, "", exact.unit)
    # A slope through points without scatter is no count.
    assert (shown.mark, exact.mark) == (RESOLUTION_MARK if share else EXACT_MARK, EXACT_MARK)
    ends = Interval(lower=value, upper=value * (1 + share))
    assert not digits(Quantity(value=value, unit=unit, interval=ends)).ends


@pytest.mark.parametrize(
    ("value", "unit", "bound", "expected"),
    [
        (570_506.4, "frames/s", "at least", "at least 570.5 kframes/s"),
        (1_487_999.0, "frames/s", "at least", "at least 1.487 Mframes/s"),
        (1_487_001.0, "frames/s", "at most", "at most 1.488 Mframes/s"),
        (0.1 + 0.2, "%", "at most", "at most 0.3 %"),
        (3 * 0.1 - 1e-16, "%", "at least", "at least 0.3 %"),
        (123_456, "frames", "at least", "at least 123 456 frames"),
        (0, "frames", "at least", "at least 0 frames"),
        (-0.12345, "%", "at least", "at least −0.1235 %"),
    ],
)
def test_a_bound_is_rounded_so_that_it_remains_true(value: float, unit: str, bound: str, expected: str) -> None:
    figure = Quantity.model_validate({"value": value, "unit": unit, "bound": bound})
    assert text(figure) == value_text(figure) == expected
    assert digits(figure).compact in expected and not digits(figure).mark


@given(st.floats(1e-6, 1e12), st.sampled_from(["at least", "at most"]))
def test_a_bound_that_is_shown_is_true(value: float, bound: str) -> None:
    figure = Quantity.model_validate({"value": value, "unit": "", "bound": bound})
    shown = number(digits(figure).value)
    beyond = (shown - Decimal(repr(value))) * (1 if bound == "at least" else -1)
    assert beyond <= Decimal(repr(value)) * Decimal("1e-9")
    assert abs(shown - Decimal(repr(value))) <= Decimal(repr(value)) * Decimal("1.1e-3")


@pytest.mark.parametrize(
    ("value", "unit", "uncertainty", "expected"),
    [
        (571_234, "frames/s", 11_400, "571 kframes/s (resolution ± 2.0 %)"),
        (57.1, "%", 0.6, "57.1 % (resolution ± 0.6 %)"),
        (0, "frames/s", 5, "0 frames/s (resolution ± 5 frames/s)"),
        (571_234, "frames/s", 0, "571.234 kframes/s (in this run)"),
        (571_234, "frames/s", None, "571.2 kframes/s (uncertainty unknown)"),
    ],
)
def test_what_is_only_the_resolution_says_so(value: float, unit: str, uncertainty: float | None, expected: str) -> None:
    figure = Quantity(value=value, unit=unit, uncertainty=uncertainty, covers="resolution")
    assert text(figure) == expected
    if uncertainty:
        assert digits(figure).mark == "§" and digits(figure).compact.endswith("§") and "§" in MARKS


def test_a_resolution_may_have_one_side_only() -> None:
    ends = Interval(lower=571_234, upper=582_000)
    figure = Quantity(value=571_234, unit="frames/s", interval=ends, covers="resolution")
    assert text(figure) == "571 kframes/s (resolution 571 … 582 kframes/s)"
    assert digits(figure).compact == "571 (571 … 582)§"


def test_a_zero_that_was_counted_has_no_digits_after_the_point() -> None:
    figure = Quantity(value=0.0, unit="%", interval=Interval(lower=0.0, upper=0.0029), covers="resolution")
    assert digits(figure).compact == "0 (0 … 0.0029)§"


def test_counts_are_grouped() -> None:
    assert count(1488095).split(THIN_SPACE) == ["1", "488", "095"]
