"""The statistics against closed forms, published figures and independent implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from keisoku.ground.frame.rates import bits_per_second, frame_time_ns, maximum_frames_per_second
from keisoku.ground.statistics.line_fit import fit_line
from keisoku.ground.statistics.uncertainty import combine, deviation, expanded, rectangular, standard_error_of_mean
from keisoku.subjects.device.analysis.definitions import latencies
from keisoku.subjects.device.analysis.percentile import packet_delay_variation, percentile
from keisoku.subjects.device.record.counts import Buckets, Latency

SIZES = [64, 128, 256, 512, 1024, 1280, 1518]


def exact_buckets(values: list[int]) -> Buckets:
    lower = sorted({value for value in values if value >= 0})
    return Buckets(
        negative=sum(value < 0 for value in values),
        lower_ns=lower,
        upper_ns=[value + 1 for value in lower],
        counts=[values.count(value) for value in lower],
    )


def test_a_line_without_scatter_is_found_exactly() -> None:
    fit = fit_line(SIZES, [8.0 * size + 811 for size in SIZES])
    assert fit.slope == pytest.approx(8.0, rel=1e-12)
    assert fit.constant == pytest.approx(811.0, rel=1e-12)
    assert fit.slope_error == pytest.approx(0, abs=1e-10)
    assert fit.constant_error == pytest.approx(0, abs=1e-8)
    assert np.abs(fit.residuals).max() < 1e-9


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_an_independent_fit(weighted: bool) -> None:
    random = np.random.default_rng(1)
    x = np.arange(64, 1519, 7, dtype=float)
    sigma = random.uniform(1, 30, x.size)
    y = 8 * x + 811 + random.normal(0, sigma)
    fit = fit_line(x, y, sigma if weighted else None)
    best, covariance = curve_fit(lambda x, a, b: a * x + b, x, y, sigma=sigma if weighted else None)
    assert (fit.slope, fit.constant) == pytest.approx(tuple(best), rel=1e-6)
    assert (fit.slope_error, fit.constant_error) == pytest.approx(tuple(np.sqrt(np.diag(covariance))), rel=1e-5)


@pytest.mark.parametrize(
    ("x", "y", "sigma"),
    [
        ([64, 128], [1, 2], None),
        ([64, 64, 64], [1, 2, 3], None),
        ([64, 128, 256], [1, 2], None),
        ([64, 128, 256], [1, math.nan, 2], None),
        ([64, 128, 256], [1, 2, 3], [1, 0, 1]),
    ],
)
def test_what_has_no_error_to_state_is_refused(x: list[float], y: list[float], sigma: list[float] | None) -> None:
    with pytest.raises(ValueError):
        fit_line(x, y, sigma)


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=200), st.floats(0, 100))
def test_a_percentile_is_within_its_bound_of_the_nearest_rank(values: list[int], percent: float) -> None:
    found = percentile(exact_buckets(values), percent)
    rank = max(1, math.ceil(percent / 100 * len(values) - 1e-9))
    assert found is not None
    assert abs(found.value_ns - sorted(values)[rank - 1]) <= found.bound_ns == 1


def test_the_extremes_narrow_the_outermost_buckets() -> None:
    buckets = Buckets(lower_ns=[1024, 2048], upper_ns=[1032, 2064], counts=[1, 1])
    low, high = percentile(buckets, 0, 1030, 2050), percentile(buckets, 100, 1030, 2050)
    assert low is not None and 1030 <= low.value_ns <= 1032
    assert high is not None and high.value_ns == 2050 and high.bound_ns == 2


def test_unanswerable_percentiles_are_none() -> None:
    assert percentile(Buckets(), 50) is None
    some = exact_buckets([-5, -4, 10, 20])
    assert percentile(some, 50) is None
    assert percentile(some, 75) is not None
    with pytest.raises(ValueError):
        percentile(some, 101)


def test_pdv_is_d999_minus_dmin() -> None:
    values = [100] * 998 + [150, 900]
    latency = Latency(
        count=1000, min_ns=100, max_ns=900, mean_ns=100.85, deviation_ns=25, histogram=exact_buckets(values)
    )
    found = packet_delay_variation(latency)
    assert found is not None
    assert abs(found.value_ns - 50) <= found.bound_ns == 1


@pytest.mark.parametrize(
    ("size", "expected"),
    [(64, 14_880), (128, 8_445), (256, 4_528), (512, 2_349), (1024, 1_197), (1280, 961), (1518, 812)],
)
def test_maxima_are_those_of_rfc_2544_appendix_b(size: int, expected: int) -> None:
    # The appendix rounds some up and some down.
    assert maximum_frames_per_second(10e6, size) == pytest.approx(expected, abs=1)


def test_times_on_the_link() -> None:
    assert frame_time_ns(1e9, 64) == pytest.approx(512)
    assert bits_per_second(maximum_frames_per_second(1e9, 1518), 1518) == pytest.approx(987e6, rel=1e-4)
    for speed, size in [(0, 64), (1e9, 0), (math.nan, 64)]:
        with pytest.raises(ValueError):
            frame_time_ns(speed, size)
        with pytest.raises(ValueError):
            maximum_frames_per_second(speed, size)


def test_uncertainties_combine_in_quadrature() -> None:
    assert combine(3, 0, 4) == 5
    assert combine() == 0
    assert expanded(2.5) == 5
    assert standard_error_of_mean([-1.0, 1.0] * 200) == pytest.approx(1 / math.sqrt(399))
    assert deviation([-1.0, 1.0], fitted=0) == 1
    assert rectangular(4) == pytest.approx(2.3094, rel=1e-4)
    for refused in (lambda: combine(-1), lambda: rectangular(-1), lambda: standard_error_of_mean([1.0])):
        with pytest.raises(ValueError):
            refused()


def test_the_four_latencies_differ_by_the_frame_time() -> None:
    found = latencies(1323, 1e9, 64)
    assert (found.fifo_ns, found.lifo_ns, found.filo_ns, found.lilo_ns) == (1323, 811, 1835, 1323)
