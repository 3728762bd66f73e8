"""A page in a real browser, from a file: opened, waited for, asked what it asked for and what it drew."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
EMPTY = """return {
    plots: [...document.querySelectorAll('.plot')].filter((plot) =>
        ![...plot.querySelectorAll('.curve, .point, .points, rect')].some((each) => each.getBoundingClientRect().height
            + each.getBoundingClientRect().width > 0)).map((plot) => plot.id),
    cards: [...document.querySelectorAll('.card .verdict')].filter((said) => said.textContent.trim() === '').length,
    heads: document.querySelectorAll('th:not([scope])').length,
    tables: document.querySelectorAll('table:not(:has(caption))').length,
    pictures: document.querySelectorAll('.plot svg:not([aria-label])').length,
    width: document.documentElement.scrollWidth,
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
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--window-size=1280,1000",
)


def started(profile: Path) -> Any:
    """A browser without a window, with a profile of its own; the caller ends it."""
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(str(DRIVER)))


def looked_at(browser: Any, path: Path) -> None:
    """Asserts that a page is whole in light and dark, on a desk and on a telephone."""
    try:
        for scheme in ("light", "dark"):
            features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
            for width in (390, 1400):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                shown(browser, path)
                found = browser.execute_script(EMPTY)
                # The window of a telephone grows with what is too wide for it, so it cannot be asked.
                assert found.pop("width") <= width, (scheme, width)
                assert not any(found.values()), (scheme, width, found)
                assert browser.execute_script(CONTRAST) >= 4.5, (scheme, width)
                assert browser.find_elements(By.CSS_SELECTOR, "#summary .card")
                assert browser.get_log("browser") == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def opened(browser: Any, path: Path, html: str) -> list[str]:
    """Shows a page that is written to `path` first."""
    path.write_text(html, encoding="utf-8")
    return shown(browser, path)


def shown(browser: Any, path: Path) -> list[str]:
    """Opens the page, waits until its plots are drawn, and returns every address asked for.

    What the browser's own first tab asks of the browser itself is left out: it may still load when the page opens.
    """
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(path.as_uri())
    WebDriverWait(browser, 60).until(
        lambda driver: driver.execute_script("return document.documentElement.dataset.drawn")
    )
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    return [each["request"]["url"] for each in sent if not each["documentURL"].startswith("chrome://")]


def drawn(browser: Any, plot: str) -> dict[str, int]:
    """How many curves and points of a plot are on the page and have a size."""
    script = """
        const seen = (selector) => [...document.querySelectorAll('#plot-' + arguments[0] + ' ' + selector)]
            .filter((node) => node.getBBox().width + node.getBBox().height > 0).length;
        return { curves: seen('path.curve'), points: seen('.point'), bars: seen('rect') };
    """
    return dict(browser.execute_script(script, plot))
