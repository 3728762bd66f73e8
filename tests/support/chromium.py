"""A page in a real browser, from a file: opened, waited for, asked what it asked for and what it drew."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
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


def opened(browser: Any, path: Path, html: str) -> list[str]:
    """Opens the page, waits until its plots are drawn, and returns every address asked for.

    What the browser's own first tab asks of the browser itself is left out: it may still load when the page opens.
    """
    path.write_text(html, encoding="utf-8")
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
