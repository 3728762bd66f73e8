"""A load as a percentage of the line rate, the standards' own unit, wherever a procedure is given a rate."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support.simulated_trials import carry_out, device, plan

from keisoku.errors import PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan.rate import LinePercent, offered_load
from keisoku.subjects.device.table import PROCEDURES

PHASES = {"learning_wait_s": 0, "drain_s": 0, "rest_s": 0}


def line_fps(size: int) -> float:
    return 1e9 / ((size + 20) * 8)


def test_rate_50_percent_is_half_of_the_line_at_every_size() -> None:
    # It was refused: "unknown unit '%'".
    wanted = plan("trial", frame_bytes=[64, 1518], trial={"trial_s": 0.01, "rate_fps": "50%"})
    result, records = carry_out(wanted, device(""))
    assert [record.trial.frames_per_second for record in records] == [line_fps(64) / 2, line_fps(1518) / 2]
    assert result.rows[0].figures["offered"].value == pytest.approx(line_fps(64) / 2, rel=1e-3)


def test_every_setting_of_a_load_takes_a_percentage() -> None:
    for name, procedure in PROCEDURES.items():
        for field in procedure.settings.model_fields:
            if field in ("rate_fps", "maximum_fps", "minimum_fps"):
                own = parse({"methods": ["trial"], "dut": "sim:gs908e", name: {field: "25.5%"}})
                assert getattr(own.settings_of(procedure.settings), field) == LinePercent(25.5)
                assert own.plain()[name][field] == "25.5%" and parse(own.plain()) == own


def test_a_search_goes_no_higher_than_a_percentage_of_the_line() -> None:
    wanted = plan("throughput", frame_bytes=[64], throughput={"trial_s": 0.01, "maximum_fps": "40%"})
    assert carry_out(wanted, device(""))[0].rows[0].figures["throughput"].value == pytest.approx(0.4 * line_fps(64))


@pytest.mark.parametrize("text", ["0%", "-3%", "100.1%", "x%", "%"])
def test_what_is_no_share_of_a_line_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        offered_load("--rate", text)
    with pytest.raises(PlanError, match=r"trial\.rate_fps"):
        plan("trial", trial={"rate_fps": text})


def test_without_a_line_rate_a_percentage_is_refused_before_the_first_frame() -> None:
    capabilities = SimulatedEngine(device("")).capabilities.model_copy(update={"link_bits_per_second": None})
    wanted = plan("latency", frame_bytes=[64], latency={"rate_fps": "50%"})
    with pytest.raises(PlanError, match=r"latency\.rate_fps: 50% of the line rate is not known.* give frames/s"):
        check_ability(wanted, capabilities)
    check_ability(plan("latency", frame_bytes=[64], latency={"rate_fps": 1000}), capabilities)


def test_the_command_takes_a_percentage_and_keeps_it_in_the_plan(tmp_path: Path) -> None:
    command = ["trial", "--dut", "sim:gs908e", "--size", "512", "--duration", "10ms", "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(keisoku, [*command, "--rate", "30 %", "--json"])
    assert done.exit_code == 0, done.output
    assert str(round(0.3 * line_fps(512)))[:4] in done.stdout
    assert 'rate_fps = "30%"' in (tmp_path / "run" / "plan.toml").read_text()
    again = CliRunner().invoke(keisoku, [*command[:-1], str(tmp_path / "other"), "--rate", "130%"])
    assert "--rate: '130%' is no share of the line rate" in str(again.exception)
