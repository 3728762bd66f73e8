"""The page of a clock's or path's measurement in a real browser: every plot drawn, no error, not one request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from support.chromium import drawn, opened
from support.power_law_clocks import power_law_phase

from keisoku.ground.entry import Findings
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement.carry_out import page
from keisoku.subjects.clock.stability.analysis import NAME, TAU_GROUP, Clock, stability
from keisoku.subjects.clock.stability.phase_log import from_phase
from keisoku.subjects.clock.stability.plot import LOGGED, stability_plots


def page_of_a_clock(folder: Path) -> tuple[str, int]:
    """A clock that stepped, and how many averaging times have an ADEV."""
    phase = 1e-9 * power_law_phase(0, 20_000, np.random.default_rng(1)) + 1e-8 * np.arange(20_000)
    phase[12_000:] += 1e-5
    log = from_phase(phase, 1.0)
    found = stability(log, Clock("crystal", "caesium", 1.0))
    directory = RunDirectory.create(folder / "run", NAME, {"every_s": 1.0}, {"host": "here"})
    html = page([(directory, Findings([found], stability_plots(found, log, 1.0)))])
    return html, sum("adev" in row.figures for row in found.groups()[TAU_GROUP])


def test_a_clocks_page_is_drawn_without_errors_and_requests(browser: Any, tmp_path: Path) -> None:
    html, taus = page_of_a_clock(tmp_path)
    path = tmp_path / "report.html"
    requests = opened(browser, path, html)
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert drawn(browser, "allan")["curves"] >= 3 + 3  # with the guides
    assert drawn(browser, "allan")["points"] >= 2 * taus
    # The intervals of a trace are the upright steps of one path.
    bars = "return [...document.querySelectorAll('#plot-allan .wide .error')].map(e => e.getAttribute('d')).join('')"
    assert browser.execute_script(bars).count("V") >= 2 * taus
    assert drawn(browser, "drift")["curves"] >= 2
    select = browser.find_element(By.CSS_SELECTOR, "[data-for='drift'] select")
    Select(select).select_by_visible_text(LOGGED)
    assert drawn(browser, "drift")["curves"] >= 2
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.get_log("browser") == []
