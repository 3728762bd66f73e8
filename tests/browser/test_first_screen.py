"""Every kind of page, in light and dark, on a desk and on a telephone: nothing empty, nothing too wide, no error."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from support.chromium import opened
from support.path_result import RESULT
from support.synthetic_runs import host_run, page_of, router_run, sweep_run

from keisoku.measurement.carry_out import page
from keisoku.measurement.entry import Findings
from keisoku.measurement.table import DEVICE, MODULES, OF_RUNS
from keisoku.run.directory import RunDirectory

EMPTY = """return {
    plots: [...document.querySelectorAll('.plot')].filter((plot) =>
        ![...plot.querySelectorAll('.curve, .point, .points, rect')].some((each) => each.getBoundingClientRect().height
            + each.getBoundingClientRect().width > 0)).map((plot) => plot.id),
    cards: [...document.querySelectorAll('.card .verdict')].filter((said) => said.textContent.trim() === '').length,
    heads: document.querySelectorAll('th:not([scope])').length,
    tables: document.querySelectorAll('table:not(:has(caption))').length,
    pictures: document.querySelectorAll('.plot svg:not([aria-label])').length,
    wide: document.documentElement.scrollWidth - window.innerWidth,
}"""
"""What a page must not have."""
CONTRAST = """
const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((each) => each / 255)
        .map((each) => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const paper = (node) => { for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if (!colour.endsWith(', 0)')) return colour; } return 'rgb(255, 255, 255)'; };
return Math.min(...[...document.querySelectorAll('h1, h2, h3, p, th, td, a, .badge, figcaption, summary')]
    .filter((each) => each.textContent.trim()).map((each) => {
        const [one, other] = [light(getComputedStyle(each).color), light(paper(each))].sort((a, b) => b - a);
        return (one + 0.05) / (other + 0.05); }));"""


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
    try:
        for scheme in ("light", "dark"):
            features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
            for width in (390, 1400):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                opened(browser, tmp_path / "report.html", html)
                found = browser.execute_script(EMPTY)
                assert found.pop("wide") <= 0, (scheme, width)
                assert not any(found.values()), (scheme, width, found)
                assert browser.execute_script(CONTRAST) >= 4.5, (scheme, width)
                assert browser.find_elements(By.CSS_SELECTOR, "#summary .card")
                assert browser.get_log("browser") == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_summary_prints_on_two_pages_of_either_paper(browser: Any, tmp_path: Path) -> None:
    """Everything else follows as appendices, on pages of its own."""
    opened(browser, tmp_path / "report.html", page_of([host_run(), router_run()]))
    script = "document.querySelectorAll('main > section:not(#summary), footer').forEach((each) => each.remove())"
    browser.execute_script(script)
    for width, height in ((8.27, 11.69), (8.5, 11.0)):
        answer = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": width, "paperHeight": height})
        assert base64.b64decode(answer["data"]).count(b"/Type /Page\n") <= 2
