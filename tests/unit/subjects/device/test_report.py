"""The report holds what the run holds: figures, accounts, deviations; and nothing a browser would fetch."""

from __future__ import annotations

import csv
import re
import tomllib
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from support.one_stream import facts_of
from support.synthetic_runs import SIZES, bounded_run, host_run, ns, page_of, router_run, sweep_run

from keisoku.ground.frame.rates import maximum_frames_per_second
from keisoku.ground.report.answer import answering
from keisoku.ground.report.csv import write_csv
from keisoku.ground.report.page import render
from keisoku.ground.report.plot import Plot, hover
from keisoku.ground.report.sentence import sentence
from keisoku.ground.report.svg import svg
from keisoku.ground.report.table import tables
from keisoku.ground.report.text import print_results
from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.subjects.device.plot.device import Device, devices
from keisoku.subjects.device.plot.histogram_plot import histogram_plot
from keisoku.subjects.device.plot.size_plots import latency_plot, throughput_plot
from keisoku.subjects.device.procedure.rfc2544.loss import STOPPED_WITHOUT_LOSS
from keisoku.subjects.device.procedure.rfc2544.loss_plot import loss_plot
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.report.accounting import account
from keisoku.subjects.device.report.answer import device_answer
from keisoku.subjects.device.report.loss_list import RANGES_SHOWN, TRIALS_SHOWN, losses
from keisoku.subjects.device.report.summary import summary
from keisoku.subjects.device.report.time_plot import TRIALS_MAX, time_plot
from keisoku.subjects.device.report.traffic import traffic
from keisoku.subjects.device.report.trial_rows import trial_rows


