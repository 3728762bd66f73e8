"""A run of a device, a clock, a path, a stream and a system: every command and Python take each of them alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.command_line import keisoku
from support.declared import undeclared

import keisoku as ks
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd

HERE = Place("127.0.0.1")


@dataclass(frozen=True)
class Kind:
    """How one kind is measured in little time, and what is then known of it."""

    command: str
    """{path} and {stream} are ports of the far ends."""
    met: str
    missed: str
    table: str
    """A raw table."""
    resumes: bool


KINDS = {
    "device": Kind(
        "throughput --dut sim:gs908e --size 64 --duration 50ms",
        "throughput[64] >= 1 Mpps",
        "throughput[64] >= 2 Mpps",
        "trials",
        True,
    ),
    "clock": Kind(
        "clock stability --duration 0.2s --every 10ms --clock realtime --reference raw",
        "readings >= 8",
        "readings > 1000",
        "readings",
        True,
    ),
    "path": Kind(
        "path delay 127.0.0.1 --port {path} --packets 20 --interval 1ms",
        "answered[packets] == 20",
        "answered[packets] > 20",
        "packets",
        False,
    ),
    "stream": Kind(
        "stream tcp 127.0.0.1 --port {stream} --size 65536 --duration 50ms --repetitions 2 --most-repetitions 2"
        " --ceiling none",
        "throughput[best] > 1 kb/s",
        "throughput[best] > 100000 Gb/s",
        "streams",
        True,
    ),
    "system": Kind(
        "system limit --system sim:e4 --objective sum_requests --sweep 3 --repetitions 1 --floor 100M",
        "requests[no limit] > 1 requests/s",
        "requests[no limit] > 1000000000 requests/s",
        "intervals",
        True,
    ),
}


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, str]]:
    """Far ends on the loopback."""
    with ExitStack() as stack:
        services = {"path": "reflect", "stream": "stream"}
        yield {name: str(stack.enter_context(FarEnd(service, HERE)).port) for name, service in services.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, ports: dict[str, str]) -> Path:
    """A folder with two runs of each kind, the second of which misses its criterion."""
    folder = tmp_path_factory.mktemp("runs")
    for name, kind in KINDS.items():
        words = [word.format(**ports) for word in kind.command.split()]
        for out, criterion, code in ((name, kind.met, 0), (f"{name}-missed", kind.missed, 1)):
            done = keisoku(*words, "--require", criterion, "--out", out, cwd=folder)
            assert done.code == code, done.stdout + done.stderr
            assert f"{'MISSED' if code else 'met   '}  {criterion}" in done.stdout
    return folder


@pytest.mark.parametrize("name", KINDS)
def test_every_figure_is_declared_and_a_criterion_on_another_is_refused_first(
    runs: Path, ports: dict[str, str], name: str
) -> None:
    """Of kinds that are no device, it was undecided behind the last trial."""
    assert not undeclared(runs / name)
    words = [word.format(**ports) for word in KINDS[name].command.split()]
    done = keisoku(*words, "--require", "lenght > 5", "--out", f"{name}-refused", cwd=runs)
    assert done.code == 2 and " has no figure 'lenght'; " in done.stderr, done.stderr
    assert not (runs / f"{name}-refused").exists()


@pytest.mark.parametrize("name", KINDS)
def test_a_run_is_analysed_again_and_says_the_same(runs: Path, name: str) -> None:
    before = (runs / name / "result.json").read_text()
    assert keisoku("analyse", name, cwd=runs).code == 0
    assert keisoku("analyse", f"{name}-missed", cwd=runs).code == 1
    assert (runs / name / "result.json").read_text() == before


@pytest.mark.parametrize("name", KINDS)
def test_two_runs_are_compared(runs: Path, name: str) -> None:
    done = keisoku("compare", name, f"{name}-missed", "--json", cwd=runs)
    assert done.code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert len(set(answer["runs"])) == 2
    assert all(each["figures"] for each in answer["measurements"])
    same = keisoku("compare", name, "--against", name, cwd=runs)
    assert same.code == 0, same.stdout + same.stderr


@pytest.mark.parametrize("name", KINDS)
def test_figures_and_raw_rows_are_asked_in_sql(runs: Path, name: str) -> None:
    done = keisoku("query", name, "select count(*) as n from figures", "--format", "json", cwd=runs)
    assert json.loads(done.stdout)[0]["n"] > 0
    rows = keisoku("query", name, f"select count(*) as n from {KINDS[name].table}", "--format", "json", cwd=runs)
    assert rows.code == 0, rows.stderr
    assert json.loads(rows.stdout)[0]["n"] > 0


def test_one_page_holds_all_five(runs: Path) -> None:
    done = keisoku("report", *KINDS, "--out", "all.html", cwd=runs)
    assert done.code == 0, done.stderr
    page = (runs / "all.html").read_text(encoding="utf-8")
    assert page.count('<article class="card') == len(KINDS)
    for kind in KINDS.values():
        assert kind.met.replace(">", "&gt;") in page


@pytest.mark.parametrize("name", KINDS)
def test_a_run_goes_on_or_says_that_it_cannot(runs: Path, name: str) -> None:
    before = json.loads((runs / name / "result.json").read_text())
    done = keisoku("run", "--resume", name, cwd=runs)
    if not KINDS[name].resumes:
        done.refused("cannot be continued", f"keisoku analyse {name}")
        return
    assert done.code == 0, done.stderr
    after = json.loads((runs / name / "result.json").read_text())
    assert [each["measurement"] for each in after] == [each["measurement"] for each in before]


@pytest.mark.parametrize("name", KINDS)
def test_python_reads_every_run(runs: Path, name: str) -> None:
    found = ks.load(runs / name)
    assert found.met and found.arrow().num_rows > 0 and "<table" in found._repr_html_()
    assert not ks.load(runs / f"{name}-missed").met


def test_python_measures_a_device_a_clock_a_path_a_stream_and_a_system(tmp_path: Path, ports: dict[str, str]) -> None:
    measured = [
        ks.measure("throughput", dut="sim:gs908e", frame_bytes=64, trial_s=0.05, out=tmp_path / "device"),
        ks.measure("clock cost", reads=500, rounds=50, stall_scan_s=0.005, out=tmp_path / "clock"),
        ks.measure(
            "path delay", host="127.0.0.1", port=int(ports["path"]), packets=10, interval_s=0.001, out=tmp_path / "path"
        ),
        ks.measure(
            "stream tcp",
            host="127.0.0.1",
            port=int(ports["stream"]),
            size_bytes=(65536,),
            duration_s=0.05,
            repetitions=2,
            most_repetitions=2,
            ceiling="none",
            out=tmp_path / "stream",
        ),
        ks.measure("system limit", system="sim:e4", sweep=3, repetitions=1, floor_bps=100e6, out=tmp_path / "system"),
    ]
    for found in measured:
        assert found.result().rows and found.arrow().num_rows > 0
