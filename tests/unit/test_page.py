"""The page of a run that is no device's: it holds all, and loads nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.path_result import RESULT

from keisoku.measurement.carry_out import page
from keisoku.measurement.entry import Findings
from keisoku.report.page import render
from keisoku.report.plot import Plot, axis
from keisoku.run.directory import RunDirectory


def shown(folder: Path, plots: list[Plot]) -> str:
    context = {"kernel": "6.1", "started_at": "2026-11-21T20:00:00"}
    directory = RunDirectory.create(folder / str(len(plots)), RESULT.measurement, {"host": "h"}, context)
    return page([(directory, Findings([RESULT], plots))])


def test_the_page_holds_all_and_loads_nothing(tmp_path: Path) -> None:
    plot = Plot("rate", "Rate", {"xaxis": axis("x"), "yaxis": axis("y")}, [])
    plot.add({"x": [1], "y": [2]})
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
    assert "plotly.js v" in html and "plotly.js v" not in shown(tmp_path, [])


def test_plots_of_runs_side_by_side_have_a_name_each(tmp_path: Path) -> None:
    runs = [
        (RunDirectory.create(tmp_path / name, RESULT.measurement, {"host": name}, {}), Findings([RESULT], [plot]))
        for name, plot in (("one", Plot("rate", "Rate", {})), ("other", Plot("rate", "Rate", {})))
    ]
    named = re.findall(r'id="(plot-[^"]*)"', page(runs))
    assert len(named) == len(set(named)) == 2


def test_a_page_needs_a_run() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        render([])
