"""The report in a real browser, from a file: every plot drawn, no error, not one request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait
from support.chromium import drawn, opened
from support.synthetic_runs import host_run, page_of, router_run, sweep_run

import keisoku as ks
from keisoku.running.measurement.carry_out import findings_of, page


def shown_by(browser: Any, plot: str) -> str:
    return str(browser.execute_script(f"return document.querySelector('#plot-{plot} .wide').innerHTML"))


def until(browser: Any, plot: str, state: str) -> None:
    """Until the picture of a changed state, which the page unpacks, is there."""
    script = f"return document.getElementById('plot-{plot}').dataset.state || ''"
    WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(script).endswith(state))


def test_two_devices_are_drawn_without_errors_and_requests(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    requests = opened(browser, path, page_of([host_run(), router_run()]))
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert browser.get_log("browser") == []
    assert drawn(browser, "throughput")["curves"] == 3
    assert drawn(browser, "throughput")["points"] == 14 + 2  # and those of the legend
    assert drawn(browser, "latency-size")["curves"] == 6
    assert drawn(browser, "latency-histogram")["curves"] == 2
    assert drawn(browser, "loss")["points"] == 12
    assert drawn(browser, "time")["points"] == 80
    for plot in browser.find_elements(By.CSS_SELECTOR, ".plot .wide"):
        titles = [title.text for title in plot.find_elements(By.CSS_SELECTOR, "text.title")]
        assert len(titles) >= 2 and all(titles)


def test_a_page_of_a_device_and_of_clocks_is_drawn_without_errors(browser: Any, tmp_path: Path) -> None:
    """A button of the clock's plot once named no axis, which kept every plot of the page from being drawn."""
    runs = []
    for name in ("one", "other"):
        found = ks.measure("clock cost", reads=500, rounds=50, stall_scan_s=0.005, out=tmp_path / name)
        runs.append((found.outcome.directory, findings_of(found.outcome.directory)))
    device = ks.measure("throughput", dut="sim:gs908e", frame_bytes=64, trial_s=0.05, out=tmp_path / "device")
    runs.append((device.outcome.directory, findings_of(device.outcome.directory)))
    opened(browser, tmp_path / "report.html", page(runs))
    plots = browser.find_elements(By.CSS_SELECTOR, ".plot")
    assert len(plots) == 3  # the search for one throughput at line rate is a single trial
    for plot in plots:
        assert any(drawn(browser, str(plot.get_attribute("id")).removeprefix("plot-")).values())
    for button in browser.find_elements(By.CSS_SELECTOR, "[data-scale]"):
        button.click()
    assert browser.get_log("browser") == []


def test_nothing_is_wider_than_the_window(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path / "report.html", page_of([host_run(), router_run()]))
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_controls_change_what_is_drawn(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path / "report.html", page_of([host_run()]))
    assert drawn(browser, "latency-histogram")["curves"] == 7
    controls = browser.find_element(By.CSS_SELECTOR, "[data-for='latency-histogram']")
    Select(controls.find_element(By.TAG_NAME, "select")).select_by_visible_text("1518 byte")
    until(browser, "latency-histogram", ":1")
    assert drawn(browser, "latency-histogram")["curves"] == 1
    button = controls.find_element(By.CSS_SELECTOR, "[data-scale='xaxis']")
    assert button.get_attribute("aria-pressed") == "true"
    logarithmic = shown_by(browser, "latency-histogram")
    button.click()
    until(browser, "latency-histogram", ":0")
    assert button.get_attribute("aria-pressed") == "false" and shown_by(browser, "latency-histogram") != logarithmic
    whole = shown_by(browser, "loss")
    browser.find_element(By.CSS_SELECTOR, "[data-for='loss'] [data-zoom]").click()
    until(browser, "loss", ":1")
    assert shown_by(browser, "loss") != whole
    assert browser.get_log("browser") == []


def test_a_sweep_is_drawn_with_line_residuals_and_drops_in_dark(browser: Any, tmp_path: Path) -> None:
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    run = sweep_run()
    opened(browser, tmp_path / "report.html", page_of([run]))
    found = drawn(browser, "sweep-size")
    assert run.results[0].line is not None
    fitted, sizes = len(run.results[0].line.points), len(run.results[0].rows)
    assert found["points"] == 2 * fitted + sizes + 1  # that of the legend
    background = "return getComputedStyle(document.body).backgroundColor"
    assert browser.execute_script(background) == "rgb(20, 23, 27)"
    assert browser.get_log("browser") == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_what_users_name_runs_no_script(browser: Any, tmp_path: Path) -> None:
    name = "</script><script>document.title='broken'</script><img src=x onerror=alert(1)>"
    path = tmp_path / "report.html"
    requests = opened(browser, path, page_of([host_run(name=name)]))
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert browser.title.startswith("</script>")
