"""The server's own page: what it shows, who may start something, and that no other site can."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pyarrow.parquet as pq
import pytest

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.faces.service.web.access import COOKIE
from keisoku.faces.service.web.routes import STATIC

THROUGHPUT = "/web/new/throughput"
FORM = {"dut": "sim:gs908e", "frame_bytes": "64", "trial_s": "50ms", "start": "yes"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(Listening(http_port=0, grpc_port=None), Controller(runs=tmp_path / "served")) as running:
        yield running


def ask(
    server: Server, method: str, path: str, fields: dict[str, str] | None = None, **headers: str
) -> tuple[int, str, dict[str, str]]:
    where = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, None if fields is None else urlencode(fields), sent)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def cookie(server: Server) -> str:
    return f"{COOKIE}={server.page.partition('key=')[2]}"


def until_over(server: Server, page: str) -> str:
    while "badge running" in (found := ask(server, "GET", page)[1]):
        pass
    return found


def test_a_run_is_started_shown_and_compared(server: Server) -> None:
    pages = []
    for device in ("sim:gs908e", "sim:catalyst2960g"):
        status, text, headers = ask(
            server, "POST", THROUGHPUT, {**FORM, "dut": device}, Cookie=cookie(server), Origin=server.url
        )
        assert status == 303, text
        pages.append(headers["location"])
        assert "badge finished" in until_over(server, pages[-1])
    status, text, headers = ask(server, "GET", f"{pages[0]}/report")
    assert status == 200 and "Throughput" in text and "sandbox" in headers["content-security-policy"]
    names = [page.rpartition("/")[2] for page in pages]
    status, text, _ = ask(server, "GET", "/web/compare?" + "&".join(f"run={name}" for name in names))
    assert status == 200 and "sim" in text
    status, text, _ = ask(server, "GET", "/")
    assert all(name in text for name in names) and "read-only" in text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {},
        {"Sec_Fetch_Site": "cross-site"},
        {"Cookie": f"{COOKIE}=guessed"},
        {"Cookie": ""},
    ],
)
def test_another_site_or_a_browser_without_the_key_starts_nothing(server: Server, headers: dict[str, str]) -> None:
    given = {"Cookie": cookie(server), **({"Origin": server.url} if "Origin" not in headers and headers else {})}
    status, text, _ = ask(server, "POST", THROUGHPUT, FORM, **{**given, **headers})
    other = headers.get("Origin") or headers.get("Sec_Fetch_Site")
    assert status == 403 and ("pages of other sites" if other else "may start a run") in text
    assert "No run was made yet" in ask(server, "GET", "/")[1]


def test_a_name_that_leads_here_reads_nothing(server: Server) -> None:
    """DNS rebinding: another site's name resolves to this server, and its page asks for ours."""
    status, text, _ = ask(server, "GET", "/", Host="evil.example:8443")
    assert status == 403 and "<table" not in text
    status, _, _ = ask(server, "POST", THROUGHPUT, FORM, Host="evil.example", Origin="http://evil.example")
    assert status == 403


def test_the_key_becomes_a_cookie_and_leaves_the_address(server: Server) -> None:
    status, _, headers = ask(server, "GET", server.page.removeprefix(server.url))
    assert (status, headers["location"]) == (303, "/")
    assert "HttpOnly" in headers["set-cookie"] and "samesite=strict" in headers["set-cookie"].lower()
    assert "set-cookie" not in ask(server, "GET", "/?key=guessed")[2]
    assert 'href="/web/new"' in ask(server, "GET", "/", Cookie=cookie(server))[1]
    assert 'name="start"' in ask(server, "GET", THROUGHPUT, Cookie=cookie(server))[1]
    assert 'name="start"' not in ask(server, "GET", THROUGHPUT)[1]


@pytest.mark.parametrize("name", ["..%2Fplan.toml", "..", "nothing", "%2e%2e"])
def test_no_name_leads_out_of_the_folder(server: Server, name: str) -> None:
    for path in (f"/web/runs/{name}", f"/web/runs/{name}/report", f"/web/static/{name}"):
        assert ask(server, "GET", path)[0] == 404


