"""What a newcomer types wrongly is answered with one sentence that says what to type."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import keisoku

from keisoku.errors import KeisokuError, PlanError
from keisoku.ground.run.directory import RunDirectory, free_path
from keisoku.running.measurement.plan_file import read


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("throughput --tx eth9", "keisoku: --rx: is not given, but tx is; give both, or --dut"),
        ("throughput --rx eth9", "keisoku: --tx: is not given, but rx is; give both, or --dut"),
        ("throughput --dut lab:brigde", "keisoku: --dut: there is no lab device 'brigde'; did you mean 'bridge'?"),
        ("trend", "keisoku: Missing argument 'RUNS...'; see 'keisoku trend --help'"),
        ("export nodir", "'--format'. Choose from: junit, markdown, annotations,"),
        ("study e9", "use one of e1, e2, e3, e4, e5, e1-l2, e1-l3, e1-ports, e2-clocks, e4-bulk,"),
        ("clock cost --reeds 3", "see 'keisoku clock cost --help'"),
        ("doctor --fxi", "keisoku: No such option '--fxi'"),  # it was taken for a command, and that was ignored
        ("doctor eth1", "keisoku: COMMAND: 'eth1' is run with --fix only; write --fix before it, or leave it out"),
        ("runs list nosuch", "keisoku: FOLDER: there is no nosuch; give a folder that holds directories of runs"),
        ("runs prune nosuch --keep 3", "keisoku: FOLDER: there is no nosuch; give a folder that holds"),
        ("query nosuch", "keisoku: query: a run and a query are needed; write keisoku query RUN 'select"),
        ("ab throughput --dut sim:gs908e --margin 5ns", "keisoku: --margin: unknown unit 'ns'; use one of %"),
        ("stream file . 127.0.0.1", "keisoku: SOURCE: . is a directory, not a file; give the path of a readable file"),
        (
            "throughput --dut sim:gs908e --size 64 --duration 1ms --engine xdp",
            "keisoku: --engine: a simulated device has no ports of the kernel; leave it out, or use a lab",
        ),
        (
            "latency --dut sim:gs908e --size 64 --calibration nosuch.json",
            "keisoku: --calibration: latencies are exact here, so none is subtracted; leave it out",
        ),
        (
            f"throughput --dut sim:gs908e --size 64 --duration 1ms --out {'a' * 300}",  # it was a traceback
            "context.json: File name too long; choose another --out",
        ),
    ],
)
def test_a_wrong_command_is_told_what_to_type(tmp_path: Path, command: str, said: str) -> None:
    done = keisoku(*command.split(), cwd=tmp_path)
    assert done.code == 2 and said in " ".join(done.stderr.split()), done.stderr


def test_a_program_that_doctor_cannot_run_is_named(tmp_path: Path) -> None:
    """It ended in a traceback, after the ports had been changed and set back."""
    done = keisoku("doctor", "--fix", "nosuchprogram", cwd=tmp_path)
    assert done.code == 2 and "Traceback" not in done.stderr, done.stderr
    assert "keisoku: COMMAND: nosuchprogram cannot be run: No such file or directory" in " ".join(done.stderr.split())


def test_nothing_is_said_to_be_kept_where_no_run_began(tmp_path: Path) -> None:
    done = keisoku("throughput", "--dut", "sim:gs908e", "--out", "/proc/none", cwd=tmp_path)
    assert done.code == 2 and "choose another --out" in done.stderr
    assert "make room" not in done.stderr
    assert "--resume" not in done.stderr, done.stderr


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `run` of a throughput."""
    folder = tmp_path_factory.mktemp("measured")
    done = keisoku(
        *["throughput", "--dut", "sim:gs908e", "--size", "64", "--duration", "1ms", "--out", "run"], cwd=folder
    )
    assert done.code == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("runs list run", "keisoku: FOLDER: run is a run itself; give the folder that it is in, or use 'runs show'"),
        ("run --resume run --duration 5s", "keisoku: --duration: run is a run of device, which has no such setting;"),
        # A margin of another unit was counted as one of the figure's own.
        ("compare run --against run --margin throughput=5ns", "keisoku: --margin: throughput is not in ns; use one of"),
        ("trend run --margin throughput=5ns", "keisoku: --margin: throughput is not in ns; use one of"),
        ("compare run --against run --margin 5", "keisoku: --margin: '5' is no share of a figure; write 5%,"),
        ("compare run --against run --margin throughput=", "keisoku: --margin: 'throughput=' is not a margin; write"),
    ],
)
def test_a_wrong_command_about_a_run_is_told_what_to_type(measured: Path, command: str, said: str) -> None:
    done = keisoku(*command.split(), cwd=measured)
    assert done.code == 2 and said in " ".join(done.stderr.split()), done.stderr


