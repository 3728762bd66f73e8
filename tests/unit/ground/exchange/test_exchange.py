"""Histograms of HdrHistogram against its own implementation, and documents of other testers, made up for the test."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import keisoku

import keisoku as ks
from keisoku.errors import PlanError
from keisoku.faces.service.web import listing
from keisoku.ground.exchange.hdr_histogram import NotAHistogram, decode, encode, gathered
from keisoku.ground.exchange.published import NotPublished, read
from keisoku.ground.run import store

THEIRS = "HISTFAAAAEB4nJNpmSzMwMCgyQABzFCaEUzOmNZg/wEiwMnCxMwExGyMTIxMoiycQB4rE4jJBKTZWZSZBJm4gWKiLAARdwU9"
"""30 values, encoded by the Python implementation 0.10.8, which says of them: median 36, 99 % 119, mean 44.9667."""


def csit(ndr: float = 21e6, size: int = 64, version: str = "1") -> dict[str, Any]:
    def rate(value: float) -> dict[str, Any]:
        return {"rate": {"value": value, "unit": "pps"}}

    return {
        "version": "1.5.1",
        "test_id": f"tests.vpp.perf.ip4.10ge2p1x710-ethip4-ip4base-ndrpdr.{size}b-1c-ethip4-ip4base-ndrpdr",
        "test_name_long": f"10ge2p1x710-{size}b-1c-ethip4-ip4base-ndrpdr",
        "dut_type": "VPP",
        "dut_version": version,
        "start_time": "2030-01-02T03:04:05.0Z",
        "passed": True,
        "result": {
            "type": "ndrpdr",
            "ndr": {"lower": rate(ndr), "upper": rate(ndr + 100_000)},
            "pdr": {"lower": rate(23e6), "upper": rate(23.1e6)},
            "latency_forward": {"pdr_50": {"min": 6, "avg": 45, "max": 119, "unit": "us", "hdrh": THEIRS}},
        },
    }


NFVBENCH = {
    "date": "2030-01-02 03:04:05",
    "nfvbench_version": "9.9.9",
    "benchmarks": {
        "network": {
            "service_chain": {
                "PVP": {
                    "result": {
                        "result": {
                            "warning": "made up",
                            "64": {
                                "ndr": {
                                    "rate_pps": 5_000_000,
                                    "stats": {
                                        "overall": {
                                            "drop_percentage": 0.001,
                                            "avg_delay_usec": 30.0,
                                            "min_delay_usec": 10.0,
                                            "max_delay_usec": 200.0,
                                        }
                                    },
                                }
                            },
                        }
                    }
                }
            }
        }
    },
}
TREX = {
    "flow_stats": {"7": {"tx_pkts": {"0": 1000, "total": 1000}, "rx_pkts": {"1": 990, "total": 990}}, "global": {}},
    "latency": {
        "7": {
            "err_cntrs": {"dropped": 10},
            "latency": {"average": 45.0, "total_min": 6, "total_max": 119, "jitter": 3, "hdrh": THEIRS},
        },
        "global": {"old_flow": 0},
    },
}
HEAD = '#[Histogram log format version 1.3]\n"StartTimestamp","…"\n'
LOG = f"{HEAD}Tag=one,0.000,1.000,0.119,{THEIRS}\n1.0,1.0,1.0,{THEIRS}\n"


def test_a_histogram_of_another_implementation_is_read() -> None:
    found = decode(THEIRS)
    assert (found.total, found.percentile(50), found.percentile(99)) == (30, 36, 119)
    assert found.mean == pytest.approx(44.9667, abs=1e-4)
    assert decode(encode(found)) == found


@given(st.dictionaries(st.integers(0, 2**55), st.integers(1, 2**40), min_size=1), st.integers(1, 5))
def test_what_is_written_is_read(values: dict[int, int], digits: int) -> None:
    made = gathered(values, digits)
    assert decode(encode(made)) == made
    assert made.total == sum(values.values())
    for value in values:
        start = max(each for each in made.counts if each <= value)
        width = made.width(start)
        assert start <= value < start + width and (width == 1 or width <= start / 10**digits)


@given(st.integers(0, 200), st.binary(max_size=4))
def test_a_damaged_histogram_is_refused_in_words(place: int, more: bytes) -> None:
    text = THEIRS[:place] + more.hex() + THEIRS[place + 1 :]
    try:
        decode(text)
    except NotAHistogram as error:
        assert str(error)


def test_csit_says_rates_with_bounds_and_latencies_with_percentiles() -> None:
    found = read(csit())
    throughput, latency = found.results
    ndr, pdr = throughput.rows
    assert (ndr.frame_bytes, ndr.figures["throughput"].bounds) == (64, (21e6, 21.1e6))
    assert (pdr.case, pdr.figures["throughput"].value) == ("PDR 0.5 %", 23e6)
    (row,) = latency.rows
    assert row.case == "forward, 50 % of PDR"
    assert row.figures["p50"].bounds == (36_000, 37_000) and row.figures["p50"].unit == "ns"
    assert (found.device, found.started_at) == ("VPP 1", "2030-01-02T03:04:05.0Z")
    mrr = csit() | {
        "result": {"receive_rate": {"rate": {"values": [3e6, 5e6], "avg": 4e6, "stdev": 1e6, "unit": "pps"}}}
    }
    (row,) = read(mrr).results[0].rows
    assert row.case == "MRR" and row.figures["throughput"].uncertainty == pytest.approx(12.7062e6 / 2**0.5, rel=1e-4)


def test_csit_of_model_1_5_without_upper_bounds_is_read() -> None:
    """All tests that search in packets per second are published so; the reader wanted both bounds."""
    document = csit()
    del document["result"]["ndr"]["upper"]
    ndr, pdr = read(document).results[0].rows
    assert (ndr.figures["throughput"].value, ndr.figures["throughput"].bounds) == (21e6, None)
    assert pdr.figures["throughput"].bounds == (23e6, 23.1e6)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"receive_rate": {"rate": {"values": [5], "avg": 5, "stdev": 0, "unit": "cps"}}}, "connections/s"),
        ({"rate": {"value": 5, "unit": "rps"}, "bandwidth": {"value": 9, "unit": "bps"}}, "requests/s"),
        ({"bandwidth": {"value": 5, "unit": "bps"}}, "bit/s"),
        ({"loss": {"packet": {"value": 5, "unit": "packets"}, "time": {"value": 1, "unit": "s"}}}, "frames"),
    ],
)
def test_csit_of_other_kinds_of_tests_is_read_in_its_units(result: dict[str, Any], said: str) -> None:
    figure = next(iter(read(csit() | {"result": result}).results[0].rows[0].figures.values()))
    assert (figure.value, figure.unit) == (5, said)


def test_what_a_tester_could_not_measure_is_no_figure() -> None:
    document = csit()
    document["result"]["latency_forward"] = {"pdr_50": {"min": -1.0, "avg": -1.0, "max": math.nan, "hdrh": ""}}
    assert [result.measurement for result in read(document).results] == ["throughput"]
    overall = {"drop_percentage": math.inf, "avg_delay_usec": "n/a", "min_delay_usec": math.nan, "max_delay_usec": 3}
    trial = {"rate_pps": 7, "stats": {"overall": overall}}
    chains = {"PVP": {"result": {"result": {"64": {"ndr": trial}}}}}
    throughput, latency = read({"benchmarks": {"network": {"service_chain": chains}}}).results
    assert throughput.rows[0].figures["throughput"].value == 7 and set(latency.rows[0].figures) == {"max"}


def test_a_log_of_another_program_begins_with_its_own_line() -> None:
    start = "#[StartTime: 1441812279.474 (seconds since epoch), Wed]\n"
    log = f"#[Logged with jHiccup version 2]\n{HEAD.replace('1.3', '1.2')}{start}"
    found = read(f"{log}0.1,1.0,2.7,{THEIRS}\nTag=A,0.1,1.0,2.7,{THEIRS}\nTag=A,1.1,1.0,2.7,{THEIRS}\n")
    assert [row.case for row in found.results[0].rows] == ["line 5", "A, line 6", "A, line 7"]
    assert found.started_at == "2015-09-09T15:24:39+00:00"
    for old in ("HISTIgAAAFc=", "HISTiQAAAFc=", "HISTggAAAFc="):
        with pytest.raises(NotPublished, match="version 0 or 1 of HdrHistogram"):
            read(f"{HEAD}0.1,1.0,2.7,{old}")


def test_nfvbench_trex_and_logs_are_read() -> None:
    by_name = {result.measurement: result.rows for result in read(NFVBENCH).results}
    assert by_name["throughput"][0].figures["throughput"].value == 5e6
    assert (by_name["throughput"][0].frame_bytes, by_name["throughput"][0].case) == (64, "PVP, NDR")
    assert by_name["loss"][0].figures["loss"].value == 0.001 and by_name["latency"][0].figures["max"].value == 200_000
    latency, loss = read(TREX, 512).results
    assert loss.rows[0].figures["loss"].value == 1 and loss.rows[0].figures["lost"].value == 10
    assert latency.rows[0].figures["p99"].bounds == (119_000, 120_000) and latency.rows[0].frame_bytes == 512
    (logged,) = read(LOG).results
    assert [row.case for row in logged.rows] == ["one", "line 4"]
    assert logged.rows[0].figures["p50"].bounds == (36, 37)


def nfvbench_loss(**overall: Any) -> Any:
    """The row of the loss of a trial, None if it has none."""
    chains = {"PVP": {"result": {"result": {"64": {"rate_pps": 7, "stats": {"overall": overall}}}}}}
    results = read({"benchmarks": {"network": {"service_chain": chains}}}).results
    return next((result.rows[0] for result in results if result.measurement == "loss"), None)


def trex_loss(sent: int, received: int, errors: dict[str, int] | None = None, **own: Any) -> Any:
    flow = {"tx_pkts": {"0": sent, "total": sent}, "rx_pkts": {"1": received, "total": received}}
    document = {"flow_stats": {"7": flow, **own}}
    if errors is not None:
        document["latency"] = {"7": {"err_cntrs": errors, "latency": {"average": 45.0}}}
    published = read(document)
    (row,) = next(result.rows for result in published.results if result.measurement == "loss")
    return row, published.remarks


@pytest.mark.parametrize("percent", [-1.2, 429_496.7, 100.1])
def test_a_loss_that_cannot_be_was_called_exact(percent: float) -> None:
    row = nfvbench_loss(drop_percentage=percent)
    assert not row.figures and f"{percent:g} %, which is not possible" in row.remark
    for sent, received in ((1000, 1012), (1000, -3_000_000)):
        row, _ = trex_loss(sent, received)
        assert not row.figures and f"1,000 frames sent and {received:,} received" in row.remark
        row = nfvbench_loss(drop_percentage=0, tx={"total_pkts": sent}, rx={"total_pkts": received})
        assert not row.figures and "these counts give no loss" in row.remark
    for count in (-5, math.inf):
        (result,) = read(csit() | {"result": {"loss": {"packet": {"value": count}}}}).results
        assert not result.rows[0].figures and "not possible" in result.rows[0].remark


def test_losses_of_others_were_exact_without_a_second_account() -> None:
    assert nfvbench_loss(drop_percentage=0.0005).figures["loss"].uncertainty is None
    counts = {"tx": {"total_pkts": 1_000_000}, "rx": {"total_pkts": 999_995}}
    assert nfvbench_loss(drop_rate_percent=0.0005, **counts).figures["lost"].bounds == (5, 5)
    assert nfvbench_loss(drop_rate_percent=0.5, **counts).figures["loss"].uncertainty is None
    (result,) = read(csit() | {"result": {"loss": {"packet": {"value": 5}}}}).results
    assert result.rows[0].figures["lost"].uncertainty is None
    row, _ = trex_loss(1000, 990)
    assert row.figures["loss"].value == 1 and row.figures["loss"].bounds is None


def test_trex_own_error_counters_were_not_read() -> None:
    """Ten frames that were lost and ten that came twice: 0 lost, 'exact'."""
    row, _ = trex_loss(1000, 1000, {"dropped": 10, "dup": 10})
    assert row.figures["lost"].bounds == (10, 10) and row.figures["loss"].bounds == (1, 1)
    row, _ = trex_loss(1000, 1012, {"dropped": 0, "dup": 12})
    assert row.figures["lost"].bounds == (0, 0)
    row, _ = trex_loss(1000, 1000, {"dropped": 10, "dup": 0})
    assert row.figures["lost"].value == 10 and row.figures["lost"].bounds == (0, 10)
    assert row.figures["loss"].bounds == (0, 1) and "0 lost ones" in row.remark
    (result,) = read({"latency": {"7": {"err_cntrs": {"dropped": 10}, "latency": {}}}}).results
    assert (result.rows[0].figures["lost"].value, result.rows[0].figures["lost"].bounds) == (10, None)
    row, remarks = trex_loss(1000, 990, {"dropped": 10}, **{"global": {"rx_err": {"0": 3}, "tx_err": {}}})
    assert row.figures["lost"].value == 10 and row.figures["lost"].bounds is None
    assert "rx_err 3" in remarks[0]


@pytest.mark.parametrize(
    ("start", "unit"),
    [
        ("1441812279.474", "s"),
        ("1441812279474.000", "ms"),
        ("1441812279474000.000", "µs"),
        ("1441812279474000000.000", "ns"),
    ],
)
def test_a_log_whose_start_is_not_in_seconds_ended_in_a_traceback(start: str, unit: str) -> None:
    found = read(f"{HEAD}#[StartTime: {start} (seconds since epoch), Wed]\n0.1,1.0,2.7,{THEIRS}\n")
    assert found.started_at == "2015-09-09T15:24:39+00:00"
    assert [f"read in {unit}" in remark for remark in found.remarks[1:]] == ([] if unit == "s" else [True])
    beyond = read(f"{HEAD}#[StartTime: {'9' * 400}.0 (seconds since epoch), Wed]\n0.1,1.0,2.7,{THEIRS}\n")
    assert beyond.started_at == ""


def test_a_log_that_a_kill_cut_off_was_refused_whole() -> None:
    lines = f"{HEAD}Tag=one,0.000,1.000,0.119,{THEIRS}\n"
    last = f"Tag=two,1.0,1.0,1.0,{THEIRS}"
    for length in range(1, len(last)):
        found = read(lines + last[:length])
        assert [row.case for row in found.results[0].rows] == ["one"]
        assert "ends within its last line" in found.remarks[1]
    assert len(read(lines + last).results[0].rows) == 2 and len(read(lines + last).remarks) == 1
    with pytest.raises(NotPublished, match="cannot be read"):
        read(f"{lines}{last[:-9]}\n{last}\n")


def test_documents_with_a_byte_order_mark_were_refused(tmp_path: Path) -> None:
    for name, text in (("one.hlog", LOG), ("two.json", json.dumps(csit()))):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
        assert ks.measure("runs import", file=str(tmp_path / name), out=tmp_path / f"{name}.run").results


def test_runs_of_several_zones_are_in_the_order_of_time_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A date without a zone beside one with it was a traceback in `report`; the rest went by the text."""
    starts = ["2030-01-02T00:30:00+09:00", "2030-01-01T22:00:00Z", "2030-01-01 23:00:00", "2030-01-01T20:30:00-03:00"]
    folder = tmp_path / "runs"
    for number, start in enumerate(starts):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(csit() | {"start_time": start}))
        found = ks.measure("runs import", file=str(path), out=folder / f"run{number}")
        assert ("it is read as UTC" in "".join(found.results[0].remarks)) == (number == 2)
    wanted = [f"run{number}" for number in range(4)]
    assert [run.name for run in store.listed(folder)] == wanted[::-1]
    assert [run.name for run in listing.listed(folder, [])] == wanted[::-1]
    shuffled = [f"runs/run{number}" for number in (3, 1, 0, 2)]
    trend = keisoku("trend", *shuffled, "--json", cwd=tmp_path)
    assert list(dict.fromkeys(re.findall(r"run\d", trend.stdout))) == wanted, trend.stdout + trend.stderr
    done = keisoku("report", shuffled[2], shuffled[3], "--out", "page.html", cwd=tmp_path)
    assert done.code == 0 and "1 January 2030, 15:30 UTC" in (tmp_path / "page.html").read_text(), done.stderr
    told = set()
    for zone in ("UTC", "Asia/Tokyo"):
        monkeypatch.setenv("TZ", zone)
        told.add(keisoku("export", "runs/run2", "--format", "openmetrics", cwd=tmp_path).stdout)
    assert len(told) == 1 and "1.8935388e+09" in told.pop()


