"""The page of `keisoku serve` in a real browser: what people come for, done without a command or a plan file."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from support.chromium import CONTRAST

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening
from keisoku.faces.otg.serving.server import Server as OtgServer
from keisoku.faces.service.web import places
from keisoku.faces.service.web.form import every_entry
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.running.measurement.table import MODULES
from keisoku.subjects.device.testbed.host_port_list import HostPort

HERE = Place("127.0.0.1")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OtgServer]:
    with OtgServer(Listening("127.0.0.1", 0, None), Controller(0, tmp_path / "served")) as found:
        yield found


@pytest.fixture
def page(browser: Any, server: OtgServer) -> Any:
    """The browser at the page, opened with its key; no error may have been logged at the end."""
    # Those of every page: the browser stands at an empty one, which has none of its own.
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    browser.get_log("browser")
    browser.get(server.page)
    yield browser
    said = browser.get_log("browser")
    # A page asks its server again and again; the server ends now, and the next test has another one.
    browser.get("about:blank")
    assert [each for each in said if " 400 " not in each["message"]] == []


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Ports of the far ends at the loopback, by the measurements that need one."""
    with ExitStack() as stack:
        files = str(tmp_path_factory.mktemp("came"))
        streams, capacity = stack.enter_context(FarEnd("stream", HERE, "--files", files, "--capacity=0")).ports
        train = str(stack.enter_context(FarEnd("path", HERE)).port)
        mesh = stack.enter_context(FarEnd("outage", Place("127.0.0.2"), "--mesh")).port
        stack.enter_context(FarEnd("outage", HERE, "--mesh", port=mesh))
        yield {
            **dict.fromkeys((name for name in MODULES if name.partition(" ")[0] in ("stream", "line")), str(streams)),
            "stream capacity": str(capacity),
            "path packet-pair": train,
            "path clocks": train,
            "path delay": str(stack.enter_context(FarEnd("reflect", HERE)).port),
            **dict.fromkeys(("outage udp", "outage tcp"), str(stack.enter_context(FarEnd("outage", HERE)).port)),
            "outage mesh": str(mesh),
        }


def until(page: Any, script: str) -> Any:
    return WebDriverWait(page, 60).until(lambda driver: driver.execute_script(f"return {script}"))


def text(page: Any, selector: str = "main") -> str:
    """Of the element, once it is there: a click does not wait until a form has been answered."""
    # In one step: the element may be replaced by a newer one at any time.
    script = "const found = document.querySelector(arguments[0]); return found && [found.innerText]"
    found: list[str] = WebDriverWait(page, 60).until(lambda driver: driver.execute_script(script, selector))
    return found[0]


def click(page: Any, words: str) -> None:
    """The link or button of these words."""
    path = f"//*[self::a or self::button or self::summary][contains(normalize-space(), '{words}')]"
    found = page.find_element(By.XPATH, path)
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
    found.click()


def write(page: Any, label: str, value: str) -> None:
    """Into the field of this label."""
    field = page.find_element(By.XPATH, f"//label[starts-with(normalize-space(), '{label}')]")
    where = page.find_element(By.ID, field.get_attribute("for"))
    where.clear()
    where.send_keys(value)


def choose(page: Any, label: str, value: str) -> None:
    """One of a list."""
    field = page.find_element(By.XPATH, f"//label[starts-with(normalize-space(), '{label}')]")
    Select(page.find_element(By.ID, field.get_attribute("for"))).select_by_value(value)


def throughput(page: Any, sizes: str, device: str = "sim:gs908e", trial: str = "50ms") -> None:
    """From any page to the end of a run."""
    click(page, "New measurement")
    click(page, "Throughput")
    choose(page, "Device", device)
    write(page, "Frame sizes", sizes)
    write(page, "Length of each trial", trial)
    click(page, "Start")
    until(page, "document.querySelector('h1 ~ #run .badge.finished') !== null")


def test_a_device_is_chosen_from_a_list_measured_and_reported(page: Any) -> None:
    throughput(page, "64, 512")
    assert "frames/s" in text(page)
    click(page, "Open the report")
    until(page, "document.documentElement.dataset.drawn")
    assert "GS908E" in page.page_source


