"""What a load says where the server did not answer, percentiles with intervals, and where the host's time went."""

from __future__ import annotations

import json
import os
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from keisoku.faces.cli.main import keisoku
from keisoku.ground.entry import Work
from keisoku.ground.host.activity import ActivityWatch
from keisoku.ground.host.context import host_context
from keisoku.ground.run.result import Result
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.table import find
from keisoku.subjects.system.load.analysis import analyse
from keisoku.subjects.system.load.host_time import host_rows
from keisoku.subjects.system.load.latency_figures import latency_figures
from keisoku.subjects.system.load.settings import LoadSettings

SECOND = 1_000_000_000


def _run(trial: int, completed: int, client: str = "client1", **values: Any) -> dict[str, Any]:
    plain = {
        "trial": trial,
        "pattern": "together",
        "file": "",
        "concurrency": 10,
        "repetition": trial,
        "connections": 10,
        "client": client,
        "completed": completed,
        "failed": 0,
        "given_up": 0,
        "unsent": 0,
        "received_bytes": 1000 * completed,
        "began_ns": 0,
        "ended_ns": 5 * SECOND,
        "cpu_ns": SECOND,
        "failures": json.dumps(values.pop("why", {})),
    }
    return plain | values


def _found(runs: list[dict[str, Any]], answers: dict[tuple[int, str], list[int]] | None = None, **how: Any) -> Result:
    settings = LoadSettings.model_validate({"target": ("http://192.0.2.1/",), **how})
    return analyse(settings, runs, {}, answers)


def _flag(found: Result, name: str) -> str:
    return next((flag.text for flag in found.flags if flag.name == name), "")


def test_a_load_of_a_server_that_is_absent_measures_nothing() -> None:
    absent = [_run(trial, 0, failed=400, why={"refused": 400}) for trial in range(3)]
    found = _found(absent)
    assert (
        found.failure
        == "nothing was measured: the server never answered in 3 of 3 runs: 1,200 connections were refused"
    )
    assert not any(row.figures for row in found.rows) and "3 of 3 runs" in _flag(found, "server-lost")
    unreachable = _found([_run(0, 0, given_up=10)])
    assert unreachable.failure.endswith("10 requests had no answer when the run ended")


