"""The log of a clock: what reaches the disk, whatever ends it; and what a run of it says again and again."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.logging_host import EVERY_S, HZ, Host, created, logger, ran
from support.ntp_responder import NtpResponder
from support.power_law_clocks import power_law_phase

from keisoku import _core
from keisoku.cli.main import keisoku
from keisoku.clock.host_clocks import clock_source
from keisoku.clock.reading import Reading
from keisoku.clock.stability.log import TABLE, Logger, host_flags, logged, place
from keisoku.clock.stability.run import observed
from keisoku.errors import EngineError, PlanError
from keisoku.run.directory import RunDirectory


def test_a_log_holds_a_reading_for_every_interval(tmp_path: Path) -> None:
    directory, host = created(tmp_path), Host()
    assert ran(directory, host, 500.0)[-1] == 500.0
    rows = directory.rows(TABLE)
    assert rows.num_rows == 1000
    assert len(directory.parts(TABLE)) == 50
    spacing = np.diff(rows["at_ns"].to_numpy())
    assert (spacing == 5e8).all()
    log = logged(directory, EVERY_S)
    assert (log.readings, log.missing, log.breaks) == (1000, 0, ())
    assert log.rate == pytest.approx(HZ, rel=1e-9)
    assert log.bound_s == pytest.approx(52 / HZ, rel=0.01)


def test_a_late_reading_moves_no_other(tmp_path: Path) -> None:
    directory, host = created(tmp_path), Host()
    host.slow = lambda ns: 1_300_000_000 if host.reads == 100 else 0
    ran(directory, host, 200.0)
    log = logged(directory, EVERY_S)
    assert {one.reason for one in log.breaks} == {"gap"}
    assert 2 <= log.missing <= 3  # it counts when it was done
    assert len(log.stretches[0].phase_s) == 400


def test_a_reference_that_is_silent_is_a_gap_but_not_at_the_beginning(tmp_path: Path) -> None:
    directory, host = created(tmp_path), Host()
    host.silent = lambda ns: 50 <= (ns - 10**12) * 1e-9 < 60
    logging = logger(directory, host)
    assert len(list(logging.run(EVERY_S, 100.0, place(directory, EVERY_S)))) == 200
    assert logging.failures == 20
    assert [(one.reason, one.size_s) for one in logged(directory, EVERY_S).breaks] == [("gap", 10.5)]
    host.silent = lambda ns: True
    with pytest.raises(EngineError, match="no answer"):
        list(logging.run(EVERY_S, 200.0, place(directory, EVERY_S)))


def test_a_log_that_was_interrupted_goes_on_until_all_is_logged(tmp_path: Path) -> None:
    directory, host = created(tmp_path), Host()
    logging = logger(directory, host)
    list(islice(logging.run(EVERY_S, 300.0, place(directory, EVERY_S)), 250))
    logging.keep()
    host.ns += 77_200_000_000  # somebody came back later, and not on the grid
    assert place(directory, EVERY_S).logged_s == pytest.approx(125.0)
    ran(directory, host, 300.0)
    assert place(directory, EVERY_S).logged_s == pytest.approx(300.0)
    log = logged(directory, EVERY_S)
    assert [(one.reason, one.at_s) for one in log.breaks] == [("gap", 124.5)]
    assert log.readings == 600
    assert log.span_s == pytest.approx(300 + 77, abs=2.0)
    before = host.reads
    assert ran(directory, host, 300.0) == []  # nothing is left to log
    assert host.reads == before


def test_after_a_reboot_phase_begins_anew(tmp_path: Path) -> None:
    directory = created(tmp_path)
    ran(directory, Host(), 100.0)
    ran(directory, Host(ppb=3e4), 200.0, boot="second")
    log = logged(directory, EVERY_S)
    assert "reboot" in [one.reason for one in log.breaks]
    assert len(log.stretches) == 2
    found, plots = observed(directory)
    assert found.flagged("reboot")
    assert len(found.groups()["Stretch from"]) == 2
    assert plots[-1].name == "drift"


def test_a_suspend_is_told_from_a_stall(tmp_path: Path) -> None:
    directory, host = created(tmp_path), Host()
    for at, _ in enumerate(logger(directory, host).run(EVERY_S, 300.0, place(directory, EVERY_S))):
        if at == 200:
            host.ns += 3_000_000_000  # a stall: both clocks went on
        if at == 400:
            host.suspended += 8_000_000_000
    log = logged(directory, EVERY_S)
    assert [one.reason for one in log.breaks] == ["gap", "suspend"]
    assert log.breaks[1].size_s == pytest.approx(8.0)


def test_steering_and_setting_of_the_time_are_said(tmp_path: Path) -> None:
    directory, host = created(tmp_path, reference="realtime"), Host()
    for at, _ in enumerate(logger(directory, host).run(EVERY_S, 100.0, place(directory, EVERY_S))):
        host.steering = 12.5 if at > 50 else 0.0
        if at == 100:
            host.offset += 2_000_000
    assert [flag.name for flag in host_flags(directory)] == ["steered", "time-stepped"]
    found, _ = observed(directory)
    assert {"steered", "time-stepped", "step"} <= {flag.name for flag in found.flags}


def test_a_kernels_clock_is_brought_to_the_moment_of_the_reference(tmp_path: Path) -> None:
    """It is read 7 µs after the reference; of that nothing may be seen."""
    directory, host = created(tmp_path, clock="realtime"), Host()

    def read_clock() -> Reading:
        host.ns += 7000
        return dataclasses.replace(host.read(), reference_ns=round(host.ns * (1 + 2e-6)))

    list(
        Logger(directory, host.read, read_clock, host.look, "first", host.monotonic_ns, host.sleep).run(
            EVERY_S, 300, place(directory, EVERY_S)
        )
    )
    found, _ = observed(directory)
    (row,) = found.groups()["Clock"]
    assert row.figures["offset"].value == pytest.approx(2000.0, abs=1.0)
    assert row.figures["cumulated_drift"].value == pytest.approx(599_000, abs=200)


def test_what_was_logged_survives_kill_9(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from support.logging_host import EVERY_S, Host, created, logger, place
directory = created(Path(sys.argv[1]))
logging = logger(directory, Host())
logging.sync_s = 5.0
for at, _ in enumerate(logging.run(EVERY_S, 1e6, place(directory, EVERY_S))):
    if at == 333:
        os.kill(os.getpid(), signal.SIGKILL)
"""
    tests = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code, tmp_path, tests], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    directory, host = RunDirectory.open(tmp_path, "clock-stability"), Host()
    assert 333 - 11 <= directory.rows(TABLE).num_rows <= 334
    host.ns += 200_000_000_000
    ran(directory, host, 300.0)
    assert [one.reason for one in logged(directory, EVERY_S).breaks] == ["gap"]
    assert observed(directory)[0] == observed(directory)[0]


