"""Campaigns on simulated devices and closed ports: every run once, in a drawn order, whatever interrupts them."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from support.command_line import keisoku, start

import keisoku as ks
from keisoku.errors import PlanError
from keisoku.ground.run.settings import parsed
from keisoku.running.campaign.settings import CampaignSettings, cells, ordered
from keisoku.running.measurement.table import find

SLOW = """link_bits_per_second = 1e9
[output]
buffer_bytes = 4096
service_bits_per_second = 0.6e9
"""
PLAN: dict[str, Any] = {
    "devices": {"slow": {"dut": "sim:slow.toml"}, "gs908e": {"dut": "sim:gs908e"}},
    "measurements": {"loss": {"methods": ["loss"], "frame_bytes": [256, 64], "loss": {"trial_s": 0.01}}},
    "settings": {"one": {"streams": 1}, "four": {"streams": 4}},
    "repetitions": 2,
}
TOML = """repetitions = 2
[devices.slow]
dut = "sim:slow.toml"
[devices.gs908e]
dut = "sim:gs908e"
[measurements.loss]
methods = ["loss"]
frame_bytes = [256, 64]
[measurements.loss.loss]
trial_s = 0.01
[settings.one]
streams = 1
[settings.four]
streams = 4
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plan and a device that loses frames at 0.6 of the line rate."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.toml").write_text(SLOW)
    (tmp_path / "plan.toml").write_text(TOML)
    return tmp_path


def attempts(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "runs.jsonl").read_text().splitlines()]


def test_every_combination_is_a_complete_run_and_the_summary_has_all(here: Path) -> None:
    done = keisoku("campaign", "plan.toml", "--out", "run", "--json", cwd=here)
    assert done.code == 0, done.stderr
    assert "8 runs of 2 devices × 1 measurement × 2 settings × 2 repetitions" in done.stderr
    lines = attempts(here / "run")
    names = {f"{d}.loss.{s}.00{n}" for d in ("slow", "gs908e") for s in ("one", "four") for n in (1, 2)}
    assert len(lines) == 8 and {line["run"] for line in lines} == names
    assert {line["number"] for line in lines[:4]} == {1}  # a block is over before the next one begins
    for name in names:
        assert ks.load(here / "run" / name).trials
    loss, account = json.loads(done.stdout)["results"]
    at_line_rate = {
        (row["case"], row["frame_bytes"]): row["figures"]["loss"]["value"]
        for row in loss["rows"]
        if row["figures"]["load"]["value"] == 100
    }
    assert at_line_rate[("gs908e, one", 64)] == at_line_rate[("gs908e, four", 64)] == 0
    assert 30 < at_line_rate[("slow, one", 256)] < 45
    assert sum(row["figures"]["finished"]["value"] for row in account["rows"]) == 8
    for line in ("analyse run", "report run", "compare run --against run"):
        assert keisoku(*line.split(), cwd=here).code == 0
    sql = "select count(distinct run) n, count(distinct device) d from runs where figure = 'loss'"
    assert [line.split() for line in keisoku("query", "run", sql, cwd=here).stdout.splitlines()][-1] == ["8", "2"]
    assert {path.name for path in (here / "run").glob("*.csv")} == {"loss.csv", "campaign.csv"}


def test_a_killed_campaign_goes_on_and_ends_as_if_it_had_not_been(here: Path) -> None:
    child = start("campaign", "plan.toml", "--out", "run", cwd=here)
    log = here / "run" / "runs.jsonl"
    while not (log.exists() and log.read_bytes().count(b"\n") >= 2):
        assert child.poll() is None
        time.sleep(0.005)  # it measures meanwhile
    child.send_signal(signal.SIGKILL)
    child.communicate()
    before = attempts(here / "run")
    assert 2 <= len(before) < 8
    assert keisoku("run", "--resume", "run", cwd=here).code == 0
    assert keisoku("campaign", "plan.toml", "--out", "whole", cwd=here).code == 0
    after = attempts(here / "run")
    assert after[: len(before)] == before
    assert [line["run"] for line in after] == [line["run"] for line in attempts(here / "whole")]
    assert (here / "run" / "result.json").read_bytes() == (here / "whole" / "result.json").read_bytes()


def test_a_run_that_fails_is_made_again_and_named_at_last(here: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens there
        rr = {"measurement": "stream rr", "host": "127.0.0.1", "port": closed.getsockname()[1], "duration_s": 0.1}
        found = ks.measure(
            "campaign",
            devices={"here": {}},
            measurements={"clock": {"measurement": "clock cost", "reads": 1000, "stall_scan_s": 0}, "rr": rr},
            attempts=2,
            out=here / "run",
        )
    assert [(line["run"], bool(line["failed"])) for line in attempts(here / "run")].count(("here.rr.001", True)) == 2
    by_name = {result.measurement: result for result in found.results}
    assert by_name["clock cost"].rows and not by_name["clock cost"].failure
    assert "127.0.0.1" in by_name["stream rr"].failure
    account = {row.case: row for row in by_name["campaign"].rows}
    assert account["here.rr"].figures["missing"].value == 1 and account["here.rr"].figures["failed"].value == 2
    assert not found.met


def test_what_cannot_be_measured_is_said_before_the_first_run(here: Path) -> None:
    with pytest.raises(PlanError, match=r"slow\.loss\.bad\.streams"):
        ks.measure("campaign", **PLAN | {"settings": {"bad": {"streams": 0}}}, out=here / "run")
    with pytest.raises(PlanError, match=r"slow\.loss.*64 byte is too small"):
        ks.measure("campaign", **PLAN | {"settings": {"v6": {"headers": "ipv6"}}}, out=here / "run")
    with pytest.raises(PlanError, match="criteria are the campaign's"):
        ks.measure("campaign", **PLAN | {"settings": {"strict": {"require": ["loss < 1 %"]}}}, out=here / "run")
    with pytest.raises(PlanError, match="repetitions"):
        ks.measure("campaign", **PLAN, repeat=2, out=here / "run")
    # With a time to end in, this was once met at the cell's turn.
    mistyped = {"devices": {"a": {"dut": "sim:slow.tml"}}, "measurements": {"loss": PLAN["measurements"]["loss"]}}
    with pytest.raises(PlanError, match=r"a\.loss.*there is no simulated device"):
        ks.measure("campaign", **mistyped, within_s=20, out=here / "run")
    assert not (here / "run").exists()


def test_an_order_is_a_function_of_the_seed(here: Path) -> None:
    def order(**more: Any) -> list[str]:
        settings = parsed(CampaignSettings, PLAN | {"repetitions": 4} | more)
        return [run.name for run in ordered(settings, cells(settings, find))]

    assert order() == order() != order(seed=2)
    assert order(order="random") == order(order="random")
    assert sorted(order()) == sorted(order(order="random"))
    blocks = [name.rpartition(".")[2] for name in order()]
    assert blocks == sorted(blocks)
    mixed = [name.rpartition(".")[2] for name in order(order="random")]
    assert mixed != sorted(mixed)


def test_a_campaign_ends_in_its_time(here: Path) -> None:
    clock = {"measurement": "clock stability", "reference": "raw", "duration_s": 0.2, "every_s": 0.01}
    asked = {"devices": {"here": {}}, "measurements": {"clock": clock}, "repetitions": 50, "within_s": 1.0}
    found = ks.measure("campaign", **asked, out=here / "run")
    (row,) = found.results[-1].rows
    assert row.figures["finished"].value + row.figures["missing"].value == 50
    assert row.figures["missing"].value > 40 and row.figures["failed"].value == 0 and not found.met
