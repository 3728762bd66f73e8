"""The page of `keisoku serve` in a real browser: started by keyboard, seen running, reported, compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(Listening("127.0.0.1", 0, None), Controller(0, tmp_path / "served")) as found:
        yield found


def until(browser: Any, script: str) -> Any:
    return WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(f"return {script}"))


def started(browser: Any, server: Server, device: str) -> None:
    """Fills in the form with keys alone, and waits for the end of the run."""
    browser.get(server.page)
    field = browser.find_element(By.ID, "dut")
    field.send_keys(device)
    Select(browser.find_element(By.ID, "methods")).select_by_value("throughput")
    browser.find_element(By.ID, "sizes").send_keys("64, 512")
    further = browser.find_element(By.ID, "further")
    further.send_keys("throughput.trial_s = 0.05", Keys.TAB)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until(browser, "document.querySelector('.badge.finished') !== null")


def test_a_measurement_is_started_seen_reported_and_compared(browser: Any, server: Server) -> None:
    browser.get_log("browser")
    started(browser, server, "sim:gs908e")
    started(browser, server, "sim:catalyst2960g")
    browser.get(f"{server.url}/")
    boxes = browser.find_elements(By.CSS_SELECTOR, "input[name='run']")
    assert len(boxes) == 2
    for box in boxes:
        box.send_keys(Keys.SPACE)
    browser.find_element(By.ID, "compare-chosen").send_keys(Keys.ENTER)
    until(browser, "document.documentElement.dataset.drawn")
    assert "gs908e" in browser.page_source and "2960" in browser.page_source
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_is_no_wider_than_the_window(browser: Any, server: Server, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(server.page)
        assert not browser.find_elements(By.ID, "compare-chosen"), "there are no runs yet"
        # A telephone's window grows with what is too wide for it.
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        unnamed = """return [...document.querySelectorAll('input, select, textarea, button')]
            .filter((each) => !each.labels?.length && !each.ariaLabel && !each.textContent.trim()).length"""
        assert browser.execute_script(unnamed) == 0
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_the_key_nothing_can_be_started(browser: Any, server: Server) -> None:
    browser.delete_all_cookies()
    browser.get(f"{server.url}/")
    assert not browser.find_elements(By.ID, "measurement")
    assert "read-only" in browser.page_source
