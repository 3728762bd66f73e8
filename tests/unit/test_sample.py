"""How often intervals of few values contain the truth, on draws, and that nothing else takes a sample's deviation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import effective_freedom, half_width, half_width_of_sum, student
from keisoku.subjects.system.figure_of_merit import FIGURES
from keisoku.subjects.system.objective import Goal
from keisoku.subjects.system.search.client_share import ClientShare

ROOT = Path(__file__).parents[2]
HOME = ROOT / "keisoku" / "ground" / "statistics"
DRAWS = 2000
FEW = (2, 3, 5, 10)


def covered(quantity: Quantity, truth: float) -> bool:
    assert quantity.bounds is not None
    return quantity.bounds[0] <= truth <= quantity.bounds[1]


def normal(count: int, mean: float = 100.0, spread: float = 3.0) -> Iterator[list[float]]:
    random = np.random.default_rng(count)
    for _ in range(DRAWS):
        yield random.normal(mean, spread, count).tolist()


@pytest.mark.parametrize("count", FEW)
def test_a_mean_of_few_is_covered_as_often_as_its_interval_says(count: int) -> None:
    """Twice the standard error, which some figures had before, contains it in 70, 82, 88 and 92 %."""
    held = [covered(budget.mean(values, "ns"), 100.0) for values in normal(count)]
    assert 0.93 <= np.mean(held) <= 0.98
    with_resolution = [
        covered(budget.mean_with(values, "ns", "repeatability", [budget.rectangular("resolution", 0.5)]), 100.0)
        for values in normal(count)
    ]
    assert 0.93 <= np.mean(with_resolution) <= 0.98


@pytest.mark.parametrize("count", FEW)
def test_a_variance_and_a_deviation_of_few_are_covered(count: int) -> None:
    assert 0.93 <= np.mean([covered(budget.variance(values, "ns²"), 9.0) for values in normal(count)]) <= 0.98
    assert 0.93 <= np.mean([covered(budget.spread(values, "ns"), 3.0) for values in normal(count)]) <= 0.98


@pytest.mark.parametrize("count", FEW)
def test_a_score_of_few_evaluations_is_covered(count: int) -> None:
    merit = FIGURES[Goal.WORST_P99]
    held = [covered(merit.mean(values), merit.value(2.0)) for values in normal(count, 2.0, 0.1)]
    assert 0.93 <= np.mean(held) <= 0.98


@pytest.mark.parametrize("count", FEW)
def test_what_a_client_keeps_is_covered(count: int) -> None:
    """Of two evaluations each Welch's degrees of freedom are themselves uncertain, and the interval is wider."""
    random = np.random.default_rng(count)
    held = []
    for _ in range(DRAWS):
        share = ClientShare("a", tuple(random.normal(100, 2, count)), tuple(random.normal(40, 2, count)))
        assert share.share is not None
        held.append(abs(share.share - 0.4) <= share.error)
    assert 0.93 <= np.mean(held) <= (0.99 if count == 2 else 0.98)


def test_a_difference_of_two_means_is_covered() -> None:
    random = np.random.default_rng(1)
    for one, other in ((3, 3), (5, 3), (10, 4)):
        held = [
            abs(a.mean() - b.mean() - 5) <= half_width_of_sum((a.tolist(), b.tolist()), (1, -1))
            for a, b in ((random.normal(15, 3, one), random.normal(10, 3, other)) for _ in range(DRAWS))
        ]
        assert 0.93 <= np.mean(held) <= 0.98
    assert effective_freedom([(3.0, 4), (3.0, 4)]) == pytest.approx(8)
    assert effective_freedom([(3.0, 4), (0.0, 1)]) == 4


def test_a_single_value_has_no_interval() -> None:
    assert budget.mean([5.0], "ns") == Quantity(value=5.0, unit="ns")
    assert half_width([5.0]) == float("inf") == half_width_of_sum(([5.0], [1.0, 2.0]), (1, 1))
    assert student(2) == pytest.approx(4.3027, rel=1e-4) and student(float("inf")) == pytest.approx(1.95996, rel=1e-5)
    with pytest.raises(ValueError):
        budget.mean([], "ns")


def deviations(tree: ast.AST) -> Iterator[int]:
    """Lines that take a sample's deviation or variance by NumPy or `statistics`."""
    names = {"stdev", "pstdev", "pvariance"}
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "ddof":
            yield node.value.lineno
        elif isinstance(node, ast.Attribute):
            of_module = isinstance(node.value, ast.Name) and node.value.id == "statistics" and node.attr == "variance"
            if node.attr in names or of_module:
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"std", "var"}:
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "statistics":
            yield from (node.lineno for one in node.names if one.name in names | {"variance"})


def test_only_the_statistics_take_a_samples_deviation() -> None:
    """`uncertainty.deviation`, `half_width` and `budget.mean` are for all: there is one rule for few values."""
    for text in ("np.std(x, ddof=1)", "x.std()", "statistics.stdev(x)", "from statistics import stdev", "f(ddof=0)"):
        assert list(deviations(ast.parse(text)))
    texts = {
        file.relative_to(ROOT): file.read_text(encoding="utf-8")
        for file in sorted((ROOT / "keisoku").rglob("*.py"))
        if HOME not in file.parents
    }
    hints = ("ddof", "stdev", "variance", ".std(", ".var(")  # parsing all takes long
    found = [
        f"{file}:{line}"
        for file, text in texts.items()
        if any(hint in text for hint in hints)
        for line in deviations(ast.parse(text))
    ]
    assert not found
