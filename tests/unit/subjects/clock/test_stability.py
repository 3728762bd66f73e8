"""What is said of a clock's stability: no more than the log holds, and all that changes what it means."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from support.power_law_clocks import power_law_phase

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings
from keisoku.ground.report.svg import svg
from keisoku.ground.report.text import print_results
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, Row
from keisoku.running.measurement.carry_out import page
from keisoku.subjects.clock.stability.analysis import CLOCK_GROUP, TAU_GROUP, Clock, stability
from keisoku.subjects.clock.stability.deviation import deviation
from keisoku.subjects.clock.stability.freedom import ADEV
from keisoku.subjects.clock.stability.phase_log import PhaseLog, from_phase
from keisoku.subjects.clock.stability.plot import LOGGED, POINTS_MAX, STEADY, drift_plot, stability_plots
from keisoku.subjects.clock.stability.settings import PhaseSettings, StabilitySettings

CLOCK = Clock("crystal", "caesium", 1.0)


def log_of(alpha: int, points: int = 4096, tau0_s: float = 1.0, seed: int = 3) -> PhaseLog:
    return from_phase(1e-9 * power_law_phase(alpha, points, np.random.default_rng(seed)), tau0_s)


def at(found: Result, tau: float) -> Row:
    return next(row for row in found.rows if row.group == TAU_GROUP and row.at is not None and row.at.value == tau)


def longest(found: Result, figure: str) -> float:
    return max(row.at.value for row in found.rows if figure in row.figures and row.at is not None)


def test_no_averaging_time_has_fewer_than_three_windows() -> None:
    found = stability(log_of(0, 1000), CLOCK)
    for figure, reach in (("adev", 2), ("mdev", 3), ("tdev", 3), ("hdev", 3), ("mtie", 1), ("frequency_std", 1)):
        assert 1000 / (longest(found, figure) * reach) >= 3, figure
        assert 1000 / (longest(found, figure) * reach) < 6.5, figure
    assert all(row.figures for row in found.rows)


def times(found: Result) -> list[float]:
    return [row.at.value for row in found.groups()[TAU_GROUP] if row.at is not None]


def test_any_list_of_averaging_times_is_taken() -> None:
    """They were powers of two only."""
    log = log_of(0, 1000, 0.5)
    found = stability(log, CLOCK, tau="50s, 1s,10 s,2min,0.5s")
    assert times(found) == [0.5, 1.0, 10.0, 50.0, 120.0]
    octave = stability(log, CLOCK)
    assert times(octave) == [0.5 * 2**power for power in range(9)]
    assert at(found, 1.0) == at(octave, 1.0)
    adev = at(found, 10.0).figures["adev"]
    assert adev.value == pytest.approx(deviation(ADEV, [log.stretches[0].phase_s], 20, 0.5) * 1e9)
    assert adev.interval is not None and adev.interval.lower < adev.value < adev.interval.upper
    assert times(stability(log, CLOCK, tau="decade"))[:7] == [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    assert times(stability(log, CLOCK, tau="all")) == [0.5 * m for m in range(1, 334)]
    assert any(
        "too short for averaging times of 300 s." in said for said in stability(log, CLOCK, tau="1s,300s").remarks
    )


@pytest.mark.parametrize(
    ("tau", "said"),
    [
        ("1.3s", "1.3s is no whole number of the 0.5 s"),
        ("0.1s", "no whole number"),
        ("-1s", "no whole number"),
        ("day", "'day' is no averaging time"),
        ("", "'' is no averaging time"),
        ("1s,", "'' is no averaging time"),
        ("3parsec", "unknown unit 'parsec'"),
    ],
)
def test_what_is_no_averaging_time_is_refused_before_anything_is_logged(tau: str, said: str) -> None:
    with pytest.raises(PlanError, match=said) as error:
        StabilitySettings(every_s=0.5, duration_s=60.0, tau=tau)
    assert error.value.field == "tau"
    with pytest.raises(PlanError, match=said):
        PhaseSettings(file="tic.txt", tau0_s=0.5, tau=tau)


def test_more_averaging_times_than_anybody_reads_are_refused() -> None:
    with pytest.raises(PlanError, match="6666 averaging times"):
        stability(log_of(0, 20_000), CLOCK, tau="all")


def test_every_deviation_has_an_interval_and_the_noise_that_gave_it() -> None:
    found = stability(log_of(0), CLOCK)
    rows = found.groups()[TAU_GROUP]
    for row in rows:
        assert row.remark in ("white FM", "flicker FM", "random-walk FM")
        for figure in {"adev", "mdev", "tdev", "hdev"} & set(row.figures):
            value = row.figures[figure]
            interval = value.interval
            assert interval is not None and interval.lower < value.value < interval.upper
            assert value.uncertainty is not None
        assert row.figures["mtie"].uncertainty is None
    assert at(found, 64).figures["adev"].value == pytest.approx(1 / 8, rel=0.2)
    assert at(found, 64).figures["frequency_std"].value == pytest.approx(1 / 8, rel=0.3)
    figures = [row.figures["adev"] for row in rows if "adev" in row.figures]
    widths = [figure.interval.upper / figure.value for figure in figures if figure.interval]
    assert len(widths) == len(figures)
    assert widths == sorted(widths)


def test_noise_never_grows_whiter_with_the_averaging_time() -> None:
    rng = np.random.default_rng(1)
    mixed = 1e-9 * rng.standard_normal(1 << 15) + 1e-12 * power_law_phase(-2, 1 << 15, rng)
    rows = stability(from_phase(mixed, 1.0), CLOCK).groups()[TAU_GROUP]
    order = ["white PM", "flicker PM", "white FM", "flicker FM", "random-walk FM"]
    said = [order.index(row.remark) for row in rows]
    assert said == sorted(said)
    assert said[0] == 0
    assert said[-1] >= 3


def test_offset_drift_and_what_was_cumulated_are_found() -> None:
    time = np.arange(20_000) * 10.0
    rng = np.random.default_rng(2)
    phase = 2e-9 * rng.standard_normal(20_000) + 3e-8 * time + 0.5 * (1e-9 / 86_400) * time**2
    (row,) = stability(from_phase(phase, 10.0), CLOCK).groups()[CLOCK_GROUP]
    drift, offset = row.figures["linear_drift"], row.figures["offset"]
    assert abs(drift.value - 1.0) <= 2 * (drift.uncertainty or 0)
    assert (drift.uncertainty or 1) < 1e-3
    assert offset.value == pytest.approx(30 + 1.0 * 100_000 / 86_400, abs=1e-3)
    assert row.figures["cumulated_drift"].value == pytest.approx((phase[-1] - phase[0]) * 1e9)
    assert row.figures["duration"].value == 199_990.0


def test_hadamard_does_not_see_the_drift_that_allan_sees() -> None:
    time = np.arange(8192.0)
    found = stability(
        from_phase(1e-12 * np.random.default_rng(1).standard_normal(8192) + 0.5e-12 * time**2, 1.0), CLOCK
    )
    row = at(found, 512)
    assert row.figures["adev"].value == pytest.approx(1e-3 * 512 / math.sqrt(2), rel=1e-3)
    assert row.figures["hdev"].value < 1e-4


def test_a_step_changes_no_deviation() -> None:
    phase = 1e-9 * power_law_phase(2, 8192, np.random.default_rng(5))
    clean = stability(from_phase(phase, 1.0), CLOCK)
    phase[5000:] += 1e-3
    stepped = stability(from_phase(phase, 1.0), CLOCK)
    assert stepped.flagged("step")
    assert not clean.flagged("step")
    for tau in (1, 64, 512):
        for figure in ("adev", "mdev", "hdev"):
            want = at(clean, tau).figures[figure].value
            assert at(stepped, tau).figures[figure].value == pytest.approx(want, rel=0.25), (tau, figure)
    assert at(stepped, 64).figures["mtie"].value < 20


def test_a_step_of_the_frequency_is_flagged() -> None:
    phase = power_law_phase(0, 4096, np.random.default_rng(5))
    found = stability(from_phase(1e-9 * (phase + 100.0 * np.maximum(np.arange(4096) - 3000, 0)), 1.0), CLOCK)
    (flag,) = [flag for flag in found.flags if flag.name == "frequency-step"]
    assert "the frequency stepped at 3000 s (+" in flag.text and flag.text.endswith("both sides together")


def test_what_is_missing_is_said_and_changes_little() -> None:
    phase = 1e-9 * power_law_phase(0, 8192, np.random.default_rng(5))
    clean = stability(from_phase(phase, 1.0), CLOCK)
    phase[np.random.default_rng(6).random(8192) < 0.01] = np.nan
    holed = stability(from_phase(phase, 1.0), CLOCK)
    assert holed.flagged("gap")
    assert any("not interpolated" in remark for remark in holed.remarks)
    for tau in (1, 64, 512):
        for figure in ("adev", "mdev", "hdev"):
            want = at(clean, tau).figures[figure].value
            assert at(holed, tau).figures[figure].value == pytest.approx(want, rel=0.05), (tau, figure)
    shown = [flag.text for flag in holed.flags if flag.name == "gap"]
    assert len(shown[0]) < 1000


@pytest.mark.parametrize("what", ["scattered", "gap", "two stretches"])
def test_intervals_hold_what_they_promise_where_readings_are_missing(what: str) -> None:
    """95 % of the intervals contain the true deviation; 2.2 % is the standard error of 100 trials."""
    rng, found = np.random.default_rng(3), []
    for _ in range(100):
        phase = power_law_phase(0, 300, rng)
        if what == "scattered":
            phase[rng.random(300) < 0.1] = np.nan
        elif what == "gap":
            phase[100:190] = np.nan
        else:
            phase[125:] += 1e6
        row = at(stability(from_phase(phase, 1.0), CLOCK), 8.0)
        found.append(row.figures["adev"])
    true = math.sqrt(sum(figure.value**2 for figure in found) / len(found))
    intervals = [figure.interval for figure in found if figure.interval]
    assert sum(interval.lower <= true <= interval.upper for interval in intervals) >= 88


def test_a_log_that_only_shows_how_well_the_clock_is_read_says_so() -> None:
    assert stability(log_of(2), CLOCK).flagged("reading-noise")
    assert not stability(log_of(0), CLOCK).flagged("reading-noise")


def test_a_counter_has_a_rate_in_hz_and_no_offset() -> None:
    (row,) = stability(log_of(2), Clock("TSC", "phc:0", None)).groups()[CLOCK_GROUP]
    assert row.figures["rate"].unit == "Hz"
    assert not {"offset", "cumulated_drift"} & set(row.figures)


@given(st.lists(st.floats(-1e3, 1e3) | st.just(math.nan), min_size=8, max_size=300), st.floats(1e-3, 1e4))
@settings(max_examples=80, deadline=None)
def test_any_phase_gives_finite_figures_or_a_sentence(values: list[float], tau0_s: float) -> None:
    try:
        log = from_phase(np.array(values), tau0_s)
        found = stability(log, CLOCK)
    except Exception as error:
        assert type(error).__name__ == "PlanError"
        return
    assert Result.model_validate(json.loads(found.model_dump_json())) == found
    assert all("nan" not in svg(plot) for plot in stability_plots(found, log, 1.0))


def test_the_page_and_the_terminal_show_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = log_of(0)
    found = stability(log, CLOCK)
    plots = stability_plots(found, log, 1.0)
    assert [plot.name for plot in plots] == ["allan", "time-deviation", "drift"]
    curves = [trace for trace in plots[0].traces if trace["name"] in ("ADEV", "MDEV", "HDEV")]
    assert all(min(trace["error_y"]["arrayminus"]) > 0 for trace in curves)
    directory = RunDirectory.create(tmp_path / "run", "clock stability", {"clock": "crystal"}, {})
    html = page([(directory, Findings([found], plots))])
    for said in ("crystal against caesium", "Averaging time", "ADEV", "white FM", "plot-drift"):
        assert said in html
    print_results([found], Console(width=400))
    assert re.search(r"\n64 s +[\d.]+ \([\d.]+ … [\d.]+\)", capsys.readouterr().out)


def test_a_long_log_is_drawn_with_its_extremes() -> None:
    phase = np.zeros(100_000)
    phase += 1e-9 * np.random.default_rng(1).standard_normal(100_000)
    phase[41_234], phase[777] = 6e-9, -7e-9
    plot = drift_plot(from_phase(phase, 1.0), 1.0)
    assert plot.choices == [STEADY, LOGGED]
    for trace in plot.traces:
        assert len(trace["x"]) <= POINTS_MAX + 2
        assert max(trace["y"]) - min(trace["y"]) == pytest.approx(13.0, abs=0.01)
    assert drift_plot(from_phase(phase, 1.0), None).choices == [STEADY]
