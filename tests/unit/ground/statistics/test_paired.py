"""Paired comparisons on truths: intervals, looks, verdicts, bounds, words."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from keisoku.ground.report.paired import pairs_plot, sentence
from keisoku.ground.report.svg import svg
from keisoku.ground.statistics import biweight, signed_rank
from keisoku.ground.statistics.baseline import judge_against
from keisoku.ground.statistics.difference import Better
from keisoku.ground.statistics.paired import (
    FALSELY_WORSE,
    Differences,
    Judgement,
    Rule,
    differences,
    final,
    judge,
    widened,
)
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.spending import looks

HIGHER = Rule("higher")


def fps(value: float, **more: object) -> Quantity:
    return Quantity.model_validate({"value": value, "unit": "frames/s", **more})


def evenly(count: int) -> list[float]:
    return [(place + 1) / count for place in range(count)]


def noisy(seed: int, ratio: float, count: int = 120) -> Judgement:
    chance = np.random.default_rng(seed)
    apart = chance.normal(0, 0.05, count) - chance.normal(0, 0.05, count) + math.log(ratio)
    return judge(Differences(apart, apart, 0.0, True, 1.0), evenly(count), HIGHER)


def test_the_estimate_is_that_of_the_textbook() -> None:
    # Hollander, Wolfe and Chicken, example 3.3 (Hamilton depression scale).
    apart = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010]
    assert signed_rank.pseudo_median(signed_rank.ranked(apart)) == pytest.approx(-0.46)


@pytest.mark.parametrize(("error", "missed"), [(0.01, 0), (0.016, 4), (0.1, 50)])
def test_of_all_signs_the_interval_misses_as_few_as_it_says(error: float, missed: int) -> None:
    """Differences whose signs are all equally probable are all cases that there are: 512 of nine."""
    sizes = np.random.default_rng(3).standard_t(2, 9)
    drawn = [signed_rank.ranked(sizes * signs) for signs in itertools.product((-1, 1), repeat=9)]
    ends = [signed_rank.interval(apart, apart, error) for apart in drawn]
    found = sum(not low <= 0 <= high for low, high in ends)
    assert found <= error * len(drawn) and found >= missed


def test_one_disturbed_pair_of_twelve_hides_no_difference() -> None:
    """Beside two busy programs one pair in ten was 5 to 20 % off: with the ranks themselves nothing was found then."""
    apart = np.random.default_rng(1).normal(0.02, 0.003, 12)
    apart[4] = -0.2
    ranked = signed_rank.ranked(apart)
    low, high = signed_rank.interval(ranked, ranked, 2 * FALSELY_WORSE)
    assert 0.01 < low < 0.02 < high < 0.03


@pytest.mark.parametrize("count", [8, 30, 200])
def test_an_interval_misses_the_centre_as_seldom_as_it_says(count: int) -> None:
    chance = np.random.default_rng(3)
    drawn = [signed_rank.ranked(apart) for apart in chance.standard_t(2, (600, count))]
    ends = [signed_rank.interval(apart, apart, 0.1) for apart in drawn]
    missed = sum(not low <= 0 <= high for low, high in ends) / len(ends)
    assert 0.04 < missed < 0.14


def test_too_few_differences_exclude_nothing() -> None:
    few, enough = (signed_rank.ranked([1.0] * count) for count in (5, 6))
    assert signed_rank.interval(few, few, 0.05) == (-math.inf, math.inf)
    assert signed_rank.interval(enough, enough, 0.05) == (1.0, 1.0)


def test_looks_use_the_probability_of_error_once() -> None:
    found = looks(evenly(100), 2 * FALSELY_WORSE)
    assert sum(look.share for look in found) == pytest.approx(1.0)
    assert found[-1].pairs == 100
    assert all(look.share * 2 * FALSELY_WORSE >= signed_rank.smallest_error(look.pairs) for look in found)


@pytest.mark.parametrize(("better", "sign"), [("higher", 1), ("lower", -1)])
def test_to_be_called_better_takes_more_than_to_be_called_worse(better: Better, sign: int) -> None:
    used, rule = [0.01] * 7 + [1.0], Rule(better)
    verdicts = []
    for change in (-0.05, 0.05):
        apart = np.full(8, sign * change)
        verdicts.append(judge(Differences(apart, apart, 0.0, True, 1.0), used, rule).verdict)
    assert verdicts == ["worse", "no worse"]


def test_a_budget_that_ends_late_is_used_up_by_its_last_look() -> None:
    assert looks([0.3, 0.7, 1.0], 2 * FALSELY_WORSE) == []
    assert [look.pairs for look in looks([*evenly(20)[:-1], 1.0], 2 * FALSELY_WORSE)][-1] == 20


def test_a_budget_too_small_for_a_last_look_ends_with_the_one_before() -> None:
    pairs = [(fps(1000, uncertainty=20), fps(1000, uncertainty=20))] * 9
    used = [0.95 * share for share in evenly(8)] + [1.0]
    found = judge(differences(pairs), used, Rule("higher", margin=0.01))
    assert found.verdict == "undecided" and found.ended and found.pairs == 8 and math.isfinite(found.shown[0])


def test_a_slowdown_is_found_and_equals_are_not() -> None:
    found = [noisy(seed, 0.95).verdict for seed in range(60)]
    alike = [noisy(seed, 1.0).verdict for seed in range(60)]
    assert found.count("worse") >= 57
    assert alike.count("open") >= 58


def test_figures_side_by_side_share_the_probability_of_error() -> None:
    """Equal sides are called worse no oftener when ten figures are compared, and each figure needs more pairs."""
    alone, beside = Rule("higher"), Rule("higher", comparisons=10)
    alarms = dict.fromkeys((alone, beside), 0)
    for seed in range(400):
        chance = np.random.default_rng(seed)
        apart = chance.normal(0, 0.02, 30)
        for rule in alarms:
            alarms[rule] += judge(Differences(apart, apart, 0.0, True, 1.0), evenly(30), rule).verdict == "worse"
    assert alarms[beside] < alarms[alone] / 2 < 10
    apart = np.random.default_rng(7).normal(-0.02, 0.02, 60)
    needed = [judge(Differences(apart, apart, 0.0, True, 1.0), evenly(60), rule).pairs for rule in alarms]
    assert needed[0] < needed[1] < 60


def test_a_larger_slowdown_needs_fewer_pairs() -> None:
    assert noisy(1, 0.7).pairs < noisy(1, 0.9).pairs < 60
    assert noisy(1, 1.2).verdict == "better"


def test_a_tenth_of_disturbed_runs_does_not_hide_a_slowdown() -> None:
    chance = np.random.default_rng(4)

    def run() -> np.ndarray:
        return chance.normal(0, 0.03, 120) + np.where(chance.random(120) < 0.1, math.log(0.5), 0)

    apart = run() - run() + math.log(0.95)
    assert judge(Differences(apart, apart, 0.0, True, 1.0), evenly(120), HIGHER).verdict == "worse"


def test_an_interval_inside_the_margin_is_no_difference() -> None:
    apart = np.random.default_rng(5).normal(0, 0.01, 60)
    found = judge(Differences(apart, apart, 0.0, True, 1.0), evenly(60), Rule("higher", margin=0.03))
    assert found.verdict == "equal" and found.pairs < 60
    narrow = judge(Differences(apart, apart, 0.0, True, 1.0), evenly(60), Rule("higher", precision=0.01))
    assert narrow.verdict == "precise" and narrow.pairs < 60


def test_what_the_margin_allows_is_not_worse() -> None:
    apart = np.random.default_rng(6).normal(-0.03, 0.02, 80)
    assert judge(Differences(apart, apart, 0.0, True, 1.0), evenly(80), Rule("higher", margin=0.1)).verdict == "equal"
    assert judge(Differences(apart, apart, 0.0, True, 1.0), evenly(80), HIGHER).verdict == "worse"
    assert judge(Differences(apart, apart, 0.0, True, 1.0), evenly(80), Rule("lower")).verdict == "better"
    assert judge(Differences(apart, apart, 0.0, True, 1.0), evenly(80), Rule("neither")).verdict == "different"


def test_the_resolution_of_runs_is_in_the_interval() -> None:
    pairs = [(fps(1000, uncertainty=10), fps(1000, uncertainty=10))] * 40
    found = judge(differences(pairs), evenly(40), Rule("higher", margin=0.05))
    assert found.verdict == "equal"
    assert found.shown == pytest.approx((-0.02, 0.02), abs=5e-4)
    assert judge(differences(pairs), evenly(40), Rule("higher", margin=0.005)).verdict == "undecided"


def test_the_resolution_widens_each_side_from_its_own_centre() -> None:
    assert widened((-3.0, 14.0), (1.0, 2.0), 3.0) == pytest.approx((1 - 5, 2 + math.hypot(12, 3)))
    assert widened((-math.inf, 5.0), (-math.inf, 2.0), 4.0) == pytest.approx((-math.inf, 2 + 5))
    assert widened((-3.0, 14.0), (1.0, 2.0), 0.0) == (-3.0, 14.0)


def test_a_side_that_is_a_bound_counts_as_one() -> None:
    above = judge(differences([(fps(1000), fps(1100, bound="at least"))] * 30), evenly(30), HIGHER)
    assert above.verdict == "better" and above.change[0] == pytest.approx(0.1) and above.change[1] == math.inf
    below = judge(differences([(fps(1000, bound="at least"), fps(1100))] * 30), evenly(30), HIGHER)
    assert below.verdict == "undecided" and below.shown[0] == -math.inf and below.shown[1] == pytest.approx(0.1)
    both = judge(differences([(fps(1000, bound="at least"), fps(900, bound="at least"))] * 30), evenly(30), HIGHER)
    assert both.verdict == "undecided"


def test_pairs_without_a_figure_are_left_out() -> None:
    pairs = [(fps(1000), fps(900)), None] * 20
    found = judge(differences(pairs), evenly(40), HIGHER)
    assert found.verdict == "worse" and found.pairs < 20
    assert judge(differences([None] * 5), evenly(5), HIGHER).verdict == "not measured"


def test_figures_that_can_be_zero_are_subtracted() -> None:
    loss = [Quantity(value=value, unit="%") for value in (0.0, 1.0)]
    found = judge(differences([(loss[0], loss[1])] * 20), evenly(20), Rule("lower"))
    assert found.verdict == "worse" and found.change == (1.0, 1.0)
    none = judge(differences([(loss[0], loss[0])] * 20), evenly(20), Rule("lower"))
    assert none.verdict == "equal"


def test_new_runs_against_one_kept_run_need_a_larger_difference() -> None:
    chance = np.random.default_rng(7)
    rule = Rule("higher")
    new = [fps(float(value)) for value in 950 * np.exp(chance.normal(0, 0.01, 10))]
    once = judge_against([fps(1000)], new, rule, True)
    often = judge_against([fps(float(v)) for v in 1000 * np.exp(chance.normal(0, 0.01, 10))], new, rule, True)
    assert once.verdict == often.verdict == "worse"
    assert once.shown[1] - once.shown[0] > 2 * (often.shown[1] - often.shown[0])
    alarms = sum(
        judge_against([fps(float(x))], [fps(float(v)) for v in y], rule, True).verdict == "worse"
        for x, y in zip(np.exp(chance.normal(0, 0.05, 500)), np.exp(chance.normal(0, 0.05, (500, 10))), strict=True)
    )
    assert alarms <= 12


def test_the_sentence_says_how_sure_it_is() -> None:
    found = Judgement("worse", True, 14, (-0.048, -0.048), (-0.056, -0.039), (-0.06, -0.035))
    assert sentence("throughput", "", found, 0.0, "14 pairs") == (
        "B's throughput is 4.8 % lower than A's (95 % interval 3.9 % to 5.6 %, 14 pairs): worse"
    )
    alike = Judgement("equal", True, 20, (0.001, 0.001), (-0.012, 0.015), (-0.02, 0.02))
    assert sentence("p99", " (64-byte frames)", alike, 0.02, "20 pairs") == (
        "no difference larger than 2 %: B's 99 % quantile (64-byte frames) is between −1.2 % and +1.5 % of A's "
        "(95 % interval, 20 pairs)"
    )
    few = Judgement("undecided", True, 4, (0.1, 0.1), (-math.inf, math.inf), (-math.inf, math.inf))
    assert sentence("loss", "", few, 0.0, "4 pairs").startswith("undecided: 4 pairs are too few")


def test_the_ends_of_a_difference_of_a_thousand_percent_and_more_are_in_order() -> None:
    found = Judgement("worse", True, 10, (4.59, 4.59), (0.72, 17.41), (0.5, 20.0))
    assert "is 459 % higher than A's (95 % interval 72 % to 1 741 %, 10 pairs)" in sentence(
        "min", "", found, 0.0, "10 pairs"
    ).replace("\u202f", " ").replace("\xa0", " ")


def test_a_plot_shows_pairs_bounds_and_margin() -> None:
    found = Judgement("open", True, 2, (0.0, 0.0), (-0.1, 0.1), (-0.2, 0.2))
    one = [Quantity(value=1e6, unit="frames/s", bound="at least"), Quantity(value=1.1e6, unit="frames/s"), None]
    shares = [(0.01, 0.01), (-0.02, math.inf), (math.nan, math.nan)]
    plot = pairs_plot("p", "Throughput", [one, one], shares, found, 0.05)
    a, b, bound, pairs, *lines = plot.traces
    assert (a["name"], b["name"]) == ("A", "B") and a["y"] == [1.0, 1.1, None]
    assert a["marker"]["symbol"][:2] == ["triangle-up-open", "circle"] and "at least" in bound["name"]
    assert pairs["marker"]["symbol"] == ["circle", "triangle-up"] and pairs["yaxis"] == "y2"
    assert pairs["y"] == pytest.approx([1.0, -2.0])
    assert len(lines) == 4 and all(line["yaxis"] == "y2" for line in lines)


def test_sides_that_are_only_bounds_are_drawn_all_the_same() -> None:
    """A comparison of two bounds had a plot without a point."""
    found = Judgement("undecided", False, 2, (-math.inf, math.inf), (-math.inf, math.inf), (-math.inf, math.inf))
    one = [Quantity(value=1e6, unit="frames/s", bound="at least")] * 2
    plot = pairs_plot("p", "Throughput", [one, one], [(math.nan, math.nan)] * 2, found, 0.0)
    assert "yaxis2" not in plot.axes and plot.has_an_axis
    assert [trace["name"] for trace in plot.traces[:2]] == ["A", "B"] and svg(plot).count("at least") >= 1


def test_the_biweight_interval_covers_with_one_run_in_ten_disturbed() -> None:
    """Symmetrical differences of equal sides: 1000 intervals of 95 % from 40 and from 120 pairs."""
    for count in (biweight.LEAST, 120):
        missed = 0
        for seed in range(1000):
            chance = np.random.default_rng([count, seed])
            runs = chance.normal(0, 0.05, (count, 2)) - np.where(chance.random((count, 2)) < 0.1, 0.36, 0.0)
            found = biweight.interval(runs[:, 1] - runs[:, 0], 0.05)
            assert found is not None
            missed += not found[1] <= 0 <= found[2]
        assert 30 <= missed <= 70  # 50 ± 3 standard deviations


def test_disturbed_runs_do_not_widen_the_biweight_interval() -> None:
    calm = np.random.default_rng(1).normal(0.01, 0.01, 60)
    spoiled = np.concatenate([calm, [-5.0, 5.0, 4.0]])
    (_, low, high), (_, least, most) = (biweight.interval(each, 0.05) or (0, 0, 0) for each in (calm, spoiled))
    assert most - least < 1.15 * (high - low)


def test_the_biweight_centre_solves_tukeys_equation() -> None:
    """The sum of u (1 - u²)² vanishes, over the differences that lie within five median deviations."""
    skewed = np.random.default_rng(3).lognormal(0, 1, 80)
    found = biweight.centre(skewed)
    assert found is not None and abs(found[0] - np.median(skewed)) > 0.05
    far = (skewed - found[0]) / (5 * np.median(np.abs(skewed - np.median(skewed))))
    near = far[np.abs(far) < 1]
    assert (near * (1 - near**2) ** 2).sum() == pytest.approx(0, abs=1e-6)
    _, low, high = biweight.interval(skewed, 0.05) or (0, 0, 0)
    assert high - low == pytest.approx(2 * found[1] * stats.t.ppf(0.975, 0.7 * 79))  # Kafadar's degrees of freedom


def test_the_biweight_has_no_answer_for_few_bounded_or_equal_differences() -> None:
    many = np.random.default_rng(2).normal(0, 1, 60)
    assert biweight.interval(many[:39], 0.05) is None
    assert biweight.interval(np.append(many, np.inf), 0.05) is None
    assert biweight.interval(np.append(np.zeros(61), many), 0.05) is None


def test_an_interval_without_zero_is_never_called_no_difference() -> None:
    """It is not certain enough for 'worse', and 29 to 47 % more is no 'no difference'."""
    ends = {(0.29, 0.47): "undecided", (-0.47, -0.29): "no worse", (-0.01, 0.02): "open"}
    found = {shown: final(7, shown, shown, (-math.inf, math.inf), Rule("lower"), last=True) for shown in ends}
    assert {shown: each.verdict for shown, each in found.items()} == ends