def test_time_and_deviations_are_said_before_the_start(page: Any) -> None:
    click(page, "New measurement")
    click(page, "Latency")
    choose(page, "Device", "sim:gs908e")
    write(page, "Frame sizes", "64")
    write(page, "Length of each trial", "50ms")
    click(page, "Show time and deviations first")
    until(page, "document.activeElement.id === 'outline'")
    assert "RFC 2544" in text(page, "#outline") and "120 s" in text(page, "#outline")
    assert page.find_element(By.NAME, "frame_bytes").get_attribute("value") == "64"
    click(page, "Start")
    until(page, "document.querySelector('.badge.finished') !== null")


def test_a_mistake_is_beside_its_field_and_nothing_typed_is_lost(page: Any) -> None:
    click(page, "New measurement")
    click(page, "Throughput")
    choose(page, "Device", "sim:gs908e")
    write(page, "Frame sizes", "64, big")
    write(page, "Length of each trial", "50ms")
    click(page, "Trials and figures")
    write(page, "Random seed", "-1")
    click(page, "Start")
    until(page, "document.activeElement.id === 'mistakes'")
    wrong = page.find_element(By.ID, "f-frame_bytes")
    assert wrong.get_attribute("aria-invalid") == "true" and wrong.get_attribute("value") == "64, big"
    said = page.find_element(By.ID, "e-frame_bytes")
    assert "big" in said.text and 0 <= said.rect["y"] - wrong.rect["y"] < 200
    assert page.find_element(By.NAME, "seed").get_attribute("value") == "-1"
    write(page, "Frame sizes", "64")
    click(page, "Start")
    until(page, "document.getElementById('e-seed') !== null && document.getElementById('e-frame_bytes') === null")
    assert page.find_element(By.NAME, "seed").is_displayed(), "it is not folded away"
    write(page, "Random seed", "7")
    click(page, "Start")
    until(page, "document.querySelector('.badge.finished') !== null")


