"""What a cost record says: quantiles, resolution, bounds between cores, stalls; on records made by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.ground.run.result import Row
from keisoku.subjects.clock.cost import tally
from keisoku.subjects.clock.cost.analysis import CostRecord, CrossCore, SourceCost, Stalls, Steps, analyse
from keisoku.subjects.clock.cost.plot import cost_plot
from keisoku.subjects.clock.cost.resolution import common_step, resolution


def record(**more: object) -> CostRecord:
    """A counter of 2.6 GHz that steps by 26, whose empty bracket takes 52 ticks: 20 ns."""
    rdtsc = SourceCost(
        name="rdtsc",
        ticks=True,
        bulk_ns=9.6,
        single=[(78, 9_000), (104, 989), (130, 10), (26_000_000, 1)],
        steps=Steps(reads=10_000, zero=0, ahead=[(1, 90), (25, 90), (26, 9_800), (52, 20)], back=0, back_max=0),
    )
    coarse = SourceCost(
        name="CLOCK_MONOTONIC_COARSE",
        ticks=False,
        bulk_ns=4.6,
        single=[(52, 10_000)],
        steps=Steps(reads=1_000_000, zero=999_975, ahead=[(4_000_000, 25)], back=0, back_max=0),
    )
    values: dict[str, object] = {
        "counter": "TSC",
        "ticks_per_s": 2.6e9,
        "empty": [(52, 9_900), (78, 100)],
        "sources": [rdtsc, coarse],
        "cross_core": [CrossCore(reference=0, core=1, low=-624, high=598, rounds=1000, round_trip=1300)],
        "stalls": Stalls(elapsed=2_600_000_000, over=(20, 10, 1), max=1_300_000, lost=2_600_000),
    }
    return CostRecord.model_validate(values | more)


def row(name: str, group: str, source: CostRecord | None = None) -> Row:
    found = analyse(source or record())
    return next(row for row in found.rows if row.case == name and row.group == group)


def test_single_reads_are_shown_without_the_empty_bracket_and_no_finer_than_the_counter_steps() -> None:
    cost = row("rdtsc", "Time source")
    assert cost.figures["p50"].value == pytest.approx(10.0)
    assert cost.figures["max"].value == pytest.approx(1e7 - 20)
    assert cost.figures["bulk"].value == 9.6
    # Two brackets of two readings each, rounded to 10 ns: 2·√2·10/√6.
    assert cost.figures["p50"].uncertainty == pytest.approx(2 * 2**0.5 * 10 / 6**0.5, rel=1e-3)
    interval = cost.figures["p99.99"].interval
    assert interval is not None
    assert interval.lower < 40 and interval.upper > 9e6  # one read in 10 000 is no figure to rely on
    assert cost.figures["p50"].interval is None


def test_resolution_is_measured_and_a_few_odd_steps_do_not_hide_it() -> None:
    found = row("rdtsc", "Resolution of")
    assert found.figures["common_step"].value == pytest.approx(10.0)
    assert found.figures["smallest_step"].value == pytest.approx(1 / 2.6)
    assert found.remark == "steps by 26 ticks"
    coarse = row("CLOCK_MONOTONIC_COARSE", "Resolution of")
    assert coarse.figures["common_step"].value == 4_000_000
    assert coarse.figures["reads_without_a_step"].value == pytest.approx(99.9975)


def test_two_cores_have_bounds_and_no_midpoint() -> None:
    cores = row("1 against 0", "Counter of core")
    assert (cores.figures["lower_bound"].value, cores.figures["upper_bound"].value) == (-250, 240)
    assert cores.remark == "not more than 250 ns apart; no difference is proven"
    assert not analyse(record()).flags


@pytest.mark.parametrize(("low", "high"), [(3000, 5000), (-5000, -3000), (500, -500)])
def test_counters_that_are_apart_are_flagged(low: int, high: int) -> None:
    core = CrossCore(reference=0, core=1, low=low, high=high, rounds=9, round_trip=2000)
    assert analyse(record(cross_core=[core])).flagged("cores-apart")


def test_a_source_that_goes_back_and_a_host_that_stalls_are_flagged() -> None:
    broken = (
        record()
        .sources[0]
        .model_copy(update={"steps": Steps(reads=100, zero=3, ahead=[(26, 95)], back=2, back_max=2600)})
    )
    stalls = Stalls(elapsed=1000, over=(1, 0, 0), max=200, lost=200)
    found = analyse(record(sources=[broken], stalls=stalls))
    assert found.flagged("not-monotonic") and found.flagged("disturbed")
    assert next(flag for flag in found.flags if flag.name == "not-monotonic").figures["most"].value == 1000


def test_without_a_second_core_or_a_step_it_says_so() -> None:
    still = record().sources[0].model_copy(update={"steps": Steps(reads=5, zero=5, ahead=[], back=0, back_max=0)})
    found = analyse(record(sources=[still], cross_core=[]))
    assert any("between cores: not compared" in remark for remark in found.remarks)
    assert next(row for row in found.rows if row.group == "Resolution of").remark == "no step was seen"


def test_the_plot_shows_every_read_and_the_empty_bracket() -> None:
    plot = cost_plot(record())
    assert [trace["name"] for trace in plot.traces] == ["nothing", "rdtsc", "CLOCK_MONOTONIC_COARSE"]
    for trace in plot.traces:
        assert sum(trace["y"]) == pytest.approx(1)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=300), st.floats(0.01, 1))
def test_a_quantile_is_that_of_the_sorted_values(values: list[int], share: float) -> None:
    counted = sorted({value: values.count(value) for value in values}.items())
    ordered = sorted(values)
    found = tally.quantile(counted, share)
    assert sum(value <= found for value in ordered) >= share * len(ordered)
    assert sum(value < found for value in ordered) < max(share * len(ordered), 1)
    low, high = tally.quantile_range(counted, share)
    assert low <= found <= high


@given(st.integers(1, 1000), st.lists(st.integers(1, 50), min_size=1, max_size=40), st.randoms())
def test_the_common_step_divides_nearly_all(step: int, multiples: list[int], random: object) -> None:
    steps = sorted({step * multiple: 100 for multiple in multiples}.items())
    found = common_step(steps)
    assert found is not None and found % step == 0
    assert sum(count for value, count in steps if value % found == 0) >= 0.9 * tally.total(steps)


def test_no_reads_are_no_resolution() -> None:
    assert common_step([]) is None
    with pytest.raises(ValueError, match="no reads"):
        resolution(0, 0, [], 0, 0)
    with pytest.raises(ValueError, match="no ranks"):
        tally.quantile([], 0.5)
