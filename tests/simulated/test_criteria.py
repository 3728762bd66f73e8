"""Criteria on columns of the table, in the units that people use; one that cannot be decided is refused beforehand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from support.command_line import keisoku

from keisoku.running.measurement.table import MODULES, find
from keisoku.subjects.device.table import PROCEDURES

QUICK = ["--dut", "sim:gs908e", "--size", "64", "--duration", "1ms"]


def test_every_figure_of_a_procedure_is_declared_with_its_unit() -> None:
    with (Path(__file__).parent / "figures.tsv").open(encoding="utf-8") as file:
        found = {(row["procedure"], row["figure"], row["unit"]) for row in csv.DictReader(file, delimiter="\t")}
    known = {(name, figure, unit) for name in PROCEDURES for figure, unit in PROCEDURES[name].unit_of.items()}
    assert {one for one in found if one[0] in PROCEDURES and one[1]} <= known
    assert all(PROCEDURES[name].figure in PROCEDURES[name].unit_of for name in PROCEDURES)


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"device", "campaign", "runs import"}))
def test_every_measurement_declares_its_figures_with_their_units(name: str) -> None:
    entry = find(name)
    columns = entry.columns_of({"objective": "sum_requests"})
    assert list(columns) == [name] and entry.figure in columns[name]


@pytest.mark.parametrize(
    ("command", "criterion", "code"),
    [
        ("throughput", "throughput >= 95 %", 0),
        ("throughput", "throughput[64] >= 99.99 %", 1),
        ("throughput", "throughput >= 0.7 Gbps", 0),
        ("throughput", "bit_rate >= 1 Gbps", 1),
        ("throughput", "bit_rate[64] >= 700 Mbit/s", 0),
        ("throughput", "line_share > 99 %", 0),
        ("throughput", "throughput.throughput <= 1.5 Mpps", 0),
        ("loss", "loss == 0", 0),
        ("loss", "loss.offered >= 1.4 Mpps", 1),  # the lower loads offer less
        ("trial --rate 500Mbps", "loss == 0", 0),
        ("trial --rate 50%", "offered > 0.7 Mpps", 0),
        ("trial --rate 500Mbit/s", "trial.offered <= 976.7 kpps", 0),
        ("throughput --maximum 0.5Gb/s", "bit_rate >= 0.49 Gbps", 0),
    ],
)
def test_every_column_can_be_a_criterion(tmp_path: Path, command: str, criterion: str, code: int) -> None:
    done = keisoku(*command.split(), *QUICK, "--require", criterion, "--out", "run", cwd=tmp_path)
    assert done.code == code, done.stdout + done.stderr
    assert f"{'MISSED' if code else 'met   '}  {criterion}   (measured: " in done.stdout


@pytest.mark.parametrize(
    ("command", "criterion", "said"),
    [
        ("throughput", "throughput >= 1 ms", "'throughput >= 1 ms': no such figure is in ms; write one of fps, pps,"),
        ("throughput", "throughput[128] >= 1 Mpps", "frames of 128 byte are not measured in this run; use one of 64"),
        ("throughput", "bitrate >= 1 Gbps", "throughput has no figure 'bitrate'; did you mean 'bit_rate'?"),
        ("throughput", "loss == 0", "throughput has no figure 'loss'; did you mean 'lost'?"),
        ("latency", "latency >= 5 %", "'latency >= 5 %': no such figure is in %; write one of ns, us,"),
        ("latency", "p99 <= 50", "'p99 <= 50': the criterion has no unit, and the figure has; write one of ns,"),
        ("rfc2544", "offered > 1 Mpps", "latency and loss and recovery and reset have a figure 'offered'; write for"),
        ("rfc2544", "typical < 1 ms", "'typical' is not measured in this run; use one of throughput, latency,"),
    ],
)
def test_a_criterion_that_cannot_be_decided_is_refused_before_the_first_frame(
    tmp_path: Path, command: str, criterion: str, said: str
) -> None:
    """It was undecided, or missed, behind the last trial."""
    done = keisoku(command, *QUICK[: 2 if command == "rfc2544" else None], "--require", criterion, cwd=tmp_path)
    assert done.code == 2 and said in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "runs").exists()


def test_what_is_not_met_is_never_cut(tmp_path: Path) -> None:
    wanted = [f"throughput[64] > {2 + number} Mpps" for number in range(7)]
    required = [word for text in wanted for word in ("--require", text)]
    done = keisoku("throughput", *QUICK, *required, "--require", "throughput > 1 Mpps", cwd=tmp_path)
    assert done.code == 1
    for text in wanted:
        assert f"MISSED  {text}   (measured: 1.4878 Mframes/s (resolution 1.4878 … 1.4881 Mframes/s))" in " ".join(
            done.stdout.split("\n  ")
        )


@pytest.mark.parametrize(
    ("criterion", "code", "said"),
    [
        ("throughput >= 95 % in 60 %", 0, "met throughput >= 95 % in 60 % (measured: 100 (70 … 100) %)"),
        ("throughput[64] >= 99.99 % in 60 %", 1, "MISSED throughput[64] >= 99.99 % in 60 % (measured: 0 (0 … 30) %)"),
        ("throughput >= 95 % in 90 %", 1, "9 of 9 repetitions meet it; 36 that all meet it decide)"),
    ],
)
def test_a_criterion_may_be_about_a_share_of_repetitions(tmp_path: Path, criterion: str, code: int, said: str) -> None:
    done = keisoku("throughput", *QUICK, "--repeat", "9", "--require", criterion, "--out", "run", cwd=tmp_path)
    assert done.code == code, done.stdout + done.stderr
    assert said in " ".join(done.stdout.split()), done.stdout


def test_a_share_of_one_run_is_refused_beforehand(tmp_path: Path) -> None:
    done = keisoku("throughput", *QUICK, "--require", "throughput >= 95 % in 60 %", "--out", "run", cwd=tmp_path)
    assert done.code == 2 and "is of several repetitions, and the run has one" in done.stderr
    assert not (tmp_path / "run").exists()
