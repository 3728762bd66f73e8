"""Raw requests against the server: whatever is sent, the answer is OTG's Error, and the server goes on."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import snappi
from hypothesis import given, settings
from hypothesis import strategies as st
from support.certificate import self_signed, token_file
from support.otg_server import two_ports, udp_flow

from keisoku.errors import PlanError
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.faces.service.body import MOST_BODY_BYTES
from keisoku.faces.service.operation import BASE

TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(Listening(http_port=0, grpc_port=None), Controller()) as running:
        yield running


def ask(server: Server, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    where = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=30)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
    finally:
        connection.close()


def is_alive(server: Server) -> bool:
    return ask(server, "GET", "/capabilities/version")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/config", b"", 400),
        ("POST", "/config", b"{", 400),
        ("POST", "/config", b"[]", 400),
        ("POST", "/config", b"\xff\xfe", 400),
        ("POST", "/config", b'{"flows": NaN}', 400),
        ("POST", "/config", b'{"flows": 1e999}', 400),
        ("POST", "/config", b'{"ports": [{"name": "\\ud800"}]}', 400),
        ("POST", "/config", b"[" * 100_000, 400),
        ("POST", "/control/state", b"{}", 400),
        ("POST", "/control/action", b"{}", 400),
        ("POST", "/monitor/metrics", b'{"choice": "rsvp"}', 400),
        ("POST", "/monitor/capture", b'{"port_name": "p1"}', 400),
        ("DELETE", "/config", None, 405),
        ("GET", "/nothing", None, 404),
    ],
)
def test_what_is_wrong_is_an_error_of_otg(
    server: Server, method: str, path: str, body: bytes | None, status: int
) -> None:
    code, error = ask(server, method, path, body)
    assert (code, error["code"]) == (status, status)
    assert set(error) == {"code", "kind", "errors"} and error["errors"]
    assert is_alive(server)


def test_a_body_that_is_too_long_is_refused(server: Server) -> None:
    code, error = ask(server, "POST", "/config", b" " * (MOST_BODY_BYTES + 1))
    assert (code, error["errors"]) == (400, ["body: is too long; send 16 MiB at most"])


def test_requests_that_end_early_leave_it_answering(server: Server) -> None:
    where = urlsplit(server.url)
    for part in (
        b"",
        b"POST /con",
        b"POST /config HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
        b"\x16\x03\x01",
    ):
        with socket.create_connection((str(where.hostname), where.port or 0), timeout=10) as raw:
            raw.sendall(part)
    assert is_alive(server)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["/config", "/control/state", "/monitor/metrics", "/monitor/states"]))
def test_any_bytes_get_an_answer(server: Server, body: bytes, path: str) -> None:
    assert ask(server, "POST", path, body)[0] in (200, 400)


def test_answers_have_no_field_that_otg_lacks(server: Server) -> None:
    config = two_ports()
    udp_flow(config)
    assert ask(server, "POST", "/config", config.serialize("json").encode()) == (200, {"warnings": []})
    start = {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": "start"}}}
    assert ask(server, "POST", "/control/state", json.dumps(start).encode())[0] == 200
    while True:
        _, flows = ask(server, "POST", "/monitor/metrics", b'{"choice": "flow", "flow": {}}')
        if flows["flow_metrics"][0]["transmit"] == "stopped":
            break
    _, ports = ask(server, "POST", "/monitor/metrics", b"{}")
    assert flows["flow_metrics"][0].keys() <= snappi.FlowMetric._TYPES.keys()
    assert ports["port_metrics"][0].keys() <= snappi.PortMetric._TYPES.keys()
    _, named = ask(server, "POST", "/monitor/metrics", b'{"flow": {"metric_names": ["frames_rx"]}}')
    assert named["flow_metrics"] == [{"name": "f1", "frames_rx": 100}]
    _, own = ask(server, "GET", "/keisoku/v1/traffic")
    assert own["traffic"]["facts"]["streams"][0]["tracked"]["forwarded_frames"] == 100
    assert own["traffic"]["invalid_because"] == []


def test_beyond_loopback_and_with_secrets_it_wants_both() -> None:
    for listening, problem in (
        (Listening("0.0.0.0", 0, None), "needs TLS"),
        (Listening("nowhere", 0, None), "is no IP address"),
        (Listening(certificate=Path("c"), grpc_port=None), "needs its key"),
        (Listening(tokens=Path("t")), "gRPC is offered on loopback only"),
        (Listening(client_authority=Path("c"), grpc_port=None), "a server without a certificate"),
    ):
        with pytest.raises(PlanError, match=problem):
            listening.check()


def test_a_token_is_wanted_over_tls(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    tokens = token_file(tmp_path, f"alice:{TOKEN}", f"bob:{TOKEN[::-1]}")
    with Server(Listening("127.0.0.1", 0, None, certificate, key, tokens=tokens), Controller()) as server:
        where = urlsplit(server.url)
        assert where.scheme == "https"
        connection = http.client.HTTPSConnection(
            str(where.hostname), where.port, context=ssl._create_unverified_context()
        )
        connection.request("GET", "/config")
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["code"]) == (401, 401)
        connection.close()
        alice = snappi.api(location=f"https://alice:{TOKEN}@{where.hostname}:{where.port}")
        bob = snappi.api(location=f"https://bob:{TOKEN[::-1]}@{where.hostname}:{where.port}")
        alice.set_config(two_ports())
        with pytest.raises(Exception, match="the ports belong to alice"):
            bob.set_config(two_ports())
        alice.set_config(snappi.Config())
        bob.set_config(two_ports())


def test_a_client_with_a_certificate_may_name_the_server_as_it_likes(tmp_path: Path) -> None:
    """A server with a name answered 403 to clients that had shown their certificate."""
    certificate, key = self_signed(tmp_path)
    listening = Listening("127.0.0.1", 0, None, certificate, key, client_authority=certificate)
    with Server(listening, Controller()) as server:
        where, context = urlsplit(server.url), ssl.create_default_context(cafile=str(certificate))
        context.load_cert_chain(certificate, key)
        for name, code in (("lab.example:8443", 200), ("127.0.0.1", 200)):
            connection = http.client.HTTPSConnection(str(where.hostname), where.port, context=context)
            connection.request("GET", "/config", headers={"Host": name})
            assert connection.getresponse().status == code
            connection.close()


def test_an_action_is_answered_only_with_a_token(tmp_path: Path) -> None:
    tokens = token_file(tmp_path, f"alice:{TOKEN}")
    with Server(Listening(http_port=0, grpc_port=None, tokens=tokens), Controller()) as server:
        code, problem = ask(server, "POST", "/control/action", b"{}")
    assert (code, problem["code"]) == (401, 401)


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"Origin": "http://elsewhere.example", "Content-Type": "text/plain"}, "Origin"),
        ({"Origin": "null", "Content-Type": "text/plain"}, "Origin"),
        ({"Host": "elsewhere.example"}, "Host"),
    ],
)
@pytest.mark.parametrize("path", ["/config", "/control/state", f"{BASE}/runs"])
def test_a_page_of_another_site_is_not_obeyed(server: Server, path: str, headers: dict[str, str], named: str) -> None:
    """On loopback a browser's plain cross-origin POST once set a configuration."""
    where = urlsplit(server.url)
    client = http.client.HTTPConnection(str(where.hostname), where.port, timeout=30)
    client.request("POST", path, body=b"{}", headers=headers)
    answer = client.getresponse()
    told = json.loads(answer.read())
    client.close()
    assert answer.status == 403 and told["errors"][0].startswith(f"{named}: ")


def test_a_file_of_tokens_that_others_may_read_is_refused(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"alice:{TOKEN}\n")
    tokens.chmod(0o644)
    with pytest.raises(PlanError, match="other users may read"):
        Server(Listening(http_port=0, grpc_port=None, tokens=tokens), Controller())
