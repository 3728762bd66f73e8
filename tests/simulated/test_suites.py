"""All procedures of a document in one run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import keisoku as ks
from keisoku.errors import PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.running.measurement.table import find
from keisoku.subjects.device.table import PROCEDURES, suites

QUICK = ("--size", "64", "--profile", "quick")


def test_what_a_device_cannot_take_part_in_is_left_out_and_said(tmp_path: Path) -> None:
    ended = CliRunner().invoke(keisoku, ["rfc2544", "--dut", "sim:gs908e", *QUICK, "--out", str(tmp_path / "run")])
    assert ended.exit_code == 0, ended.output
    assert "reset is left out: sim:gs908e cannot be reset" in ended.output
    results = json.loads((tmp_path / "run" / "result.json").read_text())
    measured = [result["measurement"] for result in results]
    assert measured == ["throughput", "latency", "loss", "back_to_back", "recovery"]


def test_a_device_that_can_takes_part_in_all(tmp_path: Path) -> None:
    device = tmp_path / "resets.toml"
    device.write_text("[reset]\nduration_ns = 50_000_000\n")
    run = ks.measure("rfc2544", dut=f"sim:{device}", frame_bytes=64, profile="quick", out=tmp_path / "run")
    assert [result.measurement for result in run.results] == list(suites()["rfc2544"])


def test_in_a_given_time_only_what_is_possible_is_planned(tmp_path: Path) -> None:
    run = ks.measure("rfc2544", dut="sim:gs908e", frame_bytes=64, within_s=60.0, out=tmp_path / "run")
    assert [result.measurement for result in run.results] == list(suites()["rfc2544"][:-1])


def test_a_plan_that_names_its_procedures_leaves_none_out(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be reset"):
        ks.measure("reset", dut="sim:gs908e", frame_bytes=64, out=tmp_path / "run")


@pytest.mark.parametrize("document", suites())
def test_each_has_a_help_that_names_its_procedures(document: str) -> None:
    text = " ".join(CliRunner().invoke(keisoku, [document, "--help"], terminal_width=300).output.split())
    assert all(name.replace("_", "-") in text for name in suites()[document])
    assert all(name in PROCEDURES for name in suites()[document])
    assert find(document).name == "device"