def test_a_run_that_lacks_columns_is_one_sentence(tmp_path: Path) -> None:
    directory = created(tmp_path)
    directory.append(TABLE, pa.table({"reference_ns": pa.array(range(10))}))
    with pytest.raises(PlanError, match="lacks after, before, boot"):
        observed(directory)


def test_a_log_keeps_no_more_in_memory_than_a_part(tmp_path: Path) -> None:
    directory, host = created(tmp_path), Host()
    logging = logger(directory, host)
    most = 0
    for _ in logging.run(EVERY_S, 200.0, place(directory, EVERY_S)):
        most = max(most, len(logging._rows))
    assert most <= 21


def invoked(*arguments: str) -> tuple[int, str, Exception | None]:
    result = CliRunner().invoke(keisoku, ["clock", *arguments])
    return result.exit_code, result.output, result.exception


def test_a_file_of_phase_is_analysed_and_its_run_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    np.savetxt(tmp_path / "tic.txt", power_law_phase(0, 2000, rng) * 3.0)
    run = str(tmp_path / "run")
    code, output, _ = invoked(
        "analyse", "--phase", str(tmp_path / "tic.txt"), "--unit", "ns", "--tau0", "2s", "--out", run, "--json"
    )
    assert code == 0
    found = json.loads(output)
    at_2s = next(row for row in found["rows"] if row["name"] == "2 s")
    assert at_2s["figures"]["adev"]["value"] == pytest.approx(1.5, rel=0.1)
    assert at_2s["intervals"]["adev"]["lower"] < 1.5 < at_2s["intervals"]["adev"]["upper"]
    assert at_2s["remark"] == "white FM"
    code, again, _ = invoked("analyse", run, "--json")
    assert (code, json.loads(again)) == (0, found)
    assert "plot-allan" in (Path(run) / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["analyse"], "what to analyse is not said"),
        (["analyse", "."], "holds no measurement"),
        (["analyse", "--phase", "none.txt"], "give --tau0"),
        (["analyse", "--phase", "none.txt", "--tau0", "1s"], "cannot read none.txt"),
        (["stability", "--clock", "sundial"], "there is no clock 'sundial'"),
        (["stability", "--every", "1us"], "too often"),
        (["stability", "--duration", "5s", "--every", "1s"], "fewer than 8 readings"),
        (["stability", "--duration", "3d", "--every", "1ms"], "more than can be analysed"),
        (["stability", "--clock", "raw", "--reference", "raw", "--duration", "20s"], "against itself"),
        (["stability", "--resume"], "not said which log"),
        (["stability", "--resume", "--out", "none"], "holds no measurement"),
        (["stability", "--reference", "sun", "--duration", "10s"], "no reference 'sun'"),
    ],
)
def test_what_a_user_can_do_wrong_is_one_sentence(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, error = invoked(*arguments)
    assert code != 0
    assert said in str(error)
    assert "\n" not in str(error)


@pytest.mark.skipif(_core.clock_counter(clock_source()) is None, reason="this processor's counter promises no rate")
def test_this_machines_counter_is_logged_and_called_circular_where_it_is(tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["--duration", "0.8s", "--every", "5ms", "--reference", "raw", "--out", str(run), "--json"]
    code, output, error = invoked("stability", *arguments)
    assert code == 0, error
    found = json.loads(output)
    circular = _core.clock_counter(clock_source())[1]
    assert ("circular" in [flag["name"] for flag in found["flags"]]) == circular
    assert found["rows"][0]["figures"]["readings"]["value"] >= 8
    code, output, _ = invoked("stability", "--duration", "1s", "--resume", "--out", str(run), "--json")
    assert code == 0
    assert json.loads(output)["rows"][0]["figures"]["duration"]["value"] >= 0.9
    with pytest.raises(PlanError, match="already holds a run"):
        RunDirectory.create(run, "clock-stability", {}, {})


@pytest.mark.skipif(_core.clock_counter(clock_source()) is None, reason="this processor's counter promises no rate")
def test_a_log_against_a_server_is_of_real_exchanges(tmp_path: Path) -> None:
    arguments = ["--duration", "0.6s", "--every", "20ms", "--out", str(tmp_path / "run"), "--json"]
    with NtpResponder(ahead_ns=10**12) as server:
        code, output, error = invoked("stability", "--reference", f"ntp:{server.target}", *arguments)
    assert code == 0, error
    found = json.loads(output)
    assert found["title"].endswith(f"ntp:{server.target}")
    assert "circular" not in [flag["name"] for flag in found["flags"]]
    assert found["rows"][0]["figures"]["rate"]["value"] > 1e6
    assert found["rows"][0]["figures"]["reading_bound"]["value"] > 0
