"""The page of a run that is no device's: it holds all, and loads nothing."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from support.path_result import RESULT

from keisoku.ground.entry import Findings
from keisoku.ground.report.answer import MOST_ROWS, answer
from keisoku.ground.report.page import render
from keisoku.ground.report.plot import Plot, Trace, axis, hover
from keisoku.ground.report.svg import svg
from keisoku.ground.report.svg_points import columns, dots, limit, thinned
from keisoku.ground.report.verdict import judgement
from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.measurement.carry_out import page


def shown(folder: Path, plots: list[Plot]) -> str:
    context = {"kernel": "6.1", "started_at": "2026-11-21T20:00:00"}
    directory = RunDirectory.create(folder / str(len(plots)), RESULT.measurement, {"host": "h"}, context)
    return page([(directory, Findings([RESULT], plots))])


def rate_plot() -> Plot:
    plot = Plot("rate", "Rate", {"xaxis": axis("x"), "yaxis": axis("y")}, [])
    plot.add({"x": [1, 2], "y": [2, 3]})
    return plot


def test_the_page_holds_all_and_loads_nothing(tmp_path: Path) -> None:
    plot = rate_plot()
    html = shown(tmp_path, [plot])
    for said in (
        "Path to &lt;192.0.2.1&gt;",
        "token-bucket",
        "15\u202f000 byte",
        "98.0 … 103.0",
        "mixed paths",
        "rate limit met",
        "6.1",
        "21 November 2026, 20:00 UTC",
        "plot-rate",
        "keisoku analyse",
        "measurement = &#34;path one-packet&#34;",
    ):
        assert said in html
    assert "default-src 'none'" in html
    markup = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert not re.search(r"(src|href)=\"(?!#|data:)|@import|url\(", markup)
    with pytest.raises(ValueError, match="different names"):
        shown(tmp_path, [plot, plot])
    assert len(html) < 60_000


def test_plots_of_runs_side_by_side_have_a_name_each(tmp_path: Path) -> None:
    runs = [
        (RunDirectory.create(tmp_path / name, RESULT.measurement, {"host": name}, {}), Findings([RESULT], [plot]))
        for name, plot in (("one", rate_plot()), ("other", rate_plot()))
    ]
    named = re.findall(r'id="(plot-[^"]*)"', page(runs))
    assert len(named) == len(set(named)) == 2


def test_the_title_of_several_runs_names_what_was_measured(tmp_path: Path) -> None:
    """It named the folders of the runs."""
    bare = RESULT.model_copy(update={"title": ""})
    runs = [
        (RunDirectory.create(tmp_path / folder, RESULT.measurement, {"host": host}, {}), Findings([bare], []))
        for folder, host in (("folder-1", "192.0.2.1"), ("folder-2", "192.0.2.2"))
    ]
    (said,) = re.findall("<h1>(.*)</h1>", page(runs))
    assert said == "path one-packet, 192.0.2.1, path one-packet, 192.0.2.2"


def test_a_page_needs_a_run() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        render([])


def test_a_table_and_a_picture_say_what_they_are(tmp_path: Path) -> None:
    html = shown(tmp_path, [rate_plot()])
    assert not re.search(r"<th(?! scope)[ >]", html)
    assert html.count("<table") == html.count("<caption")
    assert html.count("<svg") == html.count('role="img" aria-label="Rate"') == 2


def test_a_plot_at_a_single_place_is_not_drawn_and_the_main_figure_is(tmp_path: Path) -> None:
    """A load with one number of connections had curves of one point on an axis without a width."""
    flat = Plot("flat", "Flat", {"xaxis": axis("x"), "yaxis": axis("y")}, [])
    flat.add({"x": [10], "y": [2]})
    html = shown(tmp_path, [flat])
    assert "plot-flat" not in html and 'class="plot"' in html


MANY = 100_000
NOISE = [random.Random(place).random() for place in range(MANY)]
CROWDS: dict[str, list[Trace]] = {
    "lines": [{"y": NOISE, "mode": "lines"}],
    "dots": [{"y": NOISE, "mode": "markers"}],
    "titled": [{"y": NOISE, "mode": "lines+markers", "text": [hover("device", str(value)) for value in NOISE]}],
    "errors": [{"y": NOISE, "mode": "markers", "error_y": {"array": NOISE}}],
    "bars": [{"y": NOISE, "type": "bar"}],
    "names": [{"x": [str(place) for place in range(MANY)], "y": NOISE, "mode": "markers"}],
    "curves": [
        {"x": list(range(place, MANY, 20)), "y": NOISE[place::20], "mode": "lines+markers"} for place in range(20)
    ],
    "clouds": [{"x": list(range(place, MANY, 100)), "y": NOISE[place::100], "mode": "markers"} for place in range(100)],
}


@pytest.mark.parametrize(("crowd", "most_elements", "most_kb"), [
    ("lines", 50, 100), ("dots", 50, 150), ("titled", 150, 200), ("errors", 50, 150), ("bars", 50, 100),
    ("names", 70, 250), ("curves", 130, 1400), ("clouds", 250, 1500),
])  # fmt: skip
def test_a_hundred_thousand_points_make_a_small_page_that_says_so(
    tmp_path: Path, crowd: str, most_elements: int, most_kb: float
) -> None:
    """Chromium needs ten seconds for as many elements of a page, and a second for a few hundred."""
    many = Plot("many", "Many", {"xaxis": axis("x"), "yaxis": axis("y")}, [])
    if crowd == "names":
        many.axes["xaxis"] = {"type": "category"}
    for trace in CROWDS[crowd]:
        many.add({"x": list(range(MANY)), **trace})
    html = shown(tmp_path, [many])
    assert len(re.findall("<(path|circle|rect|text|polygon)", html)) < most_elements
    assert len(html) < most_kb * 1000
    assert html.count("100\u202f000 points; those on the same pixels are drawn once.") == 2  # wide and narrow


def test_what_is_drawn_of_many_points_covers_the_pixels_of_all() -> None:
    places = [(place / 1000, value) for place, value in enumerate(NOISE)]
    kept = [place for place in thinned(places) if place]
    spans = columns([(x, y, y + 1) for x, y in places])
    assert len(kept) <= 4 * 101 and len(spans) == 101
    columns_of: dict[int, list[float]] = {}
    for x, y in places:
        columns_of.setdefault(round(x), []).append(y)
    for column, low, high in spans:
        own = columns_of[round(column)]
        assert (low, high) == (min(own), max(own) + 1)
        assert {min(own), max(own)} <= {y for x, y in kept if x == column}
    cloud = dots([(x, 100 * y) for x, y in places], 4, "")
    squares: set[tuple[int, int]] = set()
    for row in re.findall(r"M[^M\"]*", cloud):
        x, y = (int(value) for value in re.findall(r"M(\d+) (\d+)", row)[0])
        for step, length in re.findall(r"([hm])(\d+)", row):
            squares |= {(x + on, y) for on in range(0, int(length) + 1, 2)} if step == "h" else set()
            x += int(length)
    assert squares == {(2 * round(x / 2), 2 * round(100 * y / 2)) for x, y in places}


def test_a_picture_of_few_points_shows_each() -> None:
    assert limit([1500, 10]) == 1500 and limit([100] * 100) == 60 and "points;" not in svg(rate_plot())


@pytest.mark.parametrize(
    ("figure", "invalid", "said"),
    [
        (Quantity(value=1, unit="ns", uncertainty=0.1), "", "measured"),
        (Quantity(value=1, unit="ns", uncertainty=0.1, covers="resolution"), "", "single run"),
        (Quantity(value=1, unit="ns", bound="at least"), "", "lower bound"),
        (Quantity(value=1, unit="ns", bound="at most"), "", "upper bound"),
        (Quantity(value=1, unit="ns"), "", "uncertainty unknown"),
        (Quantity(value=1, unit="ns", uncertainty=0.1), "the tester dropped frames", "invalid"),
        (None, "", "not measured"),
    ],
)
def test_the_first_screen_says_how_well_each_figure_is_known(figure: Quantity | None, invalid: str, said: str) -> None:
    row = Row(frame_bytes=64, figures={"mean": figure} if figure else {}, invalid=invalid, remark="given up")
    known = Row(frame_bytes=128, figures={"mean": Quantity(value=1, unit="ns", uncertainty=1.0)})
    found = answer([Result(measurement="latency", rows=[row, known])], {"latency": "mean"})
    table = found.tables[0]
    at = next(place for place, (where, _) in enumerate(table.rows) if where == "64 byte")
    assert table.known[at][1].how == said and table.known[1 - at][1].how == "measured"
    assert table.alike(1) == ("measured" if said == "measured" else "")
    assert dict(found.states)[said] == 1 + (said == "measured")
    shown = {"": "1.00 ns", "at least": "≥ 1 ns", "at most": "≤ 1 ns"}[figure.bound] if figure else "given up"
    assert table.rows[at][1].rstrip("†§") in (shown, "1.00§ ns", "1† ns")
    assert table.known[at][1].interval == ("± 0.10 ns" if figure and figure.uncertainty else "")


def test_rows_that_were_not_measured_for_one_reason_are_one_row() -> None:
    """Seven sizes repeated one sentence, which filled the first screen."""
    rows = [Row(frame_bytes=size, figures={}, remark="not exercised") for size in range(64, 71)]
    known = Row(frame_bytes=128, figures={"burst": Quantity(value=1, unit="frames", uncertainty=0)})
    found = answer([Result(measurement="back_to_back", rows=[*rows, known])], {"back_to_back": "burst"})
    assert [row[1] for row in found.tables[0].rows] == ["1‡ frames", "not exercised"]
    assert found.tables[0].rows[1][0].endswith("69 byte and 1 more") and ("not measured", 7) in found.states


@pytest.mark.parametrize(
    ("said", "word", "text"),
    [
        ([], "No criterion", "nothing here passes or fails"),
        (["met", "met"], "PASS", "All 2 criteria are met."),
        (["met"], "PASS", "1 criterion is met."),
        (["missed"], "FAIL", "criterion 0 is missed (measured: 1.00 ± 0.10 ns)."),
        (["met", "undecided", "missed"], "FAIL", "2 of 3 criteria are not met; criterion 1 is undecided"),
    ],
)
def test_the_first_line_says_pass_or_fail(said: list[str], word: str, text: str) -> None:
    verdicts = [
        Verdict(
            f"criterion {n}",
            each == "met",
            Quantity(value=1, unit="ns", uncertainty=0.1),
            "open" * (each == "undecided"),
        )
        for n, each in enumerate(said)
    ]
    found = judgement(verdicts)
    assert found.word == word and text in found.text
    assert found.kind == {"PASS": "good", "FAIL": "bad"}.get(word, "")


def test_rows_beyond_the_first_screen_are_counted() -> None:
    rows = [Row(case=str(number), figures={"mean": Quantity(value=number, unit="ns")}) for number in range(40)]
    found = answer([Result(measurement="latency", rows=rows)], {"latency": "mean"})
    assert len(found.tables[0].rows) == MOST_ROWS and found.more == 40 - MOST_ROWS
