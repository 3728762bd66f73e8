"""Expressions of study files: values and errors by hand, and what is refused."""

from __future__ import annotations

import math

import pytest

from keisoku.errors import PlanError
from keisoku.running.study.arithmetic import Arguments, Expression, Value

FIGURES: dict[tuple[str, Arguments], Value] = {
    ("a", ()): Value(3.0, 0.3),
    ("a", ("row", "x")): Value(4.0, 0.4),
    ("b", ()): Value(2.0),
}
NAMES = frozenset({"a", "b"})


def value(text: str) -> Value | None:
    return Expression(text, NAMES).value(lambda name, arguments: FIGURES.get((name, arguments)))


@pytest.mark.parametrize(
    ("text", "expected", "error"),
    [
        ("1 + 2 * 3", 7, 0),
        ("-a", -3, 0.3),
        ("a - a", 0, 0),  # one figure, not two that are independent
        ("a + a", 6, 0.6),
        ('a + a("row", "x")', 7, 0.5),
        ("a * b ** 2", 12, 1.2),
        ("sqrt(b * 8)", 4, 0),
        ("abs(b - a)", 1, 0.3),
        ("max(a, b) / min(a, b)", 1.5, 0.15),
        ("a\n+ b", 5, 0.3),
    ],
)
def test_values_and_errors_by_hand(text: str, expected: float, error: float) -> None:
    found = value(text)
    assert found is not None
    assert (found.value, found.error) == pytest.approx((expected, error), abs=1e-12)


@pytest.mark.parametrize("text", ["a / (b - 2)", "sqrt(b - a)", 'a + b("missing")', "10 ** (a * 1000)"])
def test_what_has_no_value_is_none(text: str) -> None:
    assert value(text) is None


@pytest.mark.parametrize(
    "text",
    ["", "a +", "c", "open('x')", "a.b", "a[0]", "a if b else 3", "'x'", "a(b)", "max(a, key=b)", "lambda: 1", "a; b"],
)
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="figure"):
        Expression(text, NAMES)


def test_a_product_of_large_errors_keeps_its_first_order() -> None:
    found = value('a * a("row", "x")')
    assert found is not None and found.error == pytest.approx(math.hypot(1.2, 1.2))