def test_a_load_of_an_absent_server_ends_with_exit_code_2(tmp_path: Path) -> None:
    """By the real client, at a port of this host at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    target = (f"http://127.0.0.1:{port}/",)
    settings = LoadSettings(target=target, duration_s=0.2, repetitions=2, rest_s=0, concurrency=(2,))
    outcome = carry_out(Work(find("system load"), settings, tmp_path / "run"))
    assert (
        "the server never answered in 2 of 2 runs" in outcome.failure and "connections were refused" in outcome.failure
    )
    (row,) = (row for row in outcome.results[0].rows if row.group == "Host during")
    assert row.figures["retransmitted"].value >= 0


class Answer(BaseHTTPRequestHandler):
    """Nothing, at once, and no word about it."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def test_constant_gaps_send_every_request_that_falls_due_before_the_end(tmp_path: Path) -> None:
    """The one that is due as the load ends was "never sent: the server or the connections could not keep up"."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        serving = Thread(target=server.serve_forever, daemon=True)
        serving.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        how = ["--rate", "4", "--duration", "1s", "--repetitions", "2", "--rest", "0s", "--out", str(tmp_path / "run")]
        done = CliRunner().invoke(keisoku, ["system", "load", url, *how, "--json"], catch_exceptions=False)
        server.shutdown()
    serving.join()
    (found,) = json.loads(done.stdout)["results"]
    assert not [flag["text"] for flag in found["flags"] if flag["name"] in ("unsent-requests", "not-offered")]
    (row,) = (row for row in found["rows"] if "requests" in row["figures"])
    assert row["figures"]["requests"]["value"] == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("died_at", [0, 7, 31, 44])
def test_a_run_in_which_the_server_was_killed_is_in_no_rate(died_at: int) -> None:
    """It answers 1000 requests a second until it dies, in tenths of a second."""
    whole = [_run(trial, 5000) for trial in range(2)]
    killed = _run(2, 100 * died_at, failed=9000, why={"refused": 8990, "broken": 10})
    answers = {(trial, "client1"): [100] * 50 for trial in range(2)} | {(2, "client1"): [100] * died_at}
    found = _found([*whole, killed], answers)
    (row,) = found.rows
    assert row.figures["requests"].value == 1000 and row.figures["runs"].value == 2 and not found.failure
    said = _flag(found, "server-lost")
    assert "In 1 of 3 runs" in said and "8,990 connections were refused" in said
    assert (f"from {died_at / 10:.1f} s on" if died_at else "not at all") in said and "1 of 3 runs" in row.remark


def test_a_server_that_answers_slowly_or_pauses_is_not_lost() -> None:
    chance = np.random.default_rng(9)
    for rate in (0.2, 1.0, 5.0, 50.0, 5000.0):
        for trial in range(200):
            answers = chance.poisson(rate / 10, 50).tolist()
            if sum(answers):
                run = _run(trial, sum(answers), given_up=10)
                assert not _flag(_found([run], {(trial, "client1"): answers}), "server-lost"), (rate, answers)
    paused = [100] * 20 + [0] * 20 + [100] * 10
    assert not _flag(_found([_run(0, 3000)], {(0, "client1"): paused}), "server-lost")


def test_clients_that_do_not_say_when_answers_came_lose_a_server_by_its_failures() -> None:
    assert _flag(_found([_run(0, 1000, failed=9000, why={"not_connected": 9000})]), "server-lost")
    # Answers with an error status are answers.
    assert not _flag(_found([_run(0, 1000, failed=9000, why={"refusals": 9000})]), "server-lost")


def test_an_open_loop_that_offers_less_than_it_should_is_flagged() -> None:
    assert "400 of 500 requests/s" in _flag(_found([_run(0, 2000)], rate_rps=500.0), "not-offered")
    assert "400 of 500 requests/s" in _flag(_found([_run(0, 2000, unsent=500)], rate_rps=500.0), "not-offered")
    assert not _flag(_found([_run(0, 2400, given_up=95)], rate_rps=500.0), "not-offered")
    assert not _flag(_found([_run(0, 2000)]), "not-offered")
    poisson = np.random.default_rng(4).poisson(2500, 300)
    runs = [_run(trial, int(count)) for trial, count in enumerate(poisson)]
    assert not _flag(_found(runs, rate_rps=500.0, poisson=True), "not-offered")


def _buckets(values: np.ndarray) -> list[tuple[int, int, int]]:
    """As a histogram with 128 buckets an octave."""
    edges = np.unique(np.round(2 ** np.arange(10, 40, 1 / 128)).astype(np.int64))
    counts, _ = np.histogram(values, edges)
    return [(int(edges[at]), int(edges[at + 1]), int(counts[at])) for at in np.flatnonzero(counts)]


def test_percentiles_and_the_maximum_have_intervals_that_contain_the_truth() -> None:
    chance, held, wide = np.random.default_rng(17), {"p50": 0, "p90": 0, "p99": 0, "p99.9": 0}, []
    truths = {name: 1e6 * np.exp(0.8 * z) for name, z in zip(held, (0.0, 1.281552, 2.326348, 3.090232), strict=True)}
    for _ in range(200):
        values = 1e6 * np.exp(0.8 * chance.normal(size=20_000))
        figures = latency_figures([_buckets(values)])
        for name, truth in truths.items():
            low, high = figures[name].bounds or (0, 0)
            held[name] += low <= truth <= high
        wide.append((figures["p99.9"].uncertainty or 0) / truths["p99.9"])
        greatest = figures["max"]
        assert abs(greatest.value - values.max()) <= (greatest.uncertainty or 0) and greatest.covers == "resolution"
    assert all(count >= 0.925 * 200 for count in held.values()), held
    assert np.median(wide) < 0.3


def test_runs_that_differ_widen_the_interval_of_a_percentile_and_few_requests_give_a_bound() -> None:
    chance = np.random.default_rng(18)
    runs = [_buckets(level * np.exp(0.1 * chance.normal(size=5000))) for level in (1e6, 2e6, 3e6)]
    low, high = latency_figures(runs)["p50"].bounds or (0, 0)
    assert low < 0.5e6 and high > 3e6
    few = latency_figures([_buckets(1e6 * np.exp(chance.normal(size=500)))])
    assert few["p99.9"].bound == "at least" and few["p99.9"].value <= few["max"].value and not few["p90"].bound
    assert latency_figures([[]]) == {}


def _interval(trial: int, **values: Any) -> dict[str, Any]:
    times = {f"{kind}_ns": 0 for kind in ("user", "system", "softirq", "idle", "steal")}
    counts = {"retransmitted": 0, "squeezed": 0, "backlog_drops": 0, "runnable": 1.0, "waited_ns": None}
    return {"trial": trial, "began_ns": 0, "ended_ns": SECOND // 2, "cpus": 2, **times, **counts, **values}


def test_the_hosts_time_is_shared_out_and_counts_are_exact() -> None:
    intervals = [
        _interval(0, user_ns=600_000_000, softirq_ns=200_000_000, idle_ns=200_000_000, retransmitted=3, runnable=4.0),
        _interval(0, user_ns=600_000_000, system_ns=400_000_000, retransmitted=2, runnable=2.0),
        _interval(1, user_ns=1_000_000_000, waited_ns=250_000_000),
    ]
    one, both = host_rows({"one": [0], "both": [0, 1], "none": [7]}, intervals)
    shares = {name: one.figures[f"cpu_{name}"].value for name in ("user", "system", "softirq", "idle", "steal")}
    assert shares == pytest.approx({"user": 60, "system": 20, "softirq": 10, "idle": 10, "steal": 0})
    assert one.figures["runnable"].value == 3 and one.figures["retransmitted"].value == 5
    assert one.figures["retransmitted"].uncertainty == 0 and (one.figures["cpu_steal"].uncertainty or 0) > 0
    assert one.figures["cpu_user"].covers == "resolution" and "cpu_waited_for" not in one.figures
    assert both.figures["cpu_user"].value == pytest.approx(80) and both.figures["cpu_waited_for"].value == 50


def test_what_a_host_did_is_read_and_adds_up() -> None:
    with ActivityWatch() as watch:
        sum(range(3_000_000))
    first, last = watch.intervals[0], watch.intervals[-1]
    spent = [one.user_ns + one.system_ns + one.softirq_ns + one.idle_ns + one.steal_ns for one in watch.intervals]
    assert last.ended_ns > first.began_ns and sum(spent) >= 0 and first.cpus == os.cpu_count()
    assert all(one.retransmitted >= 0 and one.squeezed >= 0 and one.runnable >= 0 for one in watch.intervals)


def test_the_session_with_which_a_run_shares_cpus_is_recorded() -> None:
    told = host_context()["scheduling"]
    assert isinstance(told, dict)
    assert told["session"] == os.getsid(0) and told["own_session"] == (os.getsid(0) == os.getpid())
    group = Path("/proc/self/autogroup")
    # A task of the root group, as in some containers, reads an empty file.
    words = group.read_text().split() if group.exists() else []
    if words:
        assert told["autogroup"] == words[0].lstrip("/") and told["autogroup_nice"] == int(words[2])
    else:
        assert told["autogroup"] == "" and told["autogroup_nice"] is None
