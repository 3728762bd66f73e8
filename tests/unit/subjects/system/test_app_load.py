"""A load's campaign, the analysis of rows with known truth, and how targets are written."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import PlanError
from keisoku.ground.lab.system.name import KEYS, pairs, shape_of
from keisoku.ground.lab.system.shape import ServedFile
from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.system.load import analysis as load_analysis
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.latency_figures import quantile
from keisoku.subjects.system.load.plot import bulk_plots, load_plots
from keisoku.subjects.system.load.schedule import ALONE, TOGETHER, LoadSchedule, groups
from keisoku.subjects.system.load.target import url_aims
from keisoku.subjects.system.network.lab_system import load_of, open_system
from keisoku.subjects.system.network.port_watch import PortReading, WatchedPort, view
from keisoku.subjects.system.shaping.queue_probe import backlog


def load(name: str = "client1", **how: Any) -> ClientLoad:
    return ClientLoad(name, "192.0.2.1:80", "192.0.2.1", (("/", 1.0),), **({"seconds": 1.0} | how))


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=200), st.sampled_from([50.0, 90.0, 99.0]))
def test_a_quantile_of_buckets_holds_the_quantile_of_what_is_in_them(values: list[int], percent: float) -> None:
    width = 1000
    buckets: dict[int, int] = {}
    for value in values:
        buckets[value // width] = buckets.get(value // width, 0) + 1
    found = quantile([(k * width, (k + 1) * width, n) for k, n in buckets.items()], percent)
    true = sorted(values)[max(1, -int(-len(values) * percent // 100)) - 1]
    assert found is not None
    assert abs(found[0] - true) <= found[1] == width / 2


def test_every_pattern_and_concurrency_is_run_as_often_as_asked() -> None:
    campaign = LoadSchedule(
        "own",
        (load("client1"), load("client2"), load("fast", connections=1000)),
        (ALONE, TOGETHER),
        (10, 100),
        fixed=frozenset({"fast"}),
        repetitions=3,
    )
    trials = campaign.trials()
    assert [trial.number for trial in trials] == list(range(3 * 2 * (3 + 1)))
    together = [trial for trial in trials if trial.pattern == TOGETHER and trial.concurrency == 100]
    assert len(together) == 3
    assert [one.connections for one in together[0].loads] == [100, 100, 1000]
    # A repetition is complete before the next begins: a drift hits all alike.
    assert [trial.repetition for trial in trials] == sorted(trial.repetition for trial in trials)
    assert [trial.pattern for trial in trials[:8]] != [trial.pattern for trial in trials[8:16]]


def test_each_file_is_a_series_of_its_own() -> None:
    files = ("/151.bin", "/1430.bin")
    campaign = LoadSchedule("own", (load(), load("client2")), (ALONE, TOGETHER), (10,), each_file=files, repetitions=2)
    trials = campaign.trials()
    assert len(trials) == 2 * 2 * 3
    assert {(trial.file, trial.loads[0].paths) for trial in trials} == {(file, ((file, 1.0),)) for file in files}
    rows = [
        bulk_row(at, trial.pattern, one.name, 100.0 + len(trial.file), 1.0) | {"file": trial.file}
        for at, trial in enumerate(trials)
        for one in trial.loads
    ]
    groups_ = [row.group for row in load_analysis.rows_of(rows, {}, bulk=True)]
    assert list(dict.fromkeys(groups_)) == [f"{who}, {file}" for who in ("Alone", "Together") for file in files]


def test_some_clients_may_load_together() -> None:
    names = ["client1", "client2", "client3"]
    assert groups("client3+client1", names) == [("client1", "client3")]
    for bad in ("client4", "client1+client1", "", "client1+"):
        with pytest.raises(PlanError, match="there is no"):
            groups(bad, names)


def bulk_row(trial: int, pattern: str, client: str, mbps: float, seconds: float) -> dict[str, Any]:
    return {
        "trial": trial,
        "pattern": pattern,
        "concurrency": 1,
        "repetition": trial // 3,
        "connections": 1,
        "client": client,
        "received_bytes": round(mbps * 1e6 / 8 * seconds),
        "began_ns": 10**9,
        "ended_ns": 10**9 + round(seconds * 1e9),
    }


def test_streams_together_are_set_beside_what_each_does_alone() -> None:
    rows = [
        row
        for repetition, more in enumerate((0.0, 2.0))
        for row in (
            bulk_row(3 * repetition, "alone", "client1", 940 + more, 1.0),
            bulk_row(3 * repetition + 1, "alone", "fast", 9400 + more, 1.0),
            bulk_row(3 * repetition + 2, "together", "client1", 940 + more, 1.5),
            bulk_row(3 * repetition + 2, "together", "fast", 7520 + more, 1.0),
        )
    ]
    found = {(row.group, row.case): row.figures for row in load_analysis.rows_of(rows, {}, bulk=True)}
    assert list(found)[:2] == [("Alone", "fast, 1 stream"), ("Alone", "client1, 1 stream")]
    # Each over its own time: who ends later does not make the others slower, but that is said.
    assert found["Together", "all, 2 streams"]["received"].value == pytest.approx(8462e6)
    (flag,) = load_analysis.uneven(rows)
    assert "In 2 of 6 runs" in flag.text
    assert not load_analysis.uneven([row for row in rows if row["pattern"] == "alone"])
    share = found["Together", "fast, 1 stream"]["of_alone"]
    assert share.value == pytest.approx(80, rel=1e-3)
    assert share.uncertainty is not None
    # Two runs show their scatter badly: Student's factor is 12.7.
    assert 0.1 < share.uncertainty < 0.6
    assert "of_alone" not in found["Alone", "fast, 1 stream"]
    assert "of_alone" not in found["Together", "all, 2 streams"]
    (plot,) = bulk_plots(load_analysis.rows_of(rows, {}, bulk=True))
    assert [trace["name"] for trace in plot.traces] == ["Alone", "Together"]
    assert plot.traces[1]["x"] == ["fast", "client1", "all"]


def test_rates_of_all_clients_are_of_the_time_that_all_took() -> None:
    rows = [
        {
            "trial": repetition,
            "pattern": "together",
            "concurrency": 10,
            "repetition": repetition,
            "connections": 10,
            "client": client,
            "completed": 1000 * number,
            "failed": 0,
            "given_up": 0,
            "unsent": 7,
            "received_bytes": 125_000 * number,
            "began_ns": 0,
            "ended_ns": 10**9 * number,
            "cpu_ns": 95 * 10**7 * number,
            "failures": json.dumps({"timed_out": 3}),
        }
        for repetition in range(2)
        for number, client in enumerate(("client1", "client2"), 1)
    ]
    latencies = {(0, "client1"): [(0, 10, 1)], (1, "client2"): [(10, 20, 3)]}
    found = {row.case: row.figures for row in load_analysis.rows_of(rows, latencies)}
    assert found["client1, 10 connections"]["requests"].value == 1000
    assert found["client2, 10 connections"]["requests"].value == 1000
    assert found["all, 20 connections"]["requests"].value == 1500
    assert found["all, 20 connections"]["received"].value == pytest.approx(1.5e6)
    assert found["all, 20 connections"]["p50"].value == pytest.approx(15)
    raised = {flag.name: flag.text for flag in load_analysis.flags(rows)}
    assert set(raised) == {"failed-requests", "unsent-requests", "client-limited"}
    assert "12 requests timed out" in raised["failed-requests"]


def test_a_system_is_read_as_it_is_written() -> None:
    given_ = pairs("system?servers=2&rates=1G,none&file=151:3,10k&uplink=100M&queue=300k&server-rate=50M", KEYS)
    shape = shape_of(given_)
    assert shape.rates_bps == (1_000_000_000, None)
    assert (shape.servers, shape.uplink_bps, shape.queue_bytes) == (2, 100_000_000, 300_000)
    assert shape.server_bps == 50_000_000
    assert shape.files == (ServedFile(151, 3.0), ServedFile(10_000, 1.0))
    assert shape_of(pairs("system?clients=3&rates=1G", KEYS)).rates_bps == (1_000_000_000,) * 3
    background = load_of({"load": "100,-", "udp": "-,90M", "timeout": "2s"}, 2)
    assert (background.connections, background.udp_bps, background.timeouts_s) == (
        (100, 0),
        (None, 90_000_000),
        (2.0, 2.0),
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("system?clients=2&rates=1G,1G,1G", "3 rates for 2 clients"),
        ("system?colour=red", "colour=red"),
        ("system?file=2000M", "1 GiB"),
        ("system?load=x", "no whole number"),
        ("system?clients=2&load=1,2,3", "3 values for 2 clients"),
        ("system?with=siege", "no client 'siege'"),
        ("path?hops=1M", "no system"),
    ],
)
def test_a_system_that_cannot_be_is_refused(name: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        open_system(name, 1).lab.shape.check()


def test_a_url_that_is_none_is_refused() -> None:
    (aim,) = url_aims(["http://192.0.2.7:8080/a/b?c"])
    assert (aim.server, aim.host, aim.paths) == ("192.0.2.7:8080", "192.0.2.7:8080", (("/a/b?c", 1.0),))
    (aim,) = url_aims(["http://192.0.2.7:80/"])
    assert aim.host == "192.0.2.7"  # RFC 9110 §7.2: the port of the scheme may be left out
    for url in ("https://192.0.2.7/", "http://192.0.2.7:99999/", "192.0.2.7"):
        with pytest.raises(PlanError, match="no address to load"):
            url_aims([url])


def test_open_connections_are_the_mean_over_the_interval() -> None:
    zero = dict.fromkeys(
        ("opened", "reopened", "completed", "broken", "answers", "answering_ns", "untracked", "to_bytes"), 0
    )
    # One connection open all the time from 5 s on, one from 11 s to 13 s; the interval is from 10 s to 20 s.
    at = {"open": 1, "open_since_ns": 5 * 10**9, "closed_ns": 0}
    before = PortReading(10 * 10**9, 1000, {**zero, **at}, ())
    ended = {**at, "closed_ns": 2 * 10**9, "completed": 1, "answering_ns": 10**9}
    after = PortReading(20 * 10**9, 4000, {**zero, **ended}, ((10**9, 2 * 10**9, 1),))
    seen = view(WatchedPort("a", 1e9, "x"), before, after, 1e6, 42.0)
    assert seen.open_connections == pytest.approx(1.2)
    assert (seen.sent_bytes, seen.completed, seen.answering_s, seen.p99_s) == (3000, 1, 1.0, None)


def test_sums_of_times_may_pass_the_end_of_their_counter() -> None:
    zero = dict.fromkeys(("opened", "reopened", "completed", "broken", "answers", "answering_ns", "untracked"), 0)
    sums = {"open": 4, "open_since_ns": (4 * 6 * 10**18) % 2**64, "closed_ns": 0}
    before, after = (PortReading(6 * 10**18 + s * 10**9, 0, {**zero, **sums}, ()) for s in (1, 3))
    assert view(WatchedPort("a", 1e9, "x"), before, after, None, 0.0).open_connections == pytest.approx(4)


def test_a_backlog_is_found_among_attributes() -> None:
    queue = struct.pack("=HHIIIII", 24, 3, 2, 3028, 0, 0, 0)
    basic = struct.pack("=HHQQ", 20, 1, 5, 6)
    statistics = struct.pack("=HH", 4 + len(basic) + len(queue), 7) + basic + queue
    kind = struct.pack("=HH4s", 8, 1, b"htb\0")
    assert backlog(kind + statistics) == 3028
    assert backlog(kind) == 0


@given(st.binary(max_size=200))
def test_no_attributes_make_it_fail(attributes: bytes) -> None:
    assert backlog(attributes) >= 0


def test_a_load_without_a_figure_is_a_gap_and_a_bound_a_triangle() -> None:
    found = [
        Quantity(value=1_234.567, unit="requests/s", uncertainty=20.0),
        None,
        Quantity(value=2_000.0, unit="requests/s", bound="at least"),
    ]
    rows = [
        Row(
            case="web, 10.0.0.1",
            group="alone",
            figures={"requests": figure} if figure else {},
            at=Quantity(value=float(connections), unit="", uncertainty=0.0),
        )
        for connections, figure in zip((1, 2, 4), found, strict=True)
    ]
    plot = load_plots(rows)[0]
    line, legend = plot.traces
    assert line["x"] == [1, 2, 4] and line["y"] == [1_234.567, None, 2_000.0]
    assert line["marker"]["symbol"][-1] == legend["marker"]["symbol"] == "triangle-up-open"
    assert legend["meta"] == ["alone"]
    assert line["text"][0].endswith(": 1\u202f235 ± 20 requests/s") and line["text"][1] == ""
    assert line["text"][2].endswith(": at least 2\u202f000 requests/s")
