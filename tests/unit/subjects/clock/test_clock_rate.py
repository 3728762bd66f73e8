"""The rate of the interval clock: where it is known from, what it corrects, what it adds to budgets."""

from __future__ import annotations

from pathlib import Path

import pytest

from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.clock import frequency, interval_clock, oscillator
from keisoku.subjects.clock.frequency import Frequency
from keisoku.subjects.clock.host_changes import change_flags
from keisoku.subjects.clock.host_clocks import STA_UNSYNC, HostClocks, Steering, host_clocks
from keisoku.subjects.clock.rate import OSCILLATOR, SECOND, WANDER, Rate, nominal_rate
from keisoku.subjects.device.calibration.bias import Bias, Calibration, Point

POINTS = (Point(frame_bytes=64, frames_per_second=1e5, bias_ns=400, repeat_ns=3, spread_ns=40),)
CALIBRATION = Calibration(made_at="2026-01-01", valid_for={}, points=POINTS)
FREE, STEERED = Steering(0.0, STA_UNSYNC, 0, 10_000), Steering(120.0, 0, 500, 10_000)
KNOWN = oscillator.OscillatorCalibration(
    made_at="2026-01-01T00:00:00+00:00",
    valid_for={"host": "here"},
    reference="phc:0",
    ticks_per_s=2.6e9 * (1 + 30e-6),
    standard_ticks_per_s=2.6,
)


def sources(quantity: Quantity) -> dict[str, float]:
    return {part.source: part.uncertainty for part in quantity.budget}


def test_nobody_calibrated_is_said_in_the_budget_of_a_latency() -> None:
    figure = Bias(CALIBRATION, rate=nominal_rate("CLOCK_MONOTONIC")).corrected(1_000_400, 64, 1e5, single_frame=False)
    assert figure.value == 1_000_000
    found = sources(figure)["clock: rate not calibrated, the oscillator's own, stated as ± 100 ppm"]
    assert found == pytest.approx(1e6 * OSCILLATOR / 3**0.5)
    assert figure.uncertainty == pytest.approx(2 * budget.standard_uncertainty(figure.budget))


def test_a_calibrated_clock_is_corrected_and_far_better_known() -> None:
    rate = oscillator.interval_rate(KNOWN, Frequency(2.6e9, 5.2), FREE, "CLOCK_MONOTONIC")
    # Its second has 2.6e9 ticks where a true one has 30 ppm more: it runs fast, and intervals are shorter than it says.
    assert rate.fast == pytest.approx(30e-6)
    figure = Bias(CALIBRATION, rate=rate).corrected(1_000_400, 64, 1e5, single_frame=False)
    assert figure.value == pytest.approx(1e6 * (1 - 30e-6), rel=1e-9)
    found = sources(figure)
    calibrated = "clock: rate, calibrated 2026-01-01T00:00:00+00:00 against phc:0"
    assert found[calibrated] == pytest.approx(1e-3, rel=1e-3)
    assert found["clock: CLOCK_MONOTONIC against the counter"] == pytest.approx(2e-3, rel=1e-3)
    assert found["clock: wander of the oscillator since then"] == pytest.approx(1e6 * WANDER / 3**0.5, rel=1e-3)


def test_a_clock_that_is_steered_meanwhile_may_be_anywhere_the_kernel_lets_it() -> None:
    free, steered = (
        oscillator.interval_rate(KNOWN, Frequency(2.6e9, 5.2), steering, "CLOCK_MONOTONIC")
        for steering in (FREE, STEERED)
    )
    assert [part.source for part in set(steered.parts) - set(free.parts)] == [
        "clock: steered by the kernel while it is disciplined"
    ]
    unknown = oscillator.interval_rate(None, None, STEERED, "CLOCK_MONOTONIC")
    assert len(unknown.parts) == 2 and unknown.fast == 0


def test_simulated_time_and_figures_without_an_uncertainty_stay_as_they_are() -> None:
    exact = Bias(exact=True, rate=nominal_rate("x")).corrected(1000, 64, 1e5, single_frame=True)
    # Half of the picosecond that virtual time counts in, and nothing for a rate.
    assert exact.value == 1000 and exact.uncertainty == pytest.approx(2 * 0.0005 / 3**0.5)
    unknown = Quantity(value=1.0, unit="bit/s")
    assert nominal_rate("x").with_rate(unknown) == unknown
    known = Quantity(value=1e8, unit="bit/s", uncertainty=2e4)
    assert SECOND.with_rate(known) == known
    assert nominal_rate("x").with_rate(known).uncertainty == pytest.approx(2 * (1e4**2 + (1e4 / 3**0.5) ** 2) ** 0.5)


