"""`keisoku clock cost` and `calibrate` on this machine, with servers on the loopback whose clocks are known."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Invoked
from support.ntp_responder import NtpResponder

from keisoku import _core
from keisoku.errors import EngineError, KeisokuError, PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.clock import interval_clock
from keisoku.subjects.clock.calibration import analysis as calibration
from keisoku.subjects.clock.calibration import table as readings_table
from keisoku.subjects.clock.host_clocks import host_clocks
from keisoku.subjects.clock.reference.http import DateServer

HOST = host_clocks()
COUNTER = _core.clock_counter(HOST.clock_source)
calibrates = pytest.mark.skipif(COUNTER is None, reason="this processor has no counter that promises one rate")
FREE = COUNTER is not None and COUNTER[1] and not HOST.steering.synchronised
KERNELS_OWN = pytest.mark.skipif(not FREE, reason="this kernel keeps time by something else than the counter alone")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_clock, "calibration_folder", lambda: tmp_path / "state")


def run(*arguments: str) -> Invoked:
    """Errors a user can cause are raised, as the entry point would catch them."""
    return CliRunner().invoke(keisoku, ["clock", *arguments], standalone_mode=False)


def found(result: Invoked) -> dict[str, Any]:
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    (output,) = json.loads(result.stdout)["results"]
    assert isinstance(output, dict)
    return output


def figures(output: dict[str, Any], group: str, name: str) -> dict[str, Any]:
    figures: dict[str, Any] = next(
        row["figures"] for row in output["rows"] if row["group"] == group and row["case"] == name
    )
    return figures


def flags(output: dict[str, Any]) -> list[str]:
    return [flag["name"] for flag in output["flags"]]


def test_cost_measures_every_source_and_keeps_what_it_read(tmp_path: Path) -> None:
    out = tmp_path / "run"
    shown = run("cost", "--reads", "500", "--rounds", "50", "--stall-scan", "10ms", "--out", str(out), "--json")
    output = found(shown)
    sources = [row["case"] for row in output["rows"] if row["group"] == "Time source"]
    assert "gettimeofday" in sources and "CLOCK_MONOTONIC by a real system call" in sources
    for name in sources:
        cost = figures(output, "Time source", name)
        assert cost["bulk"]["value"] >= 0 and cost["min"]["value"] <= cost["p50"]["value"] <= cost["max"]["value"]
    assert figures(output, "Resolution of", "gettimeofday")["common_step"]["value"] % 1000 == 0
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "CLOCK_BOOTTIME" in page and "Single reads of each time source" in page
    (result,) = RunDirectory.open(out, "clock cost").results()
    assert result.model_dump(mode="json") == output
    assert found(CliRunner().invoke(keisoku, ["analyse", str(out), "--json"], standalone_mode=False)) == output
    with pytest.raises(PlanError, match="already holds a run"):
        found(run("cost", "--reads", "100", "--out", str(out)))


@pytest.mark.parametrize(
    "wrong", [("--reads", "1"), ("--rounds", "0"), ("--stall-scan", "2h"), ("--stall-scan", "soon")]
)
def test_cost_refuses_what_it_cannot_do(wrong: tuple[str, str]) -> None:
    with pytest.raises(PlanError, match=wrong[0]):
        found(run("cost", *wrong))


@calibrates
@KERNELS_OWN
def test_a_circular_reference_is_refused_unless_it_is_named_and_then_labelled_and_never_kept(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="counter itself"):
        found(run("calibrate"))
    output = found(run("calibrate", "--reference", "raw", "--duration", "0.2s", "--out", str(tmp_path / "r"), "--json"))
    assert flags(output)[0] == "circular"
    assert not (tmp_path / "state").exists()
    frequency = figures(output, "Frequency by", "least squares")["frequency"]
    # The kernel's own figure for the counter: reads alone are uncertain.
    assert frequency["uncertainty"] < 1e-4 * frequency["value"]
    output = found(
        run("calibrate", "--reference", "realtime", "--duration", "0.1s", "--out", str(tmp_path / "d"), "--json")
    )
    assert flags(output)[:2] == ["circular", "disciplined-clock"]


@calibrates
def test_a_real_ntp_exchange_finds_the_servers_rate_and_it_enters_later_budgets(tmp_path: Path) -> None:
    """The server runs 900 ppm fast against this host; bounds hold whatever the host does meanwhile."""
    out = tmp_path / "run"
    with NtpResponder(rate=900e-6, ahead_ns=10**12) as server:
        result = run(
            *("calibrate", "--reference", f"ntp:{server.target}", "--duration", "1s", "--pause", "5ms"),
            *("--out", str(out), "--json"),
        )
    output = found(result)
    kept = readings_table.calibration_rows(RunDirectory.open(out, calibration.NAME))
    assert len(kept.readings) >= 2
    context = json.loads((out / "context.json").read_bytes())
    assert context["reference_facts"]["kernel_stamps"] and context["reference_facts"]["stratum"] == 1
    fast = figures(output, "Clock", "CLOCK_MONOTONIC_RAW")["runs_fast_by"]
    bounds = [row for row in output["rows"] if row["case"] == "hard bounds"]
    assert bounds, "one rate goes through all brackets of one server"
    frequency = figures(output, "Frequency by", "hard bounds")["frequency"]
    own = _ticks_per_second()
    slack = frequency["uncertainty"] + own * 200e-6
    assert abs(frequency["value"] - own / (1 + 900e-6)) <= slack
    assert fast["unit"] == "ppb"
    rate = interval_clock.interval_rate()
    if "calibration kept" in result.stderr:
        assert f"against ntp:{server.target}" in rate.statement
        assert not any("not calibrated" in part.source for part in rate.parts)
    else:  # this host was held up for most of the second, which is said, and what it found is worth nothing
        assert "no better than the oscillator's own" in result.stderr
        assert "not calibrated" in rate.statement


@calibrates
@pytest.mark.parametrize(("stratum", "identity"), [(8, bytes((127, 127, 1, 1))), (6, bytes((127, 127, 1, 0)))])
def test_a_reference_that_is_nobodys_is_flagged_and_never_kept(tmp_path: Path, stratum: int, identity: bytes) -> None:
    """It replaced ± 100 ppm in later budgets."""
    with NtpResponder(stratum=stratum, identity=identity) as server:
        arguments = ("--reference", f"ntp:{server.target}", "--pause", "5ms", "--json")
        result = run("calibrate", *arguments, "--duration", "0.5s", "--out", str(tmp_path / "run"))
        output = found(result)
    assert flags(output)[0] == "untrusted-reference"
    assert "calibration kept" not in result.stderr
    assert not (tmp_path / "state").exists()


@calibrates
def test_a_server_that_answers_before_it_was_asked_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with (
        NtpResponder(answered_early_ns=10**9) as server,
        pytest.raises(EngineError, match="answered 1 s before it was asked"),
    ):
        found(run("calibrate", "--reference", f"ntp:{server.target}", "--duration", "1s", "--out", str(tmp_path / "r")))


@calibrates
def test_a_server_that_says_it_held_requests_for_longer_than_they_were_away_is_refused(tmp_path: Path) -> None:
    with (
        NtpResponder(held_ns=10**9) as server,
        pytest.raises(EngineError, match=r"held a request for 1 s, which was away for"),
    ):
        found(run("calibrate", "--reference", f"ntp:{server.target}", "--duration", "1s", "--out", str(tmp_path / "r")))


def _ticks_per_second() -> float:
    """Of CLOCK_REALTIME, roughly: a stall of 20 ms within the second is 20 000 ppm, so brackets are taken."""
    ((before, shown, _),) = _core.clock_brackets(time.CLOCK_REALTIME, 1, 200, 0)
    readings = _core.clock_brackets(time.CLOCK_REALTIME, 20, 50, 10_000_000)
    after, later, _ = readings[-1]
    return (after - before) / (later - shown) * 1e9


@calibrates
def test_a_server_that_falls_silent_or_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("keisoku.subjects.clock.reference.ntp.PATIENCE_S", 0.02)
    arguments = ("--duration", "60s", "--pause", "1ms", "--out", str(tmp_path / "run"))
    with NtpResponder(answers=3) as server, pytest.raises(EngineError, match="no answer to 5 requests"):
        found(run("calibrate", "--reference", f"ntp:{server.target}", *arguments))
    with NtpResponder(stratum=0, identity=b"RATE") as server, pytest.raises(EngineError, match="kiss of death RATE"):
        found(run("calibrate", "--reference", f"ntp:{server.target}", *arguments))
    with pytest.raises(EngineError, match=r"cannot be reached|no answer"):
        found(run("calibrate", "--reference", f"ntp:{server.target}", *arguments))


class _Dated(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ahead_s = 0.0
    dated = True

    def do_HEAD(self) -> None:
        self.send_response_only(200)
        if self.dated:
            self.send_header("Date", formatdate(time.time() + self.ahead_s, usegmt=True))
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def dated() -> Iterator[tuple[type[_Dated], str]]:
    handler = type("Handler", (_Dated,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()


@calibrates
def test_the_edge_of_a_servers_second_is_found(
    dated: tuple[type[_Dated], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "keisoku.subjects.clock.reference.http.REQUESTS_MOST", 10
    )  # some seconds; bounds hold at any time
    handler, url = dated
    handler.ahead_s = 0.4375
    server = DateServer(url)
    found = server.edge()
    server.close()
    ((before, shown, after),) = _core.clock_brackets(time.CLOCK_REALTIME, 1, 50, 0)
    per_ns = _ticks_per_second() / 1e9
    # When the server's clock showed the second, this host's showed 0.4375 s less.
    true = before - (shown + 437_500_000 - found.reference_ns) * per_ns
    fade = 500e-6 * abs(before - true) + (after - before)
    assert found.before - fade <= true <= found.after + fade
    assert found.reference_ns % 1_000_000_000 == 0


@calibrates
def test_a_server_without_a_date_and_one_that_is_not_there_are_one_sentence(dated: tuple[type[_Dated], str]) -> None:
    handler, url = dated
    handler.dated = False
    with pytest.raises(EngineError, match="no date"):
        found(run("calibrate", "--reference", url, "--duration", "20s"))
    with pytest.raises(EngineError, match="cannot be reached"):
        found(run("calibrate", "--reference", "http://127.0.0.1:1/", "--duration", "20s"))
    handler.dated = True
    with pytest.raises(PlanError, match="too short"):
        found(run("calibrate", "--reference", url, "--duration", "1s"))


@pytest.mark.parametrize(
    "wrong",
    [
        ("--reference", "gps"),
        ("--tries", "0"),
        ("--pause", "0"),
        ("--duration", "now"),
        ("--reference", "phc:77"),
        ("--reference", "pps:77"),
        ("--reference", "http:ftp://x/"),
    ],
)
def test_calibrate_refuses_what_it_cannot_do(wrong: tuple[str, str]) -> None:
    with pytest.raises(KeisokuError):
        found(run("calibrate", *wrong))


def test_no_such_clock_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        _core.clock_brackets(99, 1, 1, 0)
    with pytest.raises(ValueError, match="one try"):
        _core.clock_brackets(time.CLOCK_MONOTONIC, 1, 0, 0)