class Page(HTMLParser):
    """Everything in a page that a browser would load, and its visible text outside of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.text: list[str] = []
        self.raw = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.raw = tag if tag in ("script", "style") else ""
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action", "data", "poster") and value not in (
                None,
                "data:,",
            ):
                self.loads.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        self.raw = ""

    def handle_data(self, data: str) -> None:
        if not self.raw:
            self.text.append(data)


MET = Verdict("throughput[64] >= 0.5 Mpps", True, Quantity(value=806e3, unit="frames/s", uncertainty=3e3))


@pytest.fixture(scope="module")
def page() -> tuple[str, Page]:
    html = page_of([host_run(), router_run()], [MET])
    return html, Page(html)


def test_the_page_loads_nothing(page: tuple[str, Page]) -> None:
    html, parsed = page
    assert [load for load in parsed.loads if not load.startswith("#")] == []
    assert "default-src 'none'" in html
    styles = "".join(re.findall(r"<style>(.*?)</style>", html, re.S))
    assert "url(" not in styles and "@import" not in styles
    own = html.rsplit("<script>", 1)[1]
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|https?:", own)


def test_the_page_says_what_was_found(page: tuple[str, Page]) -> None:
    text = " ".join(" ".join(page[1].text).split())
    for expected in (
        "Linux bridge, Linux router",
        "Forwards 806 kframes/s of 64-byte frames",
        "throughput[64] >= 0.5 Mpps",
        "✓ met",
        "128 of 128 trials add up",
        "2 trials were disturbed",
        "and no result rests on them",
        "the tester could not keep up",
        "§26.2: one trial instead of twenty",
        "uncertainty not known",
        "k = 2",
        "CLOCK_MONOTONIC in the XDP program that receives",
        "measured on a bare cable and subtracted",
        "keisoku run plan.toml",
        "RFC 6815",
    ):
        assert expected in text, expected


def test_every_anchor_of_the_page_exists(page: tuple[str, Page]) -> None:
    html, parsed = page
    for load in parsed.loads:
        assert f'id="{load[1:]}"' in html


def test_what_users_name_is_shown_as_text() -> None:
    evil = "<script>alert(1)</script>"
    run = host_run(name=evil)
    html = page_of([run], [Verdict(evil, False, Quantity(value=1.0, unit=evil))])
    assert evil not in html
    assert "&lt;script&gt;alert(1)" in html
    assert hover(evil) == "&lt;script&gt;alert(1)&lt;/script&gt;"


def test_a_run_without_trials_and_results_still_has_a_report() -> None:
    html = page_of([DeviceRun(Path("runs/empty"), {}, {}, [], [])])
    assert "No trial was finished." in html
    assert "No calibration was used" in html
    with pytest.raises(ValueError, match="at least one run"):
        render([])


def test_figures_that_are_not_finite_are_not_drawn() -> None:
    row = Row(frame_bytes=64, figures={"throughput": Quantity(value=float("nan"), unit="frames/s")})
    other = row.model_copy(update={"frame_bytes": 128})
    html = page_of([DeviceRun(Path("r"), {}, {}, [], [Result(measurement="throughput", rows=[row, other])])])
    assert "nan" not in html.split('id="plot-throughput"')[1].split("</figure>")[0].lower()


def test_devices_of_one_name_are_told_apart() -> None:
    names = [device.name for device in devices([host_run("dut"), host_run("dut", engine="packet")])]
    assert names == ["dut · xdp", "dut · packet"]
    assert [device.name for device in devices([host_run("dut"), host_run("dut")])] == [
        "dut · xdp (1)",
        "dut · xdp (2)",
    ]


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({}, ""),
        ({"mix": [68] * 7 + [598] * 4 + [1518], "headers": "Ether()/Dot1Q(vlan=5)/IP()/UDP()", "rate": "50%"},
         "IMIX (7 × 68, 4 × 598, 1 × 1518 byte; 365.5 byte on average), VLAN 5, at 50 %"),
        ({"mix": [64, 64, 1518], "headers": "ipv6", "rate": 5e4, "streams": 3},
         "mix (2 × 64, 1 × 1518 byte; 548.7 byte on average), ipv6, 3 streams, at 50 kframes/s"),
        ({"headers": "Ether()/Dot1Q(vlan=5)/IP(tos=184)/UDP()", "pacing": {"kind": "poisson"}},
         "Ether()/Dot1Q(vlan=5)/IP(tos=184)/UDP(), paced by poisson"),
    ],
)  # fmt: skip
def test_a_mix_is_described_as_what_it_is(plan: dict[str, Any], said: str) -> None:
    """The page said '366 byte', and nothing of tag and load."""
    own = {"latency": {"rate_fps": plan.pop("rate")}} if "rate" in plan else {}
    assert traffic({"methods": ["latency"], **plan, **own}) == said


def test_the_link_is_named_by_the_context_or_implied_by_the_results() -> None:
    assert Device(0, "", sweep_run()).link_bits_per_second == 1e9
    assert Device(0, "", host_run()).link_bits_per_second == pytest.approx(10e9)


def names(plot: Plot | None) -> list[str]:
    assert plot is not None
    ElementTree.fromstring(svg(plot))
    return [trace["name"] for trace in plot.traces if "name" in trace]


def test_a_control_of_an_axis_that_a_plot_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="plot cost has no axis x"):
        Plot("cost", "", {"xaxis": {}}, scales=["x"])


def test_plots_hold_every_size_and_the_theoretical_lines() -> None:
    both = devices([host_run(), router_run()])
    throughput = throughput_plot(both)
    assert names(throughput) == ["theoretical maximum at 10 Gb/s", "Linux bridge", "Linux router"]
    assert throughput is not None and throughput.traces[1]["x"] == SIZES
    loss = loss_plot(both)
    assert "Linux router: 1 − throughput/load" in names(loss)
    assert loss is not None
    assert loss.axes["xaxis"]["range"] == loss.axes["yaxis"]["range"] == [0, 100]
    assert loss.choices == [f"{size} byte" for size in SIZES]
    over_time = time_plot(both)
    assert over_time is not None and len(over_time.choices) == TRIALS_MAX
    assert {choice for trace in over_time.traces for choice in trace["meta"]} == set(over_time.choices)


def test_a_line_between_two_sizes_stays_below_what_the_link_can_carry() -> None:
    """The straight line from 512 to 1024 byte was up to 9 % above it."""
    plot = throughput_plot(devices([host_run()]))
    assert plot is not None
    scale = max(plot.traces[0]["y"]) / maximum_frames_per_second(10e9, 64)
    (line,) = [trace for trace in plot.traces if "name" not in trace]
    assert len(line["x"]) > 10 * len(SIZES)
    assert all(
        y <= scale * maximum_frames_per_second(10e9, x) * (1 + 1e-9) for x, y in zip(line["x"], line["y"], strict=True)
    )


def test_the_theoretical_loss_is_what_a_device_of_that_throughput_loses() -> None:
    run = host_run()
    plot = loss_plot(devices([run]))
    assert plot is not None
    trace = next(trace for trace in plot.traces if trace["name"] == "64 byte: 1 − throughput/load")
    share = run.results[0].rows[0].figures["line_share"].value
    assert (trace["x"][0], trace["y"][0]) == (pytest.approx(share), 0)
    assert (trace["x"][-1], trace["y"][-1]) == (100, pytest.approx(100 - share))


def test_the_sweep_has_its_line_and_residuals() -> None:
    run = sweep_run()
    plot = latency_plot(devices([run]), "sweep")
    assert any("ns/byte × size + 811.0" in name for name in names(plot))
    assert plot is not None
    residuals = next(trace for trace in plot.traces if trace.get("yaxis") == "y2")["y"]
    assert run.results[0].line is not None
    assert len(residuals) == len(run.results[0].line.points)
    assert sum(residuals) == pytest.approx(0, abs=1e-6)


def test_the_histogram_loses_no_frame() -> None:
    run = host_run()
    plot = histogram_plot(devices([run]), "latency")
    assert plot is not None and plot.choices[0] == "all sizes"
    for trace in plot.traces:
        frames = {}
        for text in trace["text"]:
            _, span, count = text.split("<br>")
            frames[span] = int(count.split(" of ")[0].replace("\u202f", ""))
        assert sum(frames.values()) == 20_000


def test_a_trial_that_does_not_add_up_is_shown() -> None:
    run = host_run()
    good = run.records[0]
    tracked = good.facts.tracked.model_copy(update={"lost_frames": good.facts.tracked.lost_frames - 1})
    bad = good.model_copy(update={"facts": facts_of(good.facts.sent, tracked)})
    assert account(good).adds_up and not account(good).fault
    assert not account(bad).adds_up
    assert account(bad).fault == "offered − forwarded − lost − corrupt = 1; lost − listed gaps = -1"
    html = page_of([DeviceRun(run.directory, run.plan, run.context, [bad, *run.records[1:]], run.results)])
    assert "63 of 64 trials add up" in html
    assert "1 trial does not add up" in html


def test_lost_frames_are_listed_first_those_that_results_rest_on() -> None:
    run = host_run()
    shown, more = losses(run)
    lossy = sum(record.facts.tracked.lost_frames > 0 for record in run.records)
    assert len(shown) == TRIALS_SHOWN and more == lossy - TRIALS_SHOWN
    assert shown[0].record.method == "loss"
    assert all(len(loss.first) <= RANGES_SHOWN for loss in shown)
    few, none = losses(replace(run, records=run.records[-1:]))
    assert none == 0 and few[-1].lost == "9" and few[-1].first[0][:2] == ("0 … 2", "3")


def test_a_table_has_one_unit_per_column() -> None:
    (table,) = tables(host_run().results[1])
    assert [(head.title, head.unit) for head in table.heads[:3]] == [
        ("Frame size", "byte"),
        ("Minimum", "µs"),
        ("Mean", "µs"),
    ]
    assert [row[0] for row in table.rows] == [str(size) for size in SIZES]
    assert table.marks == ["†"]


def test_csv_keeps_full_precision_and_names_units(tmp_path: Path) -> None:
    run = host_run()
    written = write_csv(tmp_path / "csv", run.results, {"trials": trial_rows(run.records)})
    assert [path.name for path in written] == [
        "throughput.csv",
        "latency.csv",
        "loss.csv",
        "calibrate.csv",
        "trials.csv",
    ]
    with written[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    figure = run.results[0].rows[0].figures["throughput"]
    assert float(rows[0]["throughput_frames_per_second"]) == figure.value
    assert float(rows[0]["throughput_frames_per_second_uncertainty_k2"]) == figure.uncertainty
    with written[1].open(newline="") as file:
        assert next(csv.DictReader(file))["tagged_ns_uncertainty_k2"] == ""
    with written[-1].open(newline="") as file:
        trials = list(csv.DictReader(file))
    assert len(trials) == len(run.records)
    for row in trials:
        parts = ("forwarded_frames", "lost_frames", "corrupt_frames")
        assert int(row["offered_frames"]) == sum(int(row[part]) for part in parts)
        assert row["adds_up"] == "True"
    assert [path.name for path in write_csv(tmp_path, sweep_run().results, {})][1] == "sweep_line.csv"


def test_csv_says_which_figures_are_bounds(tmp_path: Path) -> None:
    write_csv(tmp_path, bounded_run().results, {})
    with (tmp_path / "throughput.csv").open(newline="") as file:
        rows = {int(row["frame_bytes"]): row for row in csv.DictReader(file)}
    assert rows[128]["throughput_bound"] == "at least" and rows[128]["throughput_covers"] == ""
    assert rows[128]["throughput_frames_per_second_uncertainty_k2"] == ""
    assert rows[64]["throughput_bound"] == "" and rows[64]["throughput_covers"] == "resolution"
    assert rows[512]["throughput_frames_per_second"] == rows[512]["throughput_bound"] == ""
    with (tmp_path / "loss.csv").open(newline="") as file:
        assert not [head for head in next(csv.reader(file)) if head.endswith(("_bound", "_covers"))]


def test_bounds_resolutions_and_what_was_not_measured_are_shown() -> None:
    run = bounded_run()
    (table,) = tables(run.results[0])
    cells = {row[0]: row for row in table.rows}
    assert cells["128"][1] == "at least 800.4" and cells["64"][1] == "806 ± 3§" and cells["512"][1] == ""
    assert table.marks == ["§"]
    said = " ".join(summary(devices([run])[0]))
    assert "Throughput not measured: 512 byte (given up: the tester could not offer the load)." in said
    shown = sentence(run.results[0], "throughput")
    assert "64 byte: 806 kframes/s (resolution ± 0.4 %), 128 byte: at least 800.4 kframes/s" in shown
    assert "Not measured: 512 byte (given up: the tester could not offer the load)." in shown
    alone = run.results[0].model_copy(update={"rows": run.results[0].rows[1:2]})
    card = summary(devices([replace(run, results=[alone])])[0])[0]
    assert card.startswith("Forwards at least 800.4 kframes/s of 128-byte frames (at least ")


def test_a_result_without_its_main_figure_says_what_it_has() -> None:
    """Too few transactions for a percentile left the answer of `stream crr` without a sentence."""
    rows = [Row(case="transaction", figures={"requests": Quantity(value=1400, unit="requests/s", uncertainty=100)})]
    said = sentence(Result(measurement="stream crr", rows=rows), "p50")
    assert said == "Requests: transaction: 1\u202f400 ± 100 requests/s."


def test_a_sentence_says_what_its_figure_is_a_mean_of() -> None:
    time = Quantity(value=6.8, unit="µs", uncertainty=0.5)
    frames = Result(measurement="latency", rows=[Row(frame_bytes=64, figures={"mean": time})])
    assert sentence(frames, "mean") == "Mean latency: 64 byte: 6.8 ± 0.5 µs."
    hops = Result(measurement="path one-packet", rows=[Row(case="hop 1", figures={"latency": time})])
    assert sentence(hops, "latency") == "Latency: hop 1: 6.8 ± 0.5 µs."  # its least one


def test_the_card_of_a_run_that_measured_nothing_is_not_empty() -> None:
    run = host_run()
    rows = [Row(frame_bytes=size, figures={}, remark="the hypervisor took the CPU") for size in (64, 128)]
    nothing = replace(run, results=[Result(measurement="latency", rows=rows)])
    assert summary(devices([nothing])[0]) == ["Latency not measured: 64 byte, 128 byte (the hypervisor took the CPU)."]
    assert "the hypervisor took the CPU" in page_of([nothing])


def test_the_card_of_a_method_without_a_sentence_of_its_own_says_what_was_found() -> None:
    """The cards of most procedures said that no figure was measured, above a table of figures."""
    rows = [
        Row(frame_bytes=64, case="2 to 1", figures={"buffer": Quantity(value=131_070, unit="byte", uncertainty=60)})
    ]
    run = replace(host_run(), results=[Result(measurement="buffering", rows=rows)])
    assert summary(devices([run])[0]) == ["Buffer: 64 byte, 2 to 1: 131\u202f070 ± 60 byte."]
    assert "No figure was measured" not in page_of([run])


def test_the_card_of_a_run_without_its_main_figure_says_the_others() -> None:
    """The page of `connection-teardown` said "No figure was measured" below "3 measured": its rate needs a difference
    that two short times did not show, but both times were there."""
    time = Quantity(value=0.04, unit="s", uncertainty=0.01)
    count = Quantity(value=1000, unit="connections", uncertainty=0)
    mean = Row(frame_bytes=64, case="mean of 2", figures={"time": time})
    rows = [mean, Row(frame_bytes=64, case="trial 1", figures={"connections": count, "time": time})]
    result = Result(measurement="connection_teardown", rows=rows)
    assert [name for _, name in answering(result, "rate")] == ["time", "time"]
    run = replace(host_run(), results=[result])
    (said,) = summary(devices([run])[0])
    assert said.startswith("Time: 64 byte, mean of 2: 0.04") and "No figure was measured" not in page_of([run])


def test_the_card_says_why_a_figure_is_no_better_known() -> None:
    """Cards said "0.000 (0.000 … 10) %" and "at least", and the reasons stood in tables far below."""
    open_loss = Quantity(value=0.0, unit="%", interval=Interval(lower=0.0, upper=9.6), covers="resolution")
    loads = {
        "offered": Quantity(value=5e5, unit="frames/s"),
        "load": Quantity(value=100.0, unit="%", uncertainty=0.0),
    }
    bound = Quantity(value=5e5, unit="frames/s", bound="at least")
    results = [
        Result(
            measurement="throughput",
            rows=[
                Row(frame_bytes=size, figures={"throughput": bound}, remark="limited by the tester") for size in SIZES
            ],
        ),
        Result(
            measurement="loss",
            rows=[
                Row(frame_bytes=SIZES[0], figures=loads | {"loss": open_loss}, remark=STOPPED_WITHOUT_LOSS),
                Row(
                    frame_bytes=SIZES[1],
                    figures=loads | {"loss": open_loss.model_copy(update={"interval": None})},
                ),
            ],
        ),
    ]
    run = replace(host_run(), results=results)
    assert device_answer(devices([run])[0]).notes == [
        "Throughput: limited by the tester.",
        f"Frame loss rate at {SIZES[0]} byte: {STOPPED_WITHOUT_LOSS}.",
    ]
    page = page_of([run])
    assert "the host disturbed the tester: a loss of up to 10 % may have gone unnoticed." in page
    assert page.index("Throughput: limited by the tester.") < page.index(STOPPED_WITHOUT_LOSS) < page.index("<svg")


def test_a_latency_that_is_hardly_known_is_said_as_a_bound() -> None:
    """A card said "99.9 % within 0 ms" of a percentile of 0.17 ms with an uncertainty of 3.3 ms."""
    run = host_run()
    latency = next(result for result in run.results if result.measurement == "latency")
    vague = {"mean": ns(48_000, 72_000), "p99.9": ns(173_000, 3_271_000)}
    rows = [row.model_copy(update={"figures": row.figures | vague}) for row in latency.rows]
    said = " ".join(summary(devices([replace(run, results=[latency.model_copy(update={"rows": rows})])])[0]))
    assert "A frame takes at most 120 µs at 64 byte (99.9 % within 3.444 ms)" in said, said


def test_a_line_does_not_bridge_a_size_that_was_not_measured() -> None:
    plot = throughput_plot(devices([bounded_run(), router_run()]))
    assert plot is not None
    measured, other = (trace for trace in plot.traces if trace.get("name") in ("Linux bridge", "Linux router"))
    line, unbroken = (trace["y"] for trace in plot.traces if "name" not in trace)
    assert None in line and None not in unbroken
    assert measured["x"] == SIZES and measured["y"][SIZES.index(512)] is None and None not in other["y"]
    symbols = measured["marker"]["symbol"]
    assert [size for size, symbol in zip(SIZES, symbols, strict=True) if symbol == "triangle-up-open"] == [128]
    assert measured["error_y"]["array"][SIZES.index(128)] == 0 < measured["error_y"]["array"][0]
    assert names(plot).count("at least: only a bound is known") == 1
    plain = throughput_plot(devices([router_run()]))
    assert plain is not None and not [name for name in names(plain) if "bound" in name]


def test_the_loss_at_a_load_that_the_tester_failed_is_a_gap() -> None:
    run = host_run()
    rows = [
        row.model_copy(update={"figures": {name: one for name, one in row.figures.items() if name != "loss"}})
        if row.frame_bytes == 64 and row.figures["load"].value == 60
        else row
        for row in run.results[2].rows
    ]
    results = [*run.results[:2], run.results[2].model_copy(update={"rows": rows}), *run.results[3:]]
    plot = loss_plot(devices([replace(run, results=results)]))
    assert plot is not None
    trace = next(trace for trace in plot.traces if trace["name"] == "64 byte")
    assert trace["y"][trace["x"].index(60.0)] is None and None not in [trace["y"][0], trace["y"][-1]]


def test_no_theoretical_loss_is_drawn_of_a_throughput_that_is_only_a_bound() -> None:
    plot = loss_plot(devices([bounded_run()]))
    assert plot is not None
    assert "64 byte: 1 − throughput/load" in names(plot)
    assert not [name for name in names(plot) if name.startswith(("128 byte: 1", "512 byte: 1"))]


def test_a_terminal_gets_tables_and_a_file_plain_lines() -> None:
    run = host_run()
    plain, coloured = StringIO(), StringIO()
    print_results(run.results, Console(file=plain, width=40))
    lines = plain.getvalue().splitlines()
    assert lines[0] == "Throughput"
    assert lines[1].split()[:3] == ["Frame", "size", "Throughput"] and lines[2].split()[:2] == ["byte", "kframes/s"]
    assert re.match(r"64 +806 ± 3 ", lines[3])
    assert "deviation: §26.1: final trial once" in lines
    assert "\x1b" not in plain.getvalue()
    print_results(run.results, Console(file=coloured, width=160, force_terminal=True))
    assert "\x1b" in coloured.getvalue() and "806 ± 3" in coloured.getvalue()


def test_the_plan_is_toml_that_says_the_same(tmp_path: Path) -> None:
    plan = host_run().plan
    directory = RunDirectory.create(tmp_path, "device", plan | {"resume": None}, {})
    assert directory.plan == RunDirectory.open(tmp_path).plan == plan
    shown = re.search(r"<pre>(.*?)</pre>", page_of([host_run()]), re.S)
    assert shown is not None
    assert tomllib.loads(unescape(shown[1])) == {"measurement": "device", **plan}