@pytest.mark.parametrize(
    ("entry", "fields", "wrong", "said"),
    [
        ("throughput", {"frame_bytes": "many"}, "frame_bytes", "is not a frame size"),
        ("throughput", {"trial_s": "fast"}, "trial_s", "is not a number with a unit"),
        ("throughput", {"dut": ""}, "dut", "no device under test is given"),
        ("throughput", {"dut": "", "tx": "eth0"}, "tx", "is not given"),
        ("throughput", {"dut": "sim:nothing"}, "dut", "nothing"),
        ("device", {}, "methods", "values are too few"),
        ("path-delay", {"host": "127.0.0.1", "packets": "0"}, "packets", "below 1"),
        ("stream-tcp", {"host": "127.0.0.1", "repetitions": "1"}, "repetitions", "below 2"),
        ("stream-tcp", {"host": ""}, "host", "not given"),
        ("line-responsiveness", {"host": "127.0.0.1", "duration_s": "1h"}, "duration_s", "above 30"),
    ],
)
def test_a_mistake_is_said_beside_its_field_and_what_was_typed_stays(
    server: Server, entry: str, fields: dict[str, str], wrong: str, said: str
) -> None:
    typed = {**FORM, "repeat": "3", **fields}
    headers = {"Cookie": cookie(server), "Origin": server.url}
    status, text, _ = ask(server, "POST", f"/web/new/{entry}", typed, **headers)
    assert status == 400 and 'role="alert"' in text
    beside = re.search(rf'<p class="wrong" id="e-{wrong}">(.*?)</p>', text)
    assert beside and said in beside[1].lower()
    assert not re.search(r"--[a-z]|POST|/keisoku/v1/runs", re.sub(r"<[^>]*>", "", text))
    assert re.search(r'name="repeat" value="3"', text)
    for name in fields.keys() - {"dut", "tx"}:
        assert f'name="{name}" value="{fields[name]}"' in text


def test_what_acts_on_the_server_is_refused_although_no_form_has_it(server: Server) -> None:
    headers = {"Cookie": cookie(server), "Origin": server.url}
    for entry in ("throughput", "connection-capacity", "convergence"):
        text = ask(server, "GET", f"/web/new/{entry}", None, **headers)[1]
        assert not re.search(r'name="(capture|force|undo|snap_bytes)"', text)
    typed = {**FORM, "forget": "touch /tmp/owned"}
    status, text, _ = ask(server, "POST", "/web/new/connection-capacity", typed, **headers)
    assert status == 400 and "command of the server" in text
    status, text, _ = ask(server, "POST", "/web/new/stream-file", {**FORM, "source": "/etc/passwd"}, **headers)
    assert status == 400 and "does not carry out" in text


def test_what_a_run_would_do_is_said_before_it_starts(server: Server) -> None:
    """By the same means as a dry run."""
    headers = {"Cookie": cookie(server), "Origin": server.url}
    typed = {name: text for name, text in FORM.items() if name != "start"}
    status, text, _ = ask(server, "POST", "/web/new/latency", {**typed, "repetitions": "3"}, **headers)
    assert status == 200 and 'id="outline"' in text and "RFC 2544 §26.2" in text
    assert "No run was made yet" in ask(server, "GET", "/")[1]


def test_while_something_runs_nothing_else_is_started(server: Server) -> None:
    headers = {"Cookie": cookie(server), "Origin": server.url}
    slow = {"system": "sim:e4", "duration_s": "100000h", "start": "yes"}
    status, text, headers_ = ask(server, "POST", "/web/new/system-govern", slow, **headers)
    assert status == 303, text
    status, text, _ = ask(server, "POST", THROUGHPUT, FORM, **headers)
    assert status == 409 and "wait until it is over" in text.lower() and "POST" not in re.sub(r"<[^>]*>", "", text)
    ask(server, "POST", f"{headers_['location']}/cancel", {}, **headers)


def test_runs_of_different_sizes_are_compared_by_what_both_have(server: Server) -> None:
    pages = []
    for sizes in ("64, 512", "512, 1518"):
        headers = {"Cookie": cookie(server), "Origin": server.url}
        pages.append(ask(server, "POST", THROUGHPUT, {**FORM, "frame_bytes": sizes}, **headers)[2]["location"])
        until_over(server, pages[-1])
    names = [page.rpartition("/")[2] for page in pages]
    status, text, _ = ask(server, "GET", "/web/compare?" + "&".join(f"run={name}" for name in names))
    compared = text[text.index('id="compare-throughput"') :].partition("</section>")[0]
    assert status == 200 and "Only sizes that the runs have in common" in compared
    assert set(re.findall(r">(64|512|1518)(?: byte)?<", compared)) == {"512"}


