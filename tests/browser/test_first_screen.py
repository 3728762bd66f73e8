"""Every kind of page, in light and dark, on a desk and on a telephone: nothing empty, nothing too wide, no error."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.chromium import looked_at, opened
from support.path_result import RESULT
from support.synthetic_runs import host_run, page_of, router_run, sweep_run

import keisoku as ks
from keisoku.faces.cli.main import keisoku
from keisoku.ground.entry import Findings
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement.carry_out import findings_of, page
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import MODULES, OF_RUNS


def of_measurement(folder: Path, name: str) -> str:
    """A page of rows under the name of any measurement that has no layout of its own."""
    directory = RunDirectory.create(folder / name, RESULT.measurement, {"host": name}, {"host": "h"})
    result = RESULT.model_copy(update={"measurement": name})
    return page([(directory, Findings([result], []))])


KINDS = ["two devices", "a sweep", *(name for name in MODULES if name not in (DEVICE, *OF_RUNS))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_whole_everywhere(browser: Any, tmp_path: Path, kind: str) -> None:
    made = {"two devices": lambda: page_of([host_run(), router_run()]), "a sweep": lambda: page_of([sweep_run()])}
    html = made[kind]() if kind in made else of_measurement(tmp_path, kind)
    path = tmp_path / "report.html"
    path.write_text(html, encoding="utf-8")
    looked_at(browser, path)


def test_the_summary_prints_on_two_pages_of_either_paper(browser: Any, tmp_path: Path) -> None:
    """Everything else follows as appendices, on pages of its own."""
    opened(browser, tmp_path / "report.html", page_of([host_run(), router_run()]))
    script = "document.querySelectorAll('main > section:not(#summary), footer').forEach((each) => each.remove())"
    browser.execute_script(script)
    for width, height in ((8.27, 11.69), (8.5, 11.0)):
        answer = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": width, "paperHeight": height})
        assert base64.b64decode(answer["data"]).count(b"/Type /Page\n") <= 2


def test_a_pdf_has_two_pages_to_sign_and_every_choice_of_a_menu_behind_them(tmp_path: Path) -> None:
    """Menus printed only 64 byte, and budgets were in the middle."""
    run = tmp_path / "run"
    ks.measure("rfc2544", dut="sim:gs908e", frame_bytes=(64, 512, 1518), profile="quick", out=run)
    found = CliRunner().invoke(keisoku, ["export", str(run), "--format", "pdf", "--out", str(tmp_path / "run.pdf")])
    assert found.exit_code == 0, found.output
    pdf = (tmp_path / "run.pdf").read_bytes()
    pages = len(re.findall(rb"/Type /Page\b(?!s)", pdf))
    assert pdf.startswith(b"%PDF-") and 5 < pages < 25
    html = page([(RunDirectory.open(run), findings_of(RunDirectory.open(run)))], paper=True)
    for choice in ("64 byte", "512 byte", "1518 byte"):
        assert html.count(f"<p>{choice}</p>") >= 2  # of the histogram and of the loss
    assert html.index('id="summary"') < html.index('class="signatures"') < html.index('id="throughput"')
    assert html.index('id="deviations"') < html.index('class="budget" open')


def test_the_right_half_of_the_first_screen_is_not_empty(browser: Any, tmp_path: Path) -> None:
    """The plot of a page was below all cards, and nothing was beside these."""
    size = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        opened(browser, tmp_path / "report.html", page_of([host_run(), router_run()]))
        place = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
        card, plot = (browser.execute_script(place, each) for each in ("#summary .card", "#summary .plot svg"))
        assert plot["left"] > card["right"] and plot["right"] > 1300 and plot["bottom"] < 900
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
