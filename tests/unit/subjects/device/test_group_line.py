"""Lines through groups of samples that share an error: their errors are those of the groups, and not of the samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from keisoku.ground.statistics.uncertainty import student
from keisoku.subjects.device.analysis.group_line import GroupLine, Repeats, exceeds, group_line

SIZES = (64.0, 512.0, 1024.0, 1518.0)
NONE = dict.fromkeys(SIZES, 0.0)


def points(off: tuple[float, ...] = (0, 0, 0, 0), spread: float = 2.0) -> list[tuple[float, float]]:
    """Twenty samples of each size about 8 ns/byte and 800 ns, whose mean is `off` the line."""
    scatter = np.tile([-spread, spread], 10)
    return [(x, 8 * x + 800 + by + one) for x, by in zip(SIZES, off, strict=True) for one in scatter]


def ends(found: GroupLine, true: tuple[float, float] = (8.0, 800.0)) -> tuple[float, float]:
    """By how much slope and constant are off, in their errors."""
    return abs(found.fit.slope - true[0]) / found.slope_error, abs(found.fit.constant - true[1]) / found.constant_error


def test_samples_that_explain_how_means_lie_decide_the_errors() -> None:
    found = group_line(points(), NONE)
    assert (found.fit.slope, found.fit.constant) == pytest.approx((8, 800))
    assert not found.is_bent
    # Of a mean of twenty; the errors of slope and constant of an ordinary line through four such means.
    mean = 2 * math.sqrt(20 / 19) / math.sqrt(20)
    away = np.array(SIZES) - np.mean(SIZES)
    for error, weights in (
        (found.slope_error, away / (away**2).sum()),
        (found.constant_error, 1 / 4 - away * np.mean(SIZES) / (away**2).sum()),
    ):
        shares = weights**2 / (weights**2).sum()
        freedom = 1 / float((shares**2 / 19).sum())  # Welch–Satterthwaite
        assert error == pytest.approx(student(freedom) / 2 * mean * math.sqrt((weights**2).sum()))
    assert found.explained == pytest.approx(mean)


def test_means_that_lie_apart_decide_the_errors_with_few_degrees_of_freedom() -> None:
    found = group_line(points((0, 40, -40, 0)), NONE)
    assert found.is_bent and found.farthest[0] in (512.0, 1024.0) and abs(found.farthest[1]) > 20
    off = np.array([np.mean([y for x, y in points((0, 40, -40, 0)) if x == size]) for size in SIZES])
    line = np.polyfit(SIZES, off, 1)
    about = math.sqrt(((off - np.polyval(line, SIZES)) ** 2).sum() / 2)
    away = np.array(SIZES) - np.mean(SIZES)
    assert found.slope_error == pytest.approx(student(2) / 2 * about / math.sqrt((away**2).sum()))
    assert max(ends(found)) < 2


def test_errors_of_whole_groups_are_added_to_both() -> None:
    found = group_line(points(), dict.fromkeys(SIZES, 30.0))
    away = np.array(SIZES) - np.mean(SIZES)
    assert found.slope_of_groups == pytest.approx(30 / math.sqrt((away**2).sum()))
    assert found.constant_of_groups == pytest.approx(30 * math.sqrt(1 / 4 + np.mean(SIZES) ** 2 / (away**2).sum()))
    # They explain how far means lie from the line.
    assert group_line(points((0, 40, -40, 0)), dict.fromkeys(SIZES, 30.0)).is_bent is False


def test_a_group_of_one_sample_shows_no_scatter_but_what_was_observed_does() -> None:
    single = [(x, 8 * x + 800) for x in SIZES]
    alone = group_line(single, NONE)
    assert alone.slope_error == pytest.approx(0, abs=1e-12)
    repeats = {x: Repeats(9.0, 7.0) for x in SIZES}
    away = np.array(SIZES) - np.mean(SIZES)
    found = group_line(single, NONE, repeats)
    # Four variances that are alike have nearly four times the freedom, by their weights.
    shares = away**2 / (away**2).sum()
    freedom = 1 / (shares**2 / 7).sum()
    assert found.slope_error == pytest.approx(student(float(freedom)) / 2 * 3 / math.sqrt((away**2).sum()))
    two = group_line(single[:3], {x: 0.0 for x in SIZES[:3]}, {x: Repeats(0.0, 0.0) for x in SIZES[:3]})
    assert two.slope_error == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("freedom", [2, 5, 30])
def test_a_variance_exceeds_another_as_seldom_as_the_f_test_says(freedom: int) -> None:
    for of_explained in (4, 100, 0):
        other = of_explained or 10**9
        border = float(stats.f.isf(0.1, freedom, other))
        assert exceeds(1.02 * border, freedom, 1.0, of_explained)
        assert not exceeds(0.98 * border, freedom, 1.0, of_explained)
        strict = float(stats.f.isf(1e-3, freedom, other))
        assert exceeds(1.02 * strict, freedom, 1.0, of_explained, 1e-3)
        assert not exceeds(0.98 * strict, freedom, 1.0, of_explained, 1e-3)
    assert not exceeds(0.5, freedom, 1.0, 4) and not exceeds(0.0, freedom, 0.0, 4)
    assert exceeds(0.1, freedom, 0.0, 4), "nothing explains it"
    assert not exceeds(5.0, 0, 1.0, 4), "without a degree of freedom nothing is known"