def test_a_good_calibration_is_not_replaced_by_a_worse_one(tmp_path: Path) -> None:
    worse = KNOWN.model_copy(update={"made_at": "2026-02-01T00:00:00+00:00", "standard_ticks_per_s": 2.6e4})
    for calibration in (KNOWN, worse):
        oscillator.keep(tmp_path, calibration)
    assert oscillator.least_uncertain(tmp_path, {"host": "here"}) == KNOWN
    assert oscillator.is_worth_keeping(Frequency(2.6e9, 2.6e4)) and not oscillator.is_worth_keeping(
        Frequency(2.6e9, 2.6e5)
    )


def test_the_newest_of_this_machine_is_used_and_broken_files_are_passed_over(tmp_path: Path) -> None:
    later = KNOWN.model_copy(update={"made_at": "2026-02-01T00:00:00+00:00"})
    elsewhere = KNOWN.model_copy(update={"made_at": "2026-03-01T00:00:00+00:00", "valid_for": {"host": "there"}})
    for calibration in (later, KNOWN, elsewhere):
        oscillator.keep(tmp_path / "clock", calibration)
    (tmp_path / "clock" / "broken.json").write_text("{")
    assert oscillator.least_uncertain(tmp_path / "clock", {"host": "here"}) == later
    assert oscillator.least_uncertain(tmp_path / "nothing", {"host": "here"}) is None


def test_a_run_on_this_machine_uses_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_clock, "calibration_folder", lambda: tmp_path)
    before = interval_clock.interval_rate()
    assert "not calibrated" in before.statement
    name = "TSC"
    monkeypatch.setattr(interval_clock, "counter", lambda host: (name, True))
    kept = oscillator.measured_now(Frequency(2.6e9, 1.0), "ntp:here", interval_clock.oscillator_valid_for(name))
    oscillator.keep(interval_clock.oscillator_folder(), kept)
    monkeypatch.setattr(frequency, "estimate", lambda readings: Frequency(2.6e9, 26.0))
    monkeypatch.setattr(interval_clock, "brackets", lambda *_: [])
    rate = interval_clock.interval_rate()
    assert rate.fast == 0 and "against ntp:here" in rate.statement


def look(**more: object) -> HostClocks:
    values: dict[str, object] = {
        "at_ns": 0,
        "clock_source": "tsc",
        "steering": FREE,
        "suspended_ns": (0, 100),
        "realtime_ns": (1_000_000, 1_000_100),
    }
    return HostClocks(**(values | more))  # type: ignore[arg-type]


def test_quiet_clocks_changed_nothing() -> None:
    assert change_flags([look(), look(suspended_ns=(-50, 40)), look(realtime_ns=(1_000_090, 1_000_200))]) == []
    assert change_flags([]) == []


@pytest.mark.parametrize(
    ("after", "name"),
    [
        (look(clock_source="hpet"), "clock-source-switched"),
        (look(suspended_ns=(5_000_000_000, 5_000_000_100)), "suspended"),
        (look(realtime_ns=(-9_000_000, -8_999_900)), "time-stepped"),
        (look(steering=STEERED), "steered"),
    ],
)
def test_each_change_of_the_kernels_clocks_is_flagged(after: HostClocks, name: str) -> None:
    assert [flag.name for flag in change_flags([look(), look(), after, after])] == [name]


def test_a_suspend_is_bounded() -> None:
    (flag,) = change_flags([look(), look(suspended_ns=(5_000_000_000, 5_000_000_100))])
    assert flag.figures["for"].value == 5_000_000_000
    assert flag.figures["for"].uncertainty == 100


def test_this_hosts_clocks_can_be_read() -> None:
    found = host_clocks()
    assert found.clock_source and found.realtime_ns[0] <= found.realtime_ns[1]
    assert found.steering.tick_us == pytest.approx(10_000, rel=0.2)
    assert isinstance(interval_clock.interval_rate(), Rate)