def test_a_run_is_downloaded_named_and_noted(server: Server) -> None:
    headers = {"Cookie": cookie(server), "Origin": server.url}
    page = ask(server, "POST", THROUGHPUT, FORM, **headers)[2]["location"]
    text = until_over(server, page)
    assert 'href="/metrics"' not in text
    status, json_text, got = ask(server, "GET", f"{page}/files/result.json")
    assert status == 200 and json.loads(json_text)[0]["measurement"] == "throughput"
    assert "attachment" in got["content-disposition"]
    files = set(re.findall(rf'href="{page}/files/([^"]+)"', text))
    assert {"report.pdf", "result.json", "figures.parquet", "trials.parquet", "throughput.csv"} <= files
    where = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)
    connection.request("GET", f"{page}/files/figures.parquet")
    rows = pq.read_table(BytesIO(connection.getresponse().read()))
    connection.close()
    assert "throughput" in rows.column("figure").to_pylist()
    assert ask(server, "GET", f"{page}/files/plan.toml")[0] == 400
    assert ask(server, "GET", f"{page}/files/..%2Fplan.toml")[0] in (400, 404)
    given = {"name": "rack 3 <b>", "note": "before the update"}
    assert ask(server, "POST", f"{page}/label", given, Cookie=cookie(server))[0] == 403
    assert ask(server, "POST", f"{page}/label", given, **headers)[0] == 303
    for shown in (page, "/"):
        text = ask(server, "GET", shown)[1]
        assert "rack 3 &lt;b&gt;" in text and "before the update" in text
    status, text, _ = ask(server, "POST", f"{page}/label", {**given, "name": "x" * 200}, **headers)
    assert status == 400 and "letters" in text


def test_the_page_speaks_the_readers_language(server: Server) -> None:
    """A browser says it, and a reader may choose another; readers of two languages at a time do not disturb each
    other."""
    assert '<html lang="ja">' in ask(server, "GET", "/web/new", Accept_Language="ja,en;q=0.5")[1]
    assert '<html lang="en">' in ask(server, "GET", "/web/new", Accept_Language="fr")[1]
    status, text, headers = ask(server, "GET", "/web/new?lang=ja", Accept_Language="en")
    assert status == 200 and "新しい測定" in text
    kept = headers["set-cookie"].partition(";")[0]
    assert "スループット" in ask(server, "GET", THROUGHPUT, Cookie=kept)[1]
    with ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(lambda name: ask(server, "GET", THROUGHPUT, Accept_Language=name)[1], ["ja", "en"] * 8))
    assert all(("フレームサイズ" in text) == (number % 2 == 0) for number, text in enumerate(asked))


CONFIG = {
    "ports": [{"name": "p1", "location": "sim:gs908e#1"}, {"name": "p2", "location": "sim:gs908e#2"}],
    "flows": [
        {
            "name": "f <1>",
            "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
            "size": {"choice": "fixed", "fixed": 128},
            "rate": {"choice": "pps", "pps": 1000},
            "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": 100}},
            "metrics": {"enable": True},
        }
    ],
}


def test_what_a_client_configured_is_seen_and_not_changed(server: Server) -> None:
    assert "The ports are free" in ask(server, "GET", "/web/traffic")[1]
    where = urlsplit(server.url)

    def post(path: str, document: dict[str, Any]) -> int:
        connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)
        connection.request("POST", path, json.dumps(document), {"Content-Type": "application/json"})
        status = connection.getresponse().status
        connection.close()
        return status

    assert post("/config", CONFIG) == 200
    start = {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": "start"}}}
    assert post("/control/state", start) == 200
    while "no traffic runs" not in (text := ask(server, "GET", "/web/traffic")[1]):
        pass
    for shown in ("The ports belong to 127.0.0.1", "f &lt;1&gt;", "p1 → p2", "128 fixed", "1,000 pps", "sim:gs908e#1"):
        assert shown in text, shown
    flow = text[text.index("<caption>Traffic flows</caption>") :].partition("</table>")[0]
    assert flow.count("<td>100</td>") == 2  # sent and received
    assert "<form" not in text and ask(server, "POST", "/web/traffic", {}, Cookie=cookie(server))[0] == 405


def test_files_of_the_page_are_served(server: Server) -> None:
    for name in STATIC:
        status, _, headers = ask(server, "GET", f"/web/static/{name}")
        assert status == 200 or name == "htmx.min.js"
        if status == 200:
            assert headers["content-type"].startswith(STATIC[name])
