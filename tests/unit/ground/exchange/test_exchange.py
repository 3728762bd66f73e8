"""Histograms of HdrHistogram against its own implementation, and documents of other testers, made up for the test."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import keisoku

import keisoku as ks
from keisoku.errors import PlanError
from keisoku.ground.exchange.hdr_histogram import NotAHistogram, decode, encode, gathered
from keisoku.ground.exchange.published import NotPublished, read

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