def test_ports_are_chosen_from_a_list_that_says_what_they_are(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def port(name: str, driver: str, routed: bool, native: bool, speed: int | None) -> HostPort:
        modes = ("native",) if native else None
        return HostPort(name, driver, "02:00:00:00:00:01", 1500, speed, True, not routed, routed, modes, {})

    ports = [port("up0", "e1000e", True, False, 1000), port("p1", "ixgbe", False, True, 10_000)]
    monkeypatch.setattr(places, "list_ports", lambda: [*ports, port("p2", "r8169", False, False, None)])
    click(page, "New measurement")
    click(page, "Latency")
    rows = [row.text for row in page.find_elements(By.CSS_SELECTOR, "#host-ports tbody tr")]
    assert "10 Gbit/s ixgbe xdp, afxdp, packet" in rows[0] and "unknown r8169" in rows[1]
    assert "carries this host's own traffic" in rows[2]
    assert not page.find_element(By.CSS_SELECTOR, "[name=tx][value=up0]").is_enabled()
    page.find_element(By.CSS_SELECTOR, "[name=tx][value=p1]").click()
    page.find_element(By.CSS_SELECTOR, "[name=rx][value=p2]").click()
    choose(page, "Engine", "packet")
    click(page, "Show time and deviations first")
    until(page, "document.getElementById('mistakes') !== null")
    assert "p1" in text(page, "#e-tx"), "there is no such interface on this host"
    assert page.find_element(By.CSS_SELECTOR, "[name=rx][value=p2]").is_selected()
    choose(page, "Device", "sim:gs908e")
    assert not page.find_element(By.ID, "host-ports").is_displayed()
    write(page, "Length of each trial", "50ms")
    write(page, "Frame sizes", "64")
    click(page, "Start")
    until(page, "document.querySelector('.badge.finished') !== null")


def test_a_run_is_watched_in_plots_and_ended(page: Any) -> None:
    click(page, "New measurement")
    click(page, "Throughput")
    choose(page, "Device", "sim:catalyst2960g")
    write(page, "Frame sizes", "64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79")
    write(page, "Length of each trial", "5min")
    click(page, "Start")
    until(page, "document.querySelectorAll('#run .plot .on-desk svg').length === 3")
    assert text(page, "#run .badge") == "running"
    labels = [svg.get_attribute("aria-label") for svg in page.find_elements(By.CSS_SELECTOR, ".plot .on-desk svg")]
    assert [label.partition(",")[0] for label in labels] == [
        "Rate",
        "Not arrived until now",
        "Mean latency of each trial",
    ]
    before = page.find_element(By.CSS_SELECTOR, ".plot .on-desk path.curve").get_attribute("d")
    until(page, f"document.querySelector('.plot .on-desk path.curve').getAttribute('d') !== {json.dumps(before)}")
    page.find_element(By.TAG_NAME, "body").send_keys("e")
    until(page, "document.querySelector('.badge.cancelled') !== null")


def test_runs_of_different_sizes_are_compared_by_keys(page: Any) -> None:
    throughput(page, "64, 512")
    throughput(page, "512, 1518", "sim:catalyst2960g")
    page.find_element(By.TAG_NAME, "body").send_keys("r")
    until(page, "document.querySelectorAll('input[name=run]').length === 2")
    for box in page.find_elements(By.CSS_SELECTOR, "input[name='run']"):
        box.send_keys(Keys.SPACE)
    page.find_element(By.TAG_NAME, "body").send_keys("c")
    until(page, "document.documentElement.dataset.drawn")
    assert "Only sizes that the runs have in common" in text(page, "#compare-throughput")
    sizes = [cell.text for cell in page.find_elements(By.CSS_SELECTOR, "#compare-throughput tbody tr > :first-child")]
    assert sizes and {*sizes} == {"512"}


def test_a_result_is_taken_away_in_every_form(page: Any, tmp_path: Path) -> None:
    throughput(page, "64")
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    beginnings = {"result.json": b"[", "throughput.csv": b"", "figures.parquet": b"PAR1", "report.pdf": b"%PDF-"}
    for name in beginnings:
        click(page, name)
    # A file may have its name before its content, which the browser keeps in a second file until it is whole.
    deadline_s = time.monotonic() + 60
    found: dict[str, Path] = {}
    arriving = True
    while arriving and time.monotonic() < deadline_s:
        files = list(tmp_path.iterdir())
        found = {name: path for name in beginnings for path in files if path.name.endswith(f"-{name}")}
        arriving = len(found) < len(beginnings) or any(path.suffix == ".crdownload" for path in files)
        arriving = arriving or not all(path.stat().st_size for path in found.values())
    assert found.keys() == beginnings.keys()
    for name, path in found.items():
        assert path.read_bytes().startswith(beginnings[name]) and path.stat().st_size > 100


def test_a_run_gets_a_name_and_a_note(page: Any) -> None:
    throughput(page, "64")
    write(page, "Name", "Switch in rack 3")
    write(page, "Note", "before the update")
    click(page, "Keep both")
    until(page, "document.querySelector('h1').textContent === 'Switch in rack 3'")
    click(page, "All runs")
    assert "Switch in rack 3" in text(page, ".runs") and "before the update" in text(page, ".runs")


def test_a_path_is_measured_to_a_host_that_is_typed(page: Any, far: dict[str, str]) -> None:
    click(page, "New measurement")
    page.find_element(By.CSS_SELECTOR, "[href='/web/new/path-delay']").click()
    click(page, "Start")
    assert "not given" in text(page, "#e-host")
    write(page, "Host at the other end", "127.0.0.1")
    write(page, "Port of the other end", far["path delay"])
    write(page, "Packets", "50")
    click(page, "Start")
    until(page, "document.querySelector('.badge.finished') !== null")
    assert "ms" in text(page) or "µs" in text(page)


def test_what_a_program_sends_is_watched(page: Any, server: OtgServer) -> None:
    def post(path: str, document: dict[str, Any]) -> None:
        request = urllib.request.Request(f"{server.url}{path}", json.dumps(document).encode())
        urllib.request.urlopen(request, timeout=60).read()

    flow = {
        "name": "voice",
        "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
        "size": {"choice": "fixed", "fixed": 128},
        "rate": {"choice": "pps", "pps": 1000},
        "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": 100}},
        "metrics": {"enable": True},
    }
    ports = [{"name": f"p{number}", "location": f"sim:gs908e#{number}"} for number in (1, 2)]
    page.find_element(By.TAG_NAME, "body").send_keys("t")
    until(page, "document.querySelector('#traffic') !== null")
    assert "The ports are free" in text(page)
    post("/config", {"ports": ports, "flows": [flow]})
    until(page, "document.querySelector('#traffic').textContent.includes('voice')")
    assert "The ports belong to 127.0.0.1 (Python-urllib" in text(page) and "which configured them" in text(page)
    post(
        "/control/state",
        {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": "start"}}},
    )
    until(
        page, "[...document.querySelectorAll('#traffic td')].filter((cell) => cell.textContent === '100').length >= 4"
    )
    click(page, "The whole configuration")
    until(page, "document.querySelector('details[open] pre').innerText.includes('\"fixed_packets\"')")
    assert not page.find_elements(By.CSS_SELECTOR, "main form, main input, main button")


def test_a_measurement_is_made_with_keys_alone(page: Any) -> None:
    page.find_element(By.TAG_NAME, "body").send_keys("n")
    until(page, "document.querySelector('.choices a') !== null")
    here = page.switch_to.active_element
    while page.execute_script("return document.activeElement.getAttribute('href')") != "/web/new/throughput":
        here.send_keys(Keys.TAB)
        here = page.switch_to.active_element
    here.send_keys(Keys.ENTER)
    until(page, "document.getElementById('f-dut') !== null")
    while page.execute_script("return document.activeElement.id") != "f-dut":
        page.switch_to.active_element.send_keys(Keys.TAB)
    page.switch_to.active_element.send_keys("CentreCOM GS908E")
    while page.execute_script("return document.activeElement.id") != "f-frame_bytes":
        page.switch_to.active_element.send_keys(Keys.TAB)
    page.switch_to.active_element.send_keys("64")
    while page.execute_script("return document.activeElement.id") != "f-trial_s":
        page.switch_to.active_element.send_keys(Keys.TAB)
    page.switch_to.active_element.send_keys("50ms", Keys.CONTROL, Keys.ENTER)
    until(page, "document.querySelector('.badge.finished') !== null")
    page.find_element(By.TAG_NAME, "body").send_keys("o")
    until(page, "document.documentElement.dataset.drawn")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_a_measurement_is_made_on_a_telephone_and_on_a_desk_in_japanese(page: Any, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", features)

    def whole() -> None:
        # A telephone's window grows with what is too wide for it.
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        assert page.execute_script(CONTRAST) >= 4.5
        unnamed = """return [...document.querySelectorAll('input, select, textarea, button')]
            .filter((each) => !each.labels?.length && !each.ariaLabel && !each.textContent.trim()).length"""
        assert page.execute_script(unnamed) == 0

    try:
        click(page, "日本語")
        until(page, "document.documentElement.lang === 'ja'")
        whole()
        click(page, "新しい測定")
        whole()
        click(page, "スループット")
        page.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        whole()
        choose(page, "機器", "sim:gs908e")
        write(page, "フレームサイズ", "64x")
        click(page, "開始")
        until(page, "document.getElementById('mistakes') !== null")
        whole()
        write(page, "フレームサイズ", "64")
        write(page, "各試行の長さ", "50ms")
        click(page, "開始")
        until(page, "document.querySelector('.badge.finished') !== null")
        whole()
        assert "完了" in text(page) and "報告書を開く" in text(page)
        click(page, "クライアントのトラフィック")
        whole()
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("name", [name for name in MODULES if name != "device" and " " in name])
def test_every_entry_that_the_server_carries_out_starts_from_its_form(
    page: Any, far: dict[str, str], name: str
) -> None:
    address = name.replace(" ", "-")
    if address not in {entry.address for entry in every_entry()}:
        page.get(f"{page.current_url}web/new")
        assert not page.find_elements(By.CSS_SELECTOR, f"[href='/web/new/{address}']")
        return
    click(page, "New measurement")
    page.find_element(By.CSS_SELECTOR, f"[href='/web/new/{address}']").click()
    values = {
        "host": "127.0.0.1",
        "target": "dns:127.0.0.1",
        "ends": "127.0.0.1,127.0.0.2",
        "port": far.get(name, ""),
        "reads": "1000",
        "rounds": "100",
        "reference": "raw",  # of itself, as a host may have no other clock
    }
    for field, value in values.items():
        if value and (found := page.find_elements(By.CSS_SELECTOR, f"input[name={field}]")):
            found[0].send_keys(value)
    if page.find_elements(By.NAME, "system"):
        Select(page.find_element(By.NAME, "system")).select_by_value("sim:e4")
    click(page, "Start")
    until(page, "document.querySelector('#run .badge, #mistakes') !== null")
    assert not page.find_elements(By.ID, "mistakes"), text(page, "#mistakes")
    assert text(page, "#run .badge") in ("running", "finished")


def test_without_the_key_nothing_can_be_started(browser: Any, server: OtgServer) -> None:
    browser.delete_all_cookies()
    browser.get(f"{server.url}/")
    assert "read-only" in browser.page_source
    browser.get(f"{server.url}/web/new/throughput")
    assert not browser.find_elements(By.CSS_SELECTOR, "main button") and "read-only" in browser.page_source
