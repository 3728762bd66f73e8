"""The log of a clock: what reaches the disk, whatever ends it; and what a run of it says again and again."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.logging_host import EVERY_S, HZ, Host, created, logger, ran
from support.ntp_responder import NtpResponder
from support.power_law_clocks import power_law_phase

from keisoku import _core
from keisoku.errors import EngineError, KeisokuError, PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.entry import Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement import carry_out
from keisoku.subjects.clock.host_clocks import clock_source
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.stability.log import TABLE, Logger, host_flags, logged, place
from keisoku.subjects.clock.stability.measurement import MEASUREMENT, analyse
from keisoku.subjects.clock.stability.settings import StabilitySettings


def test_a_log_holds_a_reading_for_every_interval(tmp_path: Path) -> None:
    directory, host = created(tmp_path), Host()
    assert ran(directory, host, 500.0)[-1] == 500.0
    rows = directory.rows(TABLE)
    assert rows.num_rows == 1000
    # After 0, 1, 2, 4, 8 and 16 s, then every 10 s, and what is left at the end.
    assert len(directory.parts(TABLE)) == 6 + 48 + 1
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
    findings = analyse(directory)
    (found,), plots = findings.results, findings.plots
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
    (found,) = analyse(directory).results
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
    (found,) = analyse(directory).results
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
    tests = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code, tmp_path, tests], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    directory, host = RunDirectory.open(tmp_path, "clock stability"), Host()
    assert 333 - 11 <= directory.rows(TABLE).num_rows <= 334
    host.ns += 200_000_000_000
    ran(directory, host, 300.0)
    assert [one.reason for one in logged(directory, EVERY_S).breaks] == ["gap"]
    assert analyse(directory).results == analyse(directory).results


@pytest.mark.parametrize("readings", [1, 3, 15])
def test_a_log_that_is_killed_before_ten_seconds_has_kept_half_of_its_readings(tmp_path: Path, readings: int) -> None:
    code = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from support.logging_host import EVERY_S, Host, created, logger, place
directory = created(Path(sys.argv[1]))
for at, _ in enumerate(logger(directory, Host()).run(EVERY_S, 1e6, place(directory, EVERY_S))):
    if at + 1 == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
"""
    tests = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code, tmp_path, tests, str(readings)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert readings / 2 <= RunDirectory.open(tmp_path, "clock stability").rows(TABLE).num_rows <= readings


def test_no_reading_waits_until_what_writes_parts_is_loaded(tmp_path: Path) -> None:
    """Loading it took 0.8 to 2.8 s, once, when the log was ten seconds old."""
    code = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from support.logging_host import EVERY_S, Host, created, logger, place
host, loaded = Host(), []
read = host.read
def reading():
    loaded.append(set(sys.modules))
    return read()
