"""`--dry-run` says what a command would do, and measures nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import keisoku

SIM = ["--dut", "sim:gs908e", "--size", "64"]
CAMPAIGN = Path(__file__).parents[2] / "examples" / "campaign.toml"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["throughput", *SIM, "--duration", "1s"],
            [
                "Throughput (RFC 2544 §26.1), 64 byte: 2 to 17 trials, ",
                "deviation: RFC 2544 §24: the final trial lasts 1 s instead of at least 60 s\n",
                "a simulated device: ",
            ],
        ),
        (
            ["rfc2544", *SIM, "--profile", "quick"],
            ["reset is left out: ", "Latency (RFC 2544 §26.2), 64 byte: 3 trials", "System recovery (RFC 2544 §26.5)"],
        ),
        (["latency", *SIM, "--repeat", "3"], ["3 repetitions\n", "Latency (RFC 2544 §26.2), 64 byte: 21 to 36 trials"]),
        (["clock", "cost"], ["clock cost: at most "]),
        (["clock", "calibrate", "--duration", "3s"], ["at most 3 s"]),
        (
            ["ab", "throughput", *SIM, "--b", "--streams 2", "--pairs", "3"],
            ["a run of side A: Throughput", "a run of side B: Throughput", "at most 3 pairs\n"],
        ),
        (["study", "e1-l2"], ["e1-l2: L2 switches, ", "e1-l2-ax3630s: "]),
        (["study", "e2-clocks"], ["on this host, with links of the lab (root); how long it takes is not known"]),
        (["campaign", str(CAMPAIGN)], ["24 runs of 3 devices × 2 measurements × 2 settings × 2 repetitions"]),
    ],
    ids=lambda value: value[0] if value[0].isalpha() else "",
)
def test_it_says_what_would_be_done(tmp_path: Path, command: list[str], said: list[str]) -> None:
    done = keisoku(*command, "--dry-run", cwd=tmp_path)
    assert done.code == 0 and done.stderr == "", done.stderr
    for each in said:
        assert each in done.stdout, done.stdout
    assert done.stdout.endswith("nothing was measured, as --dry-run asks for\n")
    assert not (tmp_path / "runs").exists()


def test_a_plan_and_json(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('methods = ["loss"]\ndut = "sim:gs908e"\nframe_bytes = [64]\n')
    done = keisoku("run", "plan.toml", "--dry-run", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["dry_run"][0].startswith("Frame loss rate (RFC 2544 §26.3), 64 byte: ")
    keisoku("run", "--resume", "any", "--dry-run", cwd=tmp_path).refused(
        "--dry-run: what is left of a run is not known"
    )


def test_what_could_not_be_measured_is_refused_as_it_would_be(tmp_path: Path) -> None:
    keisoku("throughput", *SIM, "--require", "latency < 1 us", "--dry-run", cwd=tmp_path).refused("--require: ")
    keisoku("cost", *SIM, "--dry-run", cwd=tmp_path).refused("cost: takes the CPU time of a device")
