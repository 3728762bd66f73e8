"""Figures of transactions from made-up rows: what failed is never left out, and few of them give no percentile."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from keisoku.errors import PlanError
from keisoku.ground.host.open_files import allow_files
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import parsed
from keisoku.ground.statistics.seed import mixed
from keisoku.subjects.stream.transaction.analysis import TrialOutcome, analyse, outcome
from keisoku.subjects.stream.transaction.plot import latency_plot
from keisoku.subjects.stream.transaction.rows import FAILURES, NOT_BEGUN, transactions, trial_row
from keisoku.subjects.stream.transaction.settings import CrrSettings, RrSettings, TransactionSettings, UdpRrSettings

UNKNOWN = np.iinfo(np.int64).min
_TIMES = ["due", "begun", "setup", "sent", "left", "arrived", "ended"]
_DTYPE = np.dtype([("connection", "<u4"), ("failure", "<u4"), *((name, "<i8") for name in _TIMES)])
SHARES = {"reading": 3000, "answering": 1000, "sending": 2000, "all": 6000}
"""Of the server's host, ns."""


def rows(latencies_ns: Sequence[int], failure: int = 0, due_ns: int = 1000, setup_ns: int = UNKNOWN) -> np.ndarray:
    """Transactions that begin one after the other; the client needs 4 µs to send and 5 µs to read."""
    made = np.zeros(len(latencies_ns), _DTYPE)
    made["failure"] = failure
    made["due"] = np.arange(len(made)) * due_ns
    made["begun"] = made["due"]
    made["setup"] = setup_ns
    made["sent"] = made["begun"] + max(setup_ns, 0)
    made["left"] = made["sent"] + 4000
    made["ended"] = made["due"] + np.asarray(latencies_ns)
    made["arrived"] = made["ended"] - 5000
    return made


def trial(number: int, *parts: np.ndarray, window_ns: int = 10**9, stamped: bool = True, **more: Any) -> TrialOutcome:
    count = sum(len(part) for part in parts)
    near = {"window_ns": window_ns, "full": False, "cpu_ns": 1, "late": 0, "foreign": 0, **more}
    shares = {name: {"sum_ns": value * count, "count": count} for name, value in SHARES.items()}
    if not stamped:
        shares = {name: {"sum_ns": 0, "count": 0} for name in SHARES}
    far = {"cpu_ns": 1, "connections": 1, "answered": count, "foreign": 0, "refused": 0, "shares": shares}
    (row,) = trial_row(number, near, far).to_pylist()
    return outcome(transactions(number, np.concatenate(parts).tobytes()), row)


def settings(kind: type[TransactionSettings] = RrSettings, **more: Any) -> TransactionSettings:
    return parsed(kind, {"host": "far", "repetitions": 6, **more})


def row_of(result: Result, case: str) -> Row:
    (found,) = [row for row in result.rows if row.case == case]
    return found


@pytest.mark.parametrize("stamps", [True, False])
def test_a_row_says_that_stamps_take_time(stamps: bool) -> None:
    """The default ones took 4 µs of each transaction, and only who compared knew it."""
    result, _ = analyse(settings(stamps=stamps), [trial(1, rows([90_000] * 100))])
    assert ("--no-stamps" in row_of(result, "transaction").remark) == stamps


def test_a_known_distribution_is_found_and_the_trial_to_warm_up_does_not_count() -> None:
    latencies = np.arange(1, 9_001) * 10 + 20_000
    trials = [trial(0, rows([900_000_000] * 10)), *(trial(number, rows(latencies.tolist())) for number in range(1, 7))]
    result, curves = analyse(settings(), trials)
    figures = row_of(result, "transaction").figures
    expected = {"p50": 65_000, "p90": 101_000, "p99": 109_100}
    assert {name: figures[name].value for name in expected} == expected
    # Nine beyond 99.9 % are too few to say where it is.
    assert "p99.9" not in figures and any("p99.9" in remark for remark in result.remarks)
    assert figures["requests"].value == 9000 and figures["requests"].unit == "requests/s"
    assert (figures["answered"].value, figures["failed"].value) == (54_000, 0)
    assert len(curves["transaction"]) == 54_000 and not result.flags


def test_an_interval_contains_how_trials_differ() -> None:
    levels = [20_000, 21_000, 22_000, 23_000, 24_000, 90_000]
    result, _ = analyse(settings(), [trial(number + 1, rows([level] * 100)) for number, level in enumerate(levels)])
    median = row_of(result, "transaction").figures["p50"]
    assert median.value == 22_500 and median.bounds == (20_000, 90_000)


