"""The server's own page: what it shows, who may start something, and that no other site can."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.faces.service.web.access import COOKIE
from keisoku.faces.service.web.routes import STATIC

FORM = {"measurement": "device", "dut": "sim:gs908e", "sizes": "64", "further": "throughput.trial_s = 0.05"}


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
            server, "POST", "/web/start", {**FORM, "dut": device}, Cookie=cookie(server), Origin=server.url
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
    status, text, _ = ask(server, "POST", "/web/start", FORM, **{**given, **headers})
    other = headers.get("Origin") or headers.get("Sec_Fetch_Site")
    assert status == 403 and ("pages of other sites" if other else "may start a run") in text
    assert "No run was made yet" in ask(server, "GET", "/")[1]


def test_a_name_that_leads_here_reads_nothing(server: Server) -> None:
    """DNS rebinding: another site's name resolves to this server, and its page asks for ours."""
    status, text, _ = ask(server, "GET", "/", Host="evil.example:8443")
    assert status == 403 and "<table" not in text
    status, _, _ = ask(server, "POST", "/web/start", FORM, Host="evil.example", Origin="http://evil.example")
    assert status == 403


def test_the_key_becomes_a_cookie_and_leaves_the_address(server: Server) -> None:
    status, _, headers = ask(server, "GET", server.page.removeprefix(server.url))
    assert (status, headers["location"]) == (303, "/")
    assert "HttpOnly" in headers["set-cookie"] and "samesite=strict" in headers["set-cookie"].lower()
    assert "set-cookie" not in ask(server, "GET", "/?key=guessed")[2]
    assert "Start</button>" in ask(server, "GET", "/", Cookie=cookie(server))[1]


@pytest.mark.parametrize("name", ["..%2Fplan.toml", "..", "nothing", "%2e%2e"])
def test_no_name_leads_out_of_the_folder(server: Server, name: str) -> None:
    for path in (f"/web/runs/{name}", f"/web/runs/{name}/report", f"/web/static/{name}"):
        assert ask(server, "GET", path)[0] == 404


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"sizes": "many"}, "are no sizes"),
        ({"further": "= broken"}, "are not TOML"),
        ({"dut": "sim:nothing"}, "nothing"),
        ({"measurement": "stream file"}, "stream file"),
        ({"further": "capture = '/etc/passwd'"}, "capture"),
    ],
)
def test_a_form_that_cannot_be_carried_out_says_why(server: Server, fields: dict[str, str], said: str) -> None:
    headers = {"Cookie": cookie(server), "Origin": server.url}
    status, text, _ = ask(server, "POST", "/web/start", {**FORM, **fields}, **headers)
    assert status == 400 and said in text and 'role="alert"' in text


def test_files_of_the_page_are_served(server: Server) -> None:
    for name in STATIC:
        status, _, headers = ask(server, "GET", f"/web/static/{name}")
        assert status == 200 or name == "htmx.min.js"
        if status == 200:
            assert headers["content-type"].startswith(STATIC[name])
