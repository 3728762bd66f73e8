"""Error budgets: the total of every one is the uncertainty of its figure, in results, reports and files."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.simulated_trials import carry_out, device, plan
from support.synthetic_runs import page_of

from keisoku.ground.report.budget import budget_tables, entries
from keisoku.ground.report.csv import write_csv
from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.device import find_device
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.subjects.clock.rate import nominal_rate
from keisoku.subjects.clock.relation import Relation
from keisoku.subjects.device.calibration.bias import CABLE, CABLE_NS_PER_M, Bias, Calibration, Point
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.procedure.own.latency_line import STAMP_STEPS
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.trial_record import TrialRecord

NOISY = "forwarding = { constant_ns = 800 }\njitter = { distribution = 'normal', spread_ns = 50 }\n"
POINTS = tuple(
    Point(frame_bytes=size, frames_per_second=fps, bias_ns=400 + fps / 1e4, repeat_ns=3, spread_ns=40)
    for size in (64, 1518)
    for fps in (1e3, 1e5)
)
BIAS = Bias(
    Calibration(made_at="2026-01-01", valid_for={}, points=POINTS),
    clocks=Relation(0, 0, 30.0, 0, 0),
    cable_tolerance_m=2.0,
)
CAPABILITIES = Capabilities(
    engine="xdp",
    link_bits_per_second=1e9,
    min_frame_bytes=64,
    max_frame_bytes=1518,
    simulated=False,
    transmit_stamp="",
    receive_stamp="",
)
PLANS = {
    "latency": plan("latency", frame_bytes=[64, 1518], latency={"trial_s": 0.02, "repetitions": 3, "rate_fps": 20_000}),
    "sweep": plan("sweep", frame_bytes=[64, 512, 1518], sweep={"trial_s": 0.03, "sample_s": 0.01, "rate_fps": 20_000}),
    "port_map": plan(
        "port_map", ports=["1", "2"], frame_bytes=[64, 512], port_map={"trial_s": 0.02, "rate_fps": 20_000}
    ),
}


def as_if_calibrated(name: str) -> tuple[Result, list[TrialRecord]]:
    """What a method makes of trials on a simulated device if it is told of a real, calibrated tester."""
    _, records = carry_out(PLANS[name], device(NOISY + "max_frame_bytes = 1518\n"))
    method = begin(name, PLANS[name], CAPABILITIES, BIAS, {})
    replies = iter([None, *records])
    try:
        while True:
            method.send(next(replies))  # type: ignore[arg-type]
    except StopIteration as stop:
        assert isinstance(stop.value, Result)
        return stop.value, records


@pytest.mark.parametrize("name", ["latency", "sweep"])
def test_the_total_of_every_budget_is_the_uncertainty_that_is_shown(name: str) -> None:
    result, _ = as_if_calibrated(name)
    found = entries(result)
    assert found
    for entry in found:
        squares = [(part.sensitivity * part.value / part.divisor) ** 2 for part in entry.quantity.budget]
        assert entry.quantity.uncertainty == pytest.approx(2 * math.sqrt(sum(squares)))
    figures = [quantity for row in result.rows for quantity in row.figures.values() if quantity.unit == "ns"]
    assert figures and all(figure.budget for figure in figures)


def test_a_latency_names_every_contribution_of_a_laboratory() -> None:
    result, _ = as_if_calibrated("latency")
    figures = result.rows[1].figures
    parts = {part.source: part for part in figures["lifo"].budget}
    assert [part.kind for part in parts.values()] == ["A", "A", "B", "B", "B", "B"]
    assert parts["repeatability of the mean"].uncertainty > 0
    assert parts["calibration: repeatability of the bias"].uncertainty == 3
    assert parts["clocks: relation between them"].uncertainty == 30
    assert parts[CABLE].uncertainty == pytest.approx(2 * CABLE_NS_PER_M / math.sqrt(3))
    # 100 ppm of 12 144 ns: the time of 1518 byte at 1 Gb/s.
    assert parts["frame time: rate of the link"].uncertainty == pytest.approx(1.2144 / math.sqrt(3))
    assert figures["lifo"].uncertainty != figures["fifo"].uncertainty == figures["lilo"].uncertainty
    assert "tester: scatter of single frames" in {part.source for part in figures["max"].budget}


def test_the_bias_makes_the_constant_of_a_line_uncertain_and_not_its_slope() -> None:
    result, _ = as_if_calibrated("sweep")
    assert result.line is not None
    assert result.line.slope.uncertainty is not None
    # Few sizes or samples show their scatter badly: Student's factor is above 2.
    assert 2 * result.line.slope_error < result.line.slope.uncertainty < 4 * result.line.slope_error
    assert [part.source for part in result.line.slope.budget] == ["fit of the line"]
    assert result.line.constant.uncertainty is not None
    assert result.line.constant.uncertainty > 2 * 30


@pytest.mark.parametrize("name", list(PLANS))
def test_simulated_time_states_nothing_but_the_picosecond_that_it_counts_in(name: str) -> None:
    result, _ = carry_out(PLANS[name], find_device("gs908e"))
    found = entries(result)
    assert found
    parts = [part for entry in found for part in entry.quantity.budget]
    # Latencies are kept to the picosecond, so that a line through them is not exact.
    assert any(part.source == STAMP_STEPS for part in parts) == (name in ("sweep", "port_map"))
    assert all(part.uncertainty < 0.001 for part in parts)
    assert all((one.quantity.uncertainty or 0) > 0.0005 for one in found if one.figure in ("mean", "latency", "p99"))
    sources = {part.source for entry in found for part in entry.quantity.budget}
    assert "simulated clock: resolution of both timestamps" in sources


@pytest.mark.parametrize("name", ["latency", "sweep"])
def test_the_rate_of_the_clock_is_in_every_budget(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, _ = as_if_calibrated(name)
    monkeypatch.setitem(globals(), "BIAS", replace(BIAS, rate=nominal_rate("CLOCK_MONOTONIC")))
    result, _ = as_if_calibrated(name)
    for entry, before in zip(entries(result), entries(plain), strict=True):
        of_rate = [part for part in entry.quantity.budget if "rate not calibrated" in part.source]
        assert len(of_rate) == 1, entry
        if entry.figure not in ("lifo", "lilo", "filo"):  # those add a frame's time, which no clock measured
            assert of_rate[0].uncertainty == pytest.approx(abs(entry.quantity.value) * 1e-4 / math.sqrt(3))
        assert entry.quantity.value == before.quantity.value
        assert (entry.quantity.uncertainty or 0) > (before.quantity.uncertainty or 0)


def test_without_a_calibration_there_is_no_budget() -> None:
    assert Bias().corrected(1000, 64, 1e5, single_frame=False).budget == ()


def test_a_figure_without_a_budget_is_kept_without_one() -> None:
    plain = Quantity(value=1.0, unit="ns")
    assert plain.model_dump() == {"value": 1.0, "unit": "ns", "uncertainty": None}
    whole = budget.figure(1.0, "ns", [budget.rectangular("a", 3.0), budget.triangular("b", 2.0, sensitivity=-0.5)])
    assert Quantity.model_validate_json(whole.model_dump_json()) == whole
    assert whole.uncertainty == pytest.approx(2 * math.sqrt(3.0 + 1 / 6))


def test_report_and_csv_have_the_budgets(tmp_path: Path) -> None:
    result, records = as_if_calibrated("latency")
    run = DeviceRun(tmp_path, PLANS["latency"].model_dump(mode="json", exclude_none=True), {}, records, [result])
    page = page_of([run])
    assert "Error budget" in page and "expanded, k = 2" in page and "clocks: relation between them" in page
    written = {path.name: path for path in write_csv(tmp_path, run.results, {})}
    with written["latency_budget.csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    mean = [row for row in rows if (row["frame_bytes"], row["figure"]) == ("64", "mean")]
    total = 2 * math.hypot(*(float(row["uncertainty"]) for row in mean))
    assert total == pytest.approx(float(mean[0]["expanded_uncertainty_k2"]))
    assert total == pytest.approx(result.rows[0].figures["mean"].uncertainty)


def test_of_many_budgets_of_the_same_figures_the_largest_is_shown() -> None:
    result, _ = carry_out(
        plan("port_map", ports=["1", "2", "3"], frame_bytes=[64, 512], port_map={"trial_s": 0.02}),
        device("ports = 3\n" + NOISY),
    )
    titles = [table.title for table in budget_tables(result)]
    assert len(titles) < 8
    assert any("Offset" in title and "the largest of 6" in title for title in titles)


def test_one_repetition_shows_no_scatter() -> None:
    assert budget.repeatability("scatter", [3.0]) == ()
    (alone,) = budget.repeatability("scatter", [3.0, 5.0])
    # Half the interval of a mean of two: Student's factor of one degree of freedom, times the standard error.
    assert alone.uncertainty == pytest.approx(12.706 / 1.96, rel=0.03)


@pytest.mark.parametrize(
    ("made", "divisor"), [(budget.normal, 1), (budget.rectangular, math.sqrt(3)), (budget.triangular, math.sqrt(6))]
)
def test_a_contribution_has_the_standard_uncertainty_of_its_distribution(
    made: Callable[..., Contribution], divisor: float
) -> None:
    """GUM 4.3.7 and 4.3.9; the input's unit is that of the figure unless a sensitivity says otherwise."""
    assert made("a", 6.0).uncertainty == pytest.approx(6 / divisor)
    assert made("a", 6.0, sensitivity=-0.5).uncertainty == pytest.approx(3 / divisor)