def test_what_failed_is_longer_than_any_and_named_by_its_reason() -> None:
    mixed = [rows([30_000] * 600), rows([5_000_000] * 300, 1), rows([1_000_000] * 100, NOT_BEGUN)]
    loop = settings(rate_rps=1000.0)
    result, _ = analyse(loop, [trial(number, *mixed) for number in range(1, 7)])
    figures = row_of(result, "transaction").figures
    assert figures["p50"].value == 30_000 and not figures["p50"].bound
    assert (figures["p90"].bound, figures["p90"].value) == ("at least", 30_000)
    assert figures["requests"].value == 600
    assert row_of(result, FAILURES[1]).figures["failed"].value == 1800
    assert {flag.name for flag in result.flags} == {"failed", "not-offered"}
    assert "2400 of 6000 transactions failed" in result.flags[0].text


def test_answers_after_the_window_are_timed_but_are_no_rate() -> None:
    (one,) = [trial(1, rows([400] * 10, due_ns=100), window_ns=1000)]
    assert one.answered == 10 and one.rate_rps == 7e9 / 1000


def test_the_parts_are_those_of_both_hosts_and_make_the_whole() -> None:
    result, _ = analyse(settings(), [trial(number, rows([45_000] * 100)) for number in range(1, 7)])
    means = {row.case: row.figures["mean"].value for row in result.rows if row.group == "Where the time goes"}
    assert means == {
        "client sends": 4000,
        "network": 45_000 - 4000 - 5000 - 6000,
        "server reads": 3000,
        "server answers": 1000,
        "server sends": 2000,
        "client reads": 5000,
        "both hosts together": 15_000,
    }
    assert row_of(result, "network").figures["of_time"].value == pytest.approx(100 * 30 / 45)


def test_what_is_not_known_is_null() -> None:
    waited = rows([1_000_000], NOT_BEGUN)
    for name in ("sent", "left", "arrived"):
        waited[name] = UNKNOWN
    table = transactions(4, np.concatenate([rows([45_000]), waited]).tobytes())
    answered, never = table.to_pylist()
    assert (answered["number"], answered["connection"], answered["setup_ns"]) == (4, 0, None)
    assert answered["left_ns"] == 4000 and answered["arrived_ns"] == 40_000
    assert [never[name] for name in ("connection", "sent_ns", "left_ns", "arrived_ns")] == [None] * 4
    assert never["failure"] == NOT_BEGUN and never["ended_ns"] == 1_000_000


def test_without_stamps_the_hosts_share_is_not_known_and_that_is_said() -> None:
    result, _ = analyse(settings(), [trial(1, rows([45_000] * 100), stamped=False)])
    assert not any(row.group == "Where the time goes" for row in result.rows)
    assert {flag.name for flag in result.flags} == {"no-stamps", "unfinished"}
    result, _ = analyse(settings(stamps=False), [trial(1, rows([45_000] * 100), stamped=False)])
    assert [flag.name for flag in result.flags] == ["unfinished"]


def test_a_connection_of_its_own_is_apart_from_its_answer() -> None:
    made = [trial(number, rows([50_000] * 100, setup_ns=20_000)) for number in range(1, 7)]
    result, curves = analyse(settings(CrrSettings), made)
    medians = {row.case: row.figures["p50"].value for row in result.rows if "p50" in row.figures}
    assert medians == {"transaction": 50_000, "connection": 20_000, "request to response": 30_000}
    plot = latency_plot(settings(CrrSettings), curves)
    assert [trace["name"] for trace in plot.traces] == list(medians)


def test_late_beginnings_of_an_open_loop_are_said() -> None:
    late = rows([50_000] * 100)
    late["begun"] += 10_000
    late["sent"] += 10_000
    result, _ = analyse(settings(rate_rps=1000.0), [trial(number, late) for number in range(1, 7)])
    assert [flag.name for flag in result.flags] == ["begun-late"] and "10 µs" in result.flags[0].text


def test_a_plot_ends_where_transactions_failed() -> None:
    _, curves = analyse(settings(), [trial(1, rows([30_000] * 90), rows([1] * 10, 1))])
    (trace,) = latency_plot(settings(), curves).traces
    assert max(trace["x"]) <= 10.5 and set(trace["y"]) == {30.0}


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        (UdpRrSettings, {"response_bytes": 65_508}, "a datagram of 65508 byte cannot be sent"),
        (RrSettings, {"poisson": True}, "a closed loop has no times of its own"),
        (RrSettings, {"connections": 10_001}, "10001 is above 10000"),
        (CrrSettings, {"request_bytes": 15}, "15 is below 16"),
    ],
)
def test_what_cannot_be_asked_for_is_a_sentence(
    kind: type[TransactionSettings], values: dict[str, Any], said: str
) -> None:
    with pytest.raises(PlanError, match=said):
        settings(kind, **values)


def test_every_trial_has_random_times_of_its_own() -> None:
    wanted = settings(rate_rps=10.0, poisson=True, seed=3)
    assert [wanted.trial(number).seed for number in range(3)] == [mixed(3, number) for number in range(3)]


def test_connections_beyond_the_limit_of_open_files_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: raised.append(limits))
    allow_files("connections", 1000)
    assert raised == [(2024, 4096)]
    with pytest.raises(PlanError, match="10000 connections need 11024 open files, and this host allows a process 4096"):
        allow_files("connections", 10_000)
