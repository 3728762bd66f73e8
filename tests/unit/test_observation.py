"""A clock's or path's run on disk survives what happens to it, and its page and table show all that it holds."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from keisoku.report.observation import render_observation
from keisoku.report.observation_table import observation_tables, print_observation
from pydantic import ValidationError
from rich.console import Console

from keisoku.analysis.quantity import Interval, Quantity
from keisoku.errors import KeisokuError, PlanError
from keisoku.report import digits
from keisoku.report.plot import Plot, axis
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Flag, Result, Row

SETTINGS = {"host": "192.0.2.1", "sizes": [64, 1500], "left_out": None}
OBSERVATION = Result(
    kind="path-one-packet",
    title="Path to <192.0.2.1>",
    rows=(
        Row(
            case="1",
            group="Hop",
            figures={
                "forward_rate": Quantity(value=99.5e6, unit="bit/s", uncertainty=2e6),
                "latency": Quantity(value=1200.0, unit="ns", uncertainty=None),
            },
            intervals={"forward_rate": Interval(lower=98e6, upper=103e6)},
        ),
        Row(case="2", group="Hop", figures={"forward_rate": Quantity(value=50e6, unit="bit/s")}, remark="mixed paths"),
        Row(
            case="1 s",
            group="Averaging time",
            figures={"deviation": Quantity(value=5.4, unit="ppb", uncertainty=0.1)},
        ),
        Row(
            case="1000 s",
            group="Averaging time",
            figures={"deviation": Quantity(value=5.4e-6, unit="ppb", uncertainty=1e-7)},
        ),
    ),
    flags=(
        Flag(
            name="token-bucket",
            text="An isolated packet passes at once",
            figures={"burst": Quantity(value=15000, unit="byte", uncertainty=0.0)},
        ),
    ),
    remarks=("rate limit met",),
)


def created(path: Path) -> RunDirectory:
    return RunDirectory.create(path / "run", "path-one-packet", SETTINGS, {"host": "here", "clocks": {"a": 1}})


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"at_ns": pa.array(range(first, first + count), pa.int64()), "rtt_ns": pa.nulls(count, pa.int64())})


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    directory = created(tmp_path)
    directory.append("probes", rows(0, 5))
    directory.append("probes", rows(5, 3))
    directory.finish(OBSERVATION)
    again = RunDirectory.open(tmp_path / "run", "path-one-packet")
    assert again.settings == {"host": "192.0.2.1", "sizes": [64, 1500]}
    assert again.context["clocks"] == {"a": 1}
    assert again.rows("probes", ["at_ns"])["at_ns"].to_pylist() == list(range(8))
    assert [batch.num_rows for batch in again.batches("probes")] == [5, 3]
    assert again.observation() == OBSERVATION


def test_a_run_is_not_written_over_and_another_kind_is_refused(tmp_path: Path) -> None:
    created(tmp_path)
    with pytest.raises(PlanError, match="already holds a run"):
        created(tmp_path)
    with pytest.raises(PlanError, match="holds a run of path-one-packet, not of clock-stability"):
        RunDirectory.open(tmp_path / "run", "clock-stability")
    with pytest.raises(PlanError, match="holds no measurement"):
        RunDirectory.open(tmp_path)
    with pytest.raises(PlanError, match="holds no result"):
        RunDirectory.open(tmp_path / "run").observation()
    with pytest.raises(PlanError, match="holds no rows of probes"):
        RunDirectory.open(tmp_path / "run").rows("probes")


def test_what_was_appended_survives_kill_9(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from keisoku.run.directory import RunDirectory
directory = RunDirectory.create(Path(sys.argv[1]), "path-one-packet", {}, {})
for part in range(4):
    rows = range(10 * part, 10 * part + 10)
    directory.append("probes", pa.table({"at_ns": pa.array(rows, pa.int64()), "rtt_ns": pa.nulls(10, pa.int64())}))
(directory.path / "probes" / "00000004.partial").write_bytes(b"PAR1 cut off")
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "run"], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    directory = RunDirectory.open(tmp_path / "run")
    assert directory.rows("probes").num_rows == 40
    assert directory.append("probes", rows(40, 2)).name == "00000004.parquet"
    assert directory.rows("probes")["at_ns"].to_pylist() == list(range(42))


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    directory = created(tmp_path)
    path = directory.append("probes", rows(0, 5))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(PlanError, match=r"00000000\.parquet is damaged"):
        directory.rows("probes")


def test_a_disk_that_does_not_take_it_is_one_sentence(tmp_path: Path) -> None:
    directory = created(tmp_path)
    (directory.path / "probes").write_text("in the way")
    with pytest.raises(KeisokuError, match=r"run directory: cannot write .*probes.*make room"):
        directory.append("probes", rows(0, 1))
    assert not list(directory.path.glob("*.partial"))


def test_an_interval_needs_its_figure() -> None:
    with pytest.raises(ValidationError, match="an interval without a figure: rate"):
        Row(case="1", figures={}, intervals={"rate": Interval(lower=0, upper=1)})


def test_tables_have_a_head_for_each_figure_and_a_unit_for_each_cell_that_needs_it() -> None:
    hops, times = observation_tables(OBSERVATION)
    assert [(head.title, head.unit) for head in hops.heads] == [
        ("Hop", ""),
        ("Forward rate", "Mb/s"),
        ("Latency", "µs"),
        ("Remark", ""),
    ]
    assert hops.rows == [["1", "99.5 (98.0 … 103.0)", "1.2†", ""], ["2", "50†", "", "mixed paths"]]
    assert times.rows == [["1 s", "5.40 ± 0.10 ppb"], ["1000 s", "5.40 ± 0.10 ×10⁻¹⁵"]]


@pytest.mark.parametrize(
    ("value", "lower", "upper", "shown"),
    [
        (5.4, 5.1, 5.9, "5.4 (5.1 … 5.9)"),
        (5.4, 5.4, 5.9, "5.4†"),
        (5.4, 4.0, float("inf"), "5.4†"),
        (-2.0, -7.0, 1.0, "−2 (−7 … 1)"),
    ],
)
def test_an_interval_is_rounded_to_its_narrower_side(value: float, lower: float, upper: float, shown: str) -> None:
    assert digits.interval(Quantity(value=value, unit="ppb"), lower, upper)[1] == shown


def test_the_page_holds_all_and_loads_nothing() -> None:
    plot = Plot("rate", "Rate", {"xaxis": axis("x"), "yaxis": axis("y")}, [])
    plot.add({"x": [1], "y": [2]})
    page = render_observation(
        OBSERVATION, {"host": "h"}, {"kernel": "6.1", "started_at": "2026-11-21T20:00:00"}, [plot]
    )
    for said in (
        "Path to &lt;192.0.2.1&gt;",
        "token-bucket",
        "15\u202f000 byte",
        "98.0 … 103.0",
        "mixed paths",
        "rate limit met",
        "6.1",
        "21 November 2026, 20:00 UTC",
        "plot-rate",
        "keisoku path analyse",
    ):
        assert said in page
    assert "default-src 'none'" in page
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=\"(?!#|data:)|@import|url\(", markup)
    with pytest.raises(ValueError, match="different names"):
        render_observation(OBSERVATION, {}, {}, [plot, plot])
    assert "Plotly" not in render_observation(OBSERVATION, {}, {})


def test_the_terminal_shows_flags_and_remarks(capsys: pytest.CaptureFixture[str]) -> None:
    print_observation(OBSERVATION, Console(width=60))
    shown = capsys.readouterr().out
    assert "99.5 (98.0 … 103.0)" in shown
    assert "† uncertainty not known" in shown
    assert "flag token-bucket: An isolated packet passes at once (Burst 15\u202f000 byte (exact))" in shown
    assert "remark: rate limit met" in shown


def test_an_observation_is_json_and_back() -> None:
    assert Observation.model_validate(json.loads(OBSERVATION.model_dump_json())) == OBSERVATION