host.read = reading
directory = created(Path(sys.argv[1]))
list(logger(directory, host).run(EVERY_S, 30.0, place(directory, EVERY_S)))
assert "pyarrow.parquet" in loaded[0], "the writer is not loaded"
later = sorted(name for name in set(sys.modules) - loaded[0] if name.partition(".")[0] in ("pyarrow", "pandas"))
assert not later, later
"""
    tests = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path, tests], check=False, timeout=120, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_run_that_lacks_columns_is_one_sentence(tmp_path: Path) -> None:
    directory = created(tmp_path)
    directory.append(TABLE, pa.table({"reference_ns": pa.array(range(10))}))
    with pytest.raises(PlanError, match="lacks after, before, boot"):
        analyse(directory)


def test_a_log_keeps_no_more_in_memory_than_a_part(tmp_path: Path) -> None:
    directory, host = created(tmp_path), Host()
    logging = logger(directory, host)
    most = 0
    for _ in logging.run(EVERY_S, 200.0, place(directory, EVERY_S)):
        most = max(most, len(logging._rows))
    assert most <= 21


def invoked(*arguments: str) -> tuple[int, Any]:
    """Exit code, and the result; errors a user can cause are raised, as the entry point would catch them."""
    done = CliRunner().invoke(keisoku, [*arguments, "--json"], standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    (found,) = json.loads(done.stdout)["results"]
    return done.exit_code, found


def test_a_file_of_phase_is_analysed_and_its_run_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    file, run = tmp_path / "tic.txt", str(tmp_path / "run")
    np.savetxt(file, power_law_phase(0, 2000, rng) * 3.0)
    code, found = invoked("clock", "phase", str(file), "--unit", "ns", "--tau0", "2s", "--out", run)
    assert (code, found["measurement"], found["title"]) == (0, "clock phase", "tic.txt against its reference")
    at_2s = next(row for row in found["rows"] if row["case"] == "2 s")
    adev = at_2s["figures"]["adev"]
    assert adev["value"] == pytest.approx(1.5, rel=0.1)
    assert adev["interval"]["lower"] < 1.5 < adev["interval"]["upper"]
    assert at_2s["remark"] == "white FM"
    listed = ("--tau", "6s,2s,100s", "--out", f"{run}-listed")
    _, few = invoked("clock", "phase", str(file), "--unit", "ns", "--tau0", "2s", *listed)
    assert [row["case"] for row in few["rows"] if row["group"] == "Averaging time"] == ["2 s", "6 s", "100 s"]
    file.unlink()
    assert invoked("analyse", run) == (0, found)
    assert invoked("analyse", f"{run}-listed") == (0, few)
    assert "plot-allan" in (Path(run) / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["analyse", "."], "holds no run"),
        (["clock", "phase", "none.txt", "--tau0", "1s"], "FILE: cannot read none.txt"),
        (["clock", "phase", "none.txt", "--tau0", "1s", "--unit", "day"], "'day' is not one of 's'"),
        (["clock", "stability", "--clock", "sundial"], "'sundial' is not one of 'counter', 'realtime'"),
        (["clock", "stability", "--every", "1us"], "--every: 1e-06 s is too often"),
        (["clock", "stability", "--every", "1s", "--tau", "1.5s"], "--tau: 1.5s is no whole number of the 1 s"),
        (["clock", "phase", "none.txt", "--tau0", "1s", "--tau", "week"], "--tau: 'week' is no averaging time"),
        (["clock", "stability", "--duration", "5s", "--every", "1s"], "--duration: 5 s hold fewer than 8 readings"),
        (["clock", "stability", "--duration", "3d", "--every", "1ms"], "more than can be analysed"),
        (["clock", "stability", "--clock", "raw", "--reference", "raw", "--duration", "20s"], "against itself"),
        (["run", "--resume", "none"], "holds no run"),
        (["clock", "stability", "--reference", "sun", "--duration", "10s"], "--reference: there is no reference 'sun'"),
    ],
)
def test_what_a_user_can_do_wrong_is_one_sentence(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((KeisokuError, click.UsageError)) as error:
        invoked(*arguments)
    sentence = error.value.format_message() if isinstance(error.value, click.UsageError) else str(error.value)
    assert said in sentence
    assert "\n" not in sentence
    assert list(tmp_path.iterdir()) == []


calibrates = pytest.mark.skipif(
    _core.clock_counter(clock_source()) is None, reason="this processor's counter promises no rate"
)


@calibrates
def test_this_machines_counter_is_logged_and_called_circular_where_it_is(tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["--duration", "0.8s", "--every", "5ms", "--reference", "raw", "--out", str(run)]
    code, found = invoked("clock", "stability", *arguments, "--require", "readings > 7")
    assert code == 0
    counter = _core.clock_counter(clock_source())
    assert counter is not None
    assert ("circular" in [flag["name"] for flag in found["flags"]]) == counter[1]
    assert found["rows"][0]["figures"]["readings"]["value"] >= 8
    assert invoked("analyse", str(run)) == (0, found)
    code, longer = invoked("run", "--resume", str(run), "--duration", "1s")
    assert code == 0
    assert longer["rows"][0]["figures"]["duration"]["value"] >= 0.9
    with pytest.raises(PlanError, match="already holds a run"):
        RunDirectory.create(run, "clock stability", {}, {})


@calibrates
def test_a_criterion_that_is_missed_is_exit_code_1_and_one_that_cannot_be_is_told_before(
    tmp_path: Path,
) -> None:
    # Long enough for eight readings on a host that stops for some 100 ms.
    arguments = ("clock", "stability", "--duration", "1s", "--every", "5ms", "--reference", "raw", "--out")
    code, _ = invoked(*arguments, str(tmp_path / "run"), "--require", "adev[0.005 s] < 0 ppb")
    assert code == 1
    with pytest.raises(PlanError, match="'capacity of' is not measured"):
        invoked(*arguments, str(tmp_path / "other"), "--require", "capacity of.adev < 1 ppm")
    assert not (tmp_path / "other").exists()


@calibrates
def test_a_log_that_the_user_interrupts_says_how_to_go_on_and_goes_on(tmp_path: Path) -> None:
    """Interrupted after 20 readings; the rest is logged by resuming."""
    come: list[float] = []

    class Leaving(Observer):
        def came_to(self, done: float, whole: float, said: str) -> None:
            come.append(done)
            if len(come) == 20:
                raise KeyboardInterrupt

    settings = StabilitySettings(duration_s=0.3, every_s=0.005, reference="raw")
    run = tmp_path / "run"
    with pytest.raises(KeisokuError, match=rf"interrupted; .*'keisoku analyse {run}'.*'keisoku run --resume {run}'"):
        carry_out.carry_out(Work(MEASUREMENT, settings, run, observer=Leaving()))
    directory = RunDirectory.open(run)
    kept = directory.rows(TABLE).num_rows
    assert 10 <= kept <= 20
    (before,) = carry_out.analyse(directory).results
    assert before.rows[0].figures["readings"].value <= kept
    (after,) = carry_out.resume(run).results
    rows = directory.rows(TABLE)
    assert rows.num_rows > kept and set(rows["session"].to_pylist()) == {0, 1}
    assert after.rows[0].figures["duration"].value >= 0.29


@calibrates
def test_a_log_against_a_server_is_of_real_exchanges(tmp_path: Path) -> None:
    arguments = ["--duration", "0.6s", "--every", "20ms", "--out", str(tmp_path / "run")]
    with NtpResponder(ahead_ns=10**12) as server:
        code, found = invoked("clock", "stability", "--reference", f"ntp:{server.target}", *arguments)
    assert code == 0
    assert found["title"].endswith(f"ntp:{server.target}")
    assert "circular" not in [flag["name"] for flag in found["flags"]]
    assert found["rows"][0]["figures"]["rate"]["value"] > 1e6
    assert found["rows"][0]["figures"]["reading_bound"]["value"] > 0