@pytest.mark.parametrize("command", ["report", "analyse"])
@pytest.mark.parametrize("kept", [("plan.toml", "context.json"), ("plan.toml", "context.json", "facts.json")])
def test_a_run_that_was_killed_before_its_first_trial_has_no_report(
    measured: Path, tmp_path: Path, command: str, kept: tuple[str, ...]
) -> None:
    """It was said to be analysed, with exit code 0, or to be of no use."""
    (tmp_path / "cut").mkdir()
    for name in kept:
        shutil.copy(measured / "run" / name, tmp_path / "cut")
    done = keisoku(command, "cut", cwd=tmp_path)
    said = "keisoku: run: cut holds no finished trial; continue it with 'keisoku run --resume cut'"
    assert done.code == 2 and " ".join(done.stderr.split()) == said, done.stdout + done.stderr
    assert keisoku("run", "--resume", "cut", cwd=tmp_path).code == 0


@pytest.mark.parametrize("sql", [" ", ";", "/* nothing */"])
def test_an_empty_query_is_a_sentence(measured: Path, sql: str) -> None:
    """It was a traceback."""
    done = keisoku("query", "run", sql, cwd=measured)
    assert done.code == 2 and done.stderr.startswith("keisoku: query: it is empty; write for example"), done.stderr


def test_a_criterion_in_the_unit_of_another_figure_withholds_no_result(measured: Path, tmp_path: Path) -> None:
    """It is refused before measuring, but an earlier version may have kept it in a plan."""
    shutil.copytree(measured / "run", tmp_path / "run")
    plan = tmp_path / "run" / "plan.toml"
    plan.write_text(plan.read_text().replace("require = []", 'require = ["throughput >= 1 ms"]'))
    done = keisoku("analyse", "run", cwd=tmp_path)
    assert done.code == 1 and done.stdout.startswith("UNDECIDED  throughput >= 1 ms"), done.stdout + done.stderr
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("frame_byte = [64]", "frame_byte: there is no such setting; did you mean 'frame_bytes'?"),
        ("[throughput]\ntrial_ms = 1", "throughput.trial_ms: there is no such setting; did you mean 'trial_s'?"),
        ("[throughput]\ntrial_s = '10ms'", "throughput.trial_s: '10ms' is no number; give a number of seconds"),
        ("measurement = 5", "measurement: 5 is no text; write the name of one in quotes"),
        ("format = 99", "format: PLAN has format 99, and this version of keisoku reads format 1; use the version"),
    ],
)
def test_a_mistyped_plan_is_told_what_to_type(tmp_path: Path, plan: str, said: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f'methods = ["throughput"]\ndut = "sim:gs908e"\n{plan}\n')
    with pytest.raises(PlanError) as error:
        read(path)
    assert str(error.value).replace(str(path), "PLAN").startswith(said)


@pytest.fixture
def nobody() -> Iterator[None]:
    """The rights of nobody, for files."""
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_what_may_not_be_read_is_not_called_damaged_or_missing(measured: Path, nobody: None) -> None:
    """It was said to hold no run, and a directory of somebody else's for --out was a traceback."""
    with pytest.raises(PlanError, match=r"run: cannot read .*plan.toml: Permission denied; check the path and its"):
        RunDirectory.open(measured / "run")
    with pytest.raises(KeisokuError, match="Permission denied; choose another --out"):
        RunDirectory.create(measured / "other", "device", {}, {})
    assert free_path("a", measured).parent == measured


def test_who_may_not_write_into_a_run_is_not_told_to_make_room(measured: Path) -> None:
    refused = RunDirectory.open(measured / "run").disk_error("result.json", PermissionError(13, "Permission denied"))
    assert str(refused).endswith("Permission denied; do it as the owner of the run, or with a copy")


def test_a_result_that_may_not_be_read_is_not_called_unfinished(
    measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory.open(measured / "run")

    def refused(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(PlanError, match=r"run: cannot read .*result.json: Permission denied"):
        directory.results()


def test_a_server_on_a_port_in_use_names_its_option(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = keisoku("serve", "--http-port", port, "--no-grpc", cwd=tmp_path)
    said = f"keisoku: http_port: cannot listen on 127.0.0.1 port {port}: Address already in use; choose another"
    assert done.code == 2 and " ".join(done.stderr.split()) == said, done.stderr