@pytest.mark.parametrize(
    "document", [None, 3, "text", [], {}, {"latency": 4}, {"benchmarks": {}}, {"test_id": "x", "result": {"ndr": 1}}]
)
def test_what_is_none_of_them_is_said(document: Any) -> None:
    with pytest.raises(NotPublished):
        read(document)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "test_id",
                    "result",
                    "ndr",
                    "lower",
                    "rate",
                    "value",
                    "unit",
                    "latency",
                    "7",
                    "flow_stats",
                    "tx_pkts",
                    "total",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(_JSON, _JSON)
def test_any_document_is_read_or_refused(one: Any, other: Any) -> None:
    for document in (one, {"test_id": "x", "result": one, "passed": other}, {"latency": one, "flow_stats": other}):
        try:
            assert read(document).results
        except NotPublished as error:
            assert str(error)


def test_imported_runs_are_compared_and_have_a_trend(tmp_path: Path) -> None:
    for number, ndr in enumerate((21e6, 21.02e6, 18e6), 1):
        document = csit(ndr) | {"start_time": f"2030-01-0{number}T00:00:00Z"}
        (tmp_path / f"{number}.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
        done = ks.measure("runs import", file=str(tmp_path / f"{number}.json.gz"), out=tmp_path / f"run{number}")
        assert done.context["started_at"] == document["start_time"] and done.context["device"] == "VPP 1"
    assert keisoku("compare", "run2", "--against", "run1", cwd=tmp_path).code == 0
    worse = keisoku("compare", "run3", "--against", "run1", cwd=tmp_path)
    assert worse.code == 1, worse.stdout + worse.stderr
    trend = keisoku("trend", "run1", "run2", "run3", cwd=tmp_path)
    assert trend.code in (0, 1) and "throughput" in trend.stdout.lower(), trend.stderr
    assert keisoku("query", "run1", "select count(*) from figures", cwd=tmp_path).code == 0
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(PlanError, match="neither CSIT's"):
        ks.measure("runs import", file=str(tmp_path / "other.json"), out=tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_latencies_are_written_as_a_log_that_is_read_again(tmp_path: Path) -> None:
    run = ks.measure("latency", dut="sim:gs908e", frame_bytes=512, trial_s=0.05, repetitions=2, out=tmp_path / "run")
    done = keisoku("export", "run", "--format", "hdrhistogram", "--out", "latency.hlog", cwd=tmp_path)
    assert done.code == 0, done.stderr
    lines = [line for line in (tmp_path / "latency.hlog").read_text().splitlines() if line.startswith("Tag=")]
    measured = [trial.facts.streams[0].tracked.latency for trial in run.trials]
    assert len(lines) == len(measured) > 1
    for line, latency in zip(lines, measured, strict=True):
        found = decode(line.split(",")[4])
        assert latency is not None and found.total == latency.count
        assert dict(found.counts) == dict(zip(latency.histogram.lower_ns, latency.histogram.counts, strict=True))
    assert keisoku("runs", "import", "latency.hlog", "--out", "again", cwd=tmp_path).code == 0
    (result,) = ks.load(tmp_path / "again").results
    assert [row.case.split(".")[0] for row in result.rows] == ["latency"] * len(result.rows)
    clock = ks.measure("clock cost", reads=1000, stall_scan_s=0, out=tmp_path / "clock")
    assert keisoku("export", str(clock.directory), "--format", "hdrhistogram", cwd=tmp_path).code == 2
