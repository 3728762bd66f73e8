"""E1's calibration: six cables in place of the DUT, on an instrument whose clock ticks every 8 ns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.simulated_trials import carry_out, plan

from keisoku.errors import PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.simulated_device.device import find_device
from keisoku.subjects.device.calibration.cable_series import LIGHT_M_PER_S, cable_series
from keisoku.subjects.device.record.run import DeviceRun

LENGTHS_M = (0.20, 1.04, 5.05, 10.04, 15.09, 25.25)
NS_PER_M, CONSTANT_NS = 4.72284, 459.913
SPEED_M_PER_S = 211_737_006


def calibration(length_m: float, sizes: str = "64", **more: object) -> DeviceRun:
    settings = {"trial_s": 0.02, "repetitions": 3, "length_m": length_m, **more}
    wanted = plan("calibrate", frame_bytes=sizes, calibrate=settings)
    result, records = carry_out(wanted, find_device("cable").with_cable(length_m))
    source = wanted.model_dump(mode="json", exclude_none=True)
    return DeviceRun(Path(f"{length_m:g} m"), source, {}, records, [result])


def test_six_cables_give_the_published_line_within_its_standard_errors() -> None:
    (series,) = cable_series([calibration(length_m) for length_m in LENGTHS_M])
    assert series.frame_bytes == 64 and len(series.points) == 6 * 4
    assert abs(series.propagation.value - NS_PER_M) <= 2 * series.propagation_error < 0.02
    # What the phase of the clock leaves in a mean is the same error on every cable: in the constant, in no residual.
    assert series.constant.value == pytest.approx(CONSTANT_NS, abs=0.05)
    assert series.constant.uncertainty is not None
    assert abs(series.constant.value - CONSTANT_NS) <= series.constant.uncertainty
    assert 2 * 8 / 97 / 3**0.5 < series.constant.uncertainty < 0.2
    assert series.speed.uncertainty is not None
    assert abs(series.speed.value - SPEED_M_PER_S) <= series.speed.uncertainty < 0.005 * SPEED_M_PER_S
    assert series.share_of_light_percent == pytest.approx(71, abs=0.5)
    assert series.speed.value < LIGHT_M_PER_S
    # One reading has steps of 8 ns; loads that are no whole number of ticks let them average out.
    assert max(abs(point.residual_ns) for point in series.points) < 1
    assert sum(point.residual_ns for point in series.points) == pytest.approx(0, abs=1e-6)


def test_loads_on_one_cable_are_not_independent_lengths() -> None:
    # 15 of 18 intervals held the truth: four loads on one cable counted as four cables, and 2 stood for Student's t.
    lengths = (0.0, 7.0, 20.0)
    (one,) = cable_series([calibration(length_m, loads_percent=(20.0,)) for length_m in lengths])
    (four,) = cable_series([calibration(length_m, loads_percent=(20.0,) * 4) for length_m in lengths])
    assert one.propagation.uncertainty is not None and four.propagation.uncertainty is not None
    assert abs(one.propagation.value - NS_PER_M) <= one.propagation.uncertainty
    # The same load again has the same steps of the stamps: it makes nothing more certain by the root of four.
    assert four.propagation.uncertainty > 2 * four.propagation_error


def test_each_size_has_a_line_of_its_own() -> None:
    found = cable_series([calibration(length_m, "64,512") for length_m in LENGTHS_M[:3]])
    assert [series.frame_bytes for series in found] == [64, 512]
    assert len(found[1].points) == 12


def test_what_makes_no_series_is_refused() -> None:
    one = calibration(1.0)
    with pytest.raises(PlanError, match="2 lengths at 64 byte"):
        cable_series([one, one, calibration(2.0)])
    with pytest.raises(PlanError, match="1 m does not say how long the cable was"):
        unknown = {key: value for key, value in one.plan.items() if key != "calibrate"}
        cable_series([DeviceRun(one.directory, unknown, {}, one.records, one.results)])
    with pytest.raises(PlanError, match="1 m is no calibration"):
        cable_series([DeviceRun(one.directory, one.plan, {}, one.records, [])])


def test_a_calibration_on_a_coarse_clock_says_what_the_clock_adds() -> None:
    # Of 97 % of the line: frames 3360 ns apart all leave at one place between two steps of 8 ns, others at 97 places.
    for load_percent, places in ((20 / 0.97, 1), (20.0, 97)):
        bias = calibration(1.0, loads_percent=(load_percent,)).results[0].rows[0].figures["bias"]
        resolution = next(part for part in bias.budget if "resolution" in part.source)
        assert resolution.value == pytest.approx(8 / places) and resolution.distribution == "rectangular"


def test_the_command_makes_a_series_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    command, lengths = CliRunner(), ("20cm", "5.05m", "25.25")
    for length in lengths:
        calibrate = ["calibrate", "--dut", "sim:cable", "--size", "64", "--duration", "20ms", "--length", length]
        assert command.invoke(keisoku, [*calibrate, "--out", length]).exit_code == 0
    (series,) = json.loads(command.invoke(keisoku, ["cable-series", *lengths, "--json"]).stdout)
    assert [point["length_m"] for point in series["points"][::4]] == [0.2, 5.05, 25.25]
    assert series["constant"]["value"] == pytest.approx(CONSTANT_NS, abs=0.1)
    shown = command.invoke(keisoku, ["cable-series", *lengths]).stdout
    assert "propagation: 4.7" in shown and "% of the speed of light)" in shown
    assert isinstance(command.invoke(keisoku, ["cable-series", *lengths[1:]]).exception, PlanError)
    other = command.invoke(keisoku, ["calibrate", "--dut", "sim:gs908e", "--length", "1m"])
    assert "length: gs908e has no cables; use sim:cable" in str(other.exception)
