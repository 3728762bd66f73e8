"""When a figure was measured often enough, which can't be told from the best, and what factors change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from keisoku.ground.statistics.uncertainty import half_width
from keisoku.subjects.stream.best_set import best_set, worse_by_chance
from keisoku.subjects.stream.confidence import Confidence
from keisoku.subjects.stream.factorial import effects, interactions, setups
from keisoku.subjects.stream.schedule import Cell, CellSchedule
from keisoku.subjects.stream.sizes import E5_BYTES, between, tcp_sizes, udp_sizes


def test_the_rule_is_netperfs() -> None:
    values = [100.0, 102.0, 98.0, 101.0, 99.0]
    mean, count = np.mean(values), len(values)
    # netlib.c: 2 · t(0.99, 4) · √(var/(n − 1)), var without Bessel's correction.
    netperf = 2 * 4.604095 * math.sqrt(np.var(values) / (count - 1))
    assert 2 * half_width(values, 0.99) == pytest.approx(netperf, rel=1e-6)
    assert not Confidence().met(values) and netperf / mean > 0.05
    assert Confidence(half_width=0.04).met(values)
    assert not Confidence().met([100.0, 100.0]) and Confidence().met([100.0] * 3)


def test_no_figure_is_measured_more_often_than_the_most() -> None:
    wild = [1.0, 100.0] * 15
    assert not Confidence().settled(wild[:29]) and Confidence().settled(wild) and not Confidence().met(wild)


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    noise = np.random.default_rng(1)
    runs = [noise.normal(100, 3, 6) for _ in range(2000)]
    held = sum(abs(run.mean() - 100) <= half_width(run.tolist(), 0.99) for run in runs)
    assert held / 2000 == pytest.approx(0.99, abs=0.006)


def test_chance_is_welchs() -> None:
    one, other = [10.0, 11.0, 12.0, 10.5], [9.0, 9.5, 10.2]
    by_scipy = stats.ttest_ind(one, other, equal_var=False, alternative="greater").pvalue
    assert worse_by_chance(one, other) == pytest.approx(by_scipy, rel=1e-9)


def test_the_true_best_is_in_the_set_as_often_as_it_says() -> None:
    """Ten sizes with one mean: that of number 0 is one of the best, whichever chance puts first."""
    noise = np.random.default_rng(2)
    inside = sum(0 in best_set({key: noise.normal(100, 2, 5).tolist() for key in range(10)}) for _ in range(500))
    assert inside / 500 >= 0.95


def test_what_is_clearly_worse_is_left_out_and_the_best_comes_first() -> None:
    noise = np.random.default_rng(3)
    means = {"a": 50.0, "b": 100.0, "c": 99.8, "d": 90.0}
    found = best_set({key: noise.normal(mean, 1, 8).tolist() for key, mean in means.items()})
    assert set(found) == {"b", "c"}
    assert best_set({"a": [1.0], "b": [5.0, 5.0]}) == ["b", "a"]
    assert best_set({"a": [1.0, 1.0], "b": [5.0, 5.0]}) == ["b"]
    with pytest.raises(ValueError):
        best_set({})


def test_the_grid_holds_powers_of_two_their_neighbours_and_e5s_size() -> None:
    sizes = tcp_sizes()
    assert {1024, 8192, 61_440, 65_536, 69_632, E5_BYTES, 98_304, 131_072, 1 << 20} <= set(sizes)
    assert sizes == sorted(set(sizes)) and 30 <= len(sizes) <= 60
    assert tcp_sizes(1, 4) == [1, 2, 3, 4]
    assert udp_sizes(1472) == [64, 128, 256, 512, 1024, 1472]


@given(st.sets(st.integers(1, 1 << 20), min_size=1), st.data())
def test_refined_sizes_lie_between_neighbours(sizes: set[int], data: st.DataObject) -> None:
    best = data.draw(st.sampled_from(sorted(sizes)))
    for size in between(sizes, best):
        assert min(sizes) < size < max(sizes) and size not in sizes


def _measure(campaign: CellSchedule, truth: dict[int, float], deviation: float, seed: int = 1) -> list[Cell]:
    noise = np.random.default_rng(seed)
    order = []
    while (cell := campaign.next()) is not None:
        order.append(cell)
        exact = float(np.interp(math.log(cell.message_bytes), [math.log(size) for size in truth], list(truth.values())))
        campaign.tell(cell, exact * (1 + deviation * noise.normal()))
    return order


def test_a_campaign_measures_each_cell_until_the_rule_is_met_in_random_order_and_refines_around_the_best() -> None:
    truth = {1000: 1.0, 10_000: 4.0, 100_000: 10.0, 1_000_000: 6.0}
    campaign = CellSchedule([Cell(0, size) for size in truth], Confidence(), seed=4, refinements=2)
    order = _measure(campaign, truth, 0.01)
    assert all(campaign.rule.met(values) for values in campaign.values.values()) and campaign.unsettled == []
    added = {cell.message_bytes for cell in campaign.values} - set(truth)
    assert added and all(10_000 < size < 1_000_000 for size in added)
    rounds = [[cell.message_bytes for cell in order[at : at + 4]] for at in (0, 4, 8)]
    assert all(sorted(one) == sorted(truth) for one in rounds)
    assert any(one != sorted(truth) for one in rounds)
    assert best_set(campaign.values)[0].message_bytes == 100_000


def test_a_campaign_ends_on_a_host_that_never_settles() -> None:
    campaign = CellSchedule([Cell(0, 1), Cell(0, 2)], Confidence(most=5), seed=1)
    order = _measure(campaign, {1: 1.0, 2: 1.0}, 0.5)
    assert len(order) == 10 and len(campaign.unsettled) == 2
    assert campaign.remaining() == 0


def _plan(mtu: float, congestion: float, both: float = 1.0) -> list[tuple[dict[str, str], list[float]]]:
    noise = np.random.default_rng(5)
    cells = []
    for setup in setups({"mtu": ["1500", "9000"], "congestion": ["cubic", "bbr", "reno"]}):
        value = 1e9 * (mtu if setup["mtu"] == "9000" else 1) * (congestion if setup["congestion"] == "bbr" else 1)
        value *= both if setup == {"mtu": "9000", "congestion": "bbr"} else 1
        cells.append((setup, (value * np.exp(0.02 * noise.normal(size=6))).tolist()))
    return cells


def test_effects_of_factors_are_found_with_intervals_that_hold_them() -> None:
    found = {(effect.factor, effect.level): effect for effect in effects(_plan(1.5, 1.0))}
    jumbo, bbr = found["mtu", "9000"], found["congestion", "bbr"]
    assert jumbo.lower <= 1.5 <= jumbo.upper and jumbo.is_significant and jumbo.upper - jumbo.lower < 0.1
    assert bbr.lower <= 1 <= bbr.upper
    assert interactions(_plan(1.5, 1.2)) == []
    (pair,) = interactions(_plan(1.5, 1.0, both=1.3))
    assert set(pair.factors) == {"mtu", "congestion"}


def test_a_plan_without_repetitions_has_no_effects() -> None:
    with pytest.raises(ValueError):
        effects([({"a": "1"}, [1.0]), ({"a": "2"}, [2.0])])
    assert setups({}) == [{}]
