"""Clients that say nothing, half of it, too much, or do not listen: the server goes on answering others."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import pytest
from support.otg_server import key_of

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving import connection
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.faces.service import body
from keisoku.faces.service.operation import BASE

SILENT = 40
"""Connections at once that keep theirs open and say no more; the server takes 64."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(Listening(http_port=0, grpc_port=None), Controller()) as running:
        yield running


def key(server: Server) -> str:
    """As a line of a request."""
    return "".join(f"{name}: {value}\r\n" for name, value in key_of(server).items())


def connected(server: Server) -> socket.socket:
    where = urlsplit(server.url)
    return socket.create_connection((str(where.hostname), where.port or 0), timeout=30)


def status(server: Server, path: str = "/capabilities/version", address: str = "127.0.0.1") -> int:
    where = urlsplit(server.url)
    client = http.client.HTTPConnection(str(where.hostname), where.port, timeout=30, source_address=(address, 0))
    try:
        client.request("GET", path)
        return client.getresponse().status
    finally:
        client.close()


def whole(client: socket.socket) -> bytes:
    """An answer that is a JSON object."""
    answer = b""
    while not answer.endswith(b"}"):
        part = client.recv(65536)
        assert part, answer
        answer += part
    return answer


@pytest.mark.parametrize("path", ["/config", "/control/state", f"{BASE}/runs"])
def test_half_a_body_from_many_leaves_room_for_others(server: Server, path: str) -> None:
    with ExitStack() as stack:
        for _ in range(SILENT):
            slow = stack.enter_context(connected(server))
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key(server)}Content-Length: 1000\r\n\r\n"
            slow.sendall(head.encode() + b'{"por')
        assert status(server) == 200
        assert status(server, f"{BASE}/runs") == 200
    assert status(server) == 200


def test_a_body_that_does_not_come_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "BODY_S", 0.05)
    for path in ("/config", f"{BASE}/runs"):
        with connected(server) as slow:
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key(server)}Content-Length: 10\r\n\r\n"
            slow.sendall(head.encode() + b"{")
            answer = whole(slow)
        assert answer.startswith(b"HTTP/1.1 400") and b"did not arrive within" in answer
    assert status(server) == 200


def test_a_client_that_does_not_listen_holds_nobody_up(server: Server) -> None:
    with connected(server) as deaf:
        # Two megabytes of answers that it never reads.
        deaf.sendall(f"GET {BASE}/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() * 24)
        assert status(server) == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /config HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /config HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        bytes(range(256)) * 16,
    ],
)
def test_what_is_no_http_is_not_answered_by_silence_for_all(server: Server, raw: bytes) -> None:
    with connected(server) as odd:
        odd.sendall(raw)
        odd.shutdown(socket.SHUT_WR)
        while odd.recv(65536):
            pass
    assert status(server) == 200


@pytest.mark.parametrize("path", ["/config", f"{BASE}/runs"])
def test_an_oversized_body_is_refused_before_it_has_come(server: Server, path: str) -> None:
    with connected(server) as big:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key(server)}Transfer-Encoding: chunked\r\n\r\n"
        big.sendall(head.encode())
        sent = b" " * 65536
        for _ in range(body.MOST_BODY_BYTES // len(sent) + 1):
            big.sendall(b"10000\r\n" + sent + b"\r\n")
        answer = whole(big)
    assert json.loads(answer.split(b"\r\n\r\n")[1])["errors"] == ["body: is too long; send 16 MiB at most"]
    assert status(server) == 200


def test_more_silent_connections_than_it_takes_lock_nobody_out(server: Server) -> None:
    """64 that said nothing, or half of a request, once locked everybody out for good."""
    with ExitStack() as stack:
        for number in range(80):
            silent = stack.enter_context(connected(server))
            silent.sendall(b"" if number % 2 else b"GET /config HTTP/1.1\r\nHo")
        assert status(server) == 200


def test_one_address_does_not_take_the_places_of_others(server: Server) -> None:
    """Half a body holds its place until it is given up; 64 of them once left no place for anybody."""
    with ExitStack() as stack:
        for _ in range(80):
            slow = stack.enter_context(connected(server))
            with suppress(OSError):  # closed by the server, as one too many
                slow.sendall(b'POST /config HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"por')
        assert status(server, address="127.0.0.2") == 200


@pytest.mark.parametrize("begun", [b"", b"GET /config HTTP/1.1\r\nHo"])
def test_a_request_that_does_not_come_is_given_up(begun: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEADERS_S", 0.05)
    with Server(Listening(http_port=0, grpc_port=None), Controller()) as server, connected(server) as silent:
        silent.sendall(begun)
        with suppress(ConnectionResetError):
            assert silent.recv(1) == b""
        # Nor the next one, after an answer.
        with connected(server) as second:
            second.sendall(b"GET /capabilities/version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert whole(second).startswith(b"HTTP/1.1 200")
            second.sendall(begun)
            with suppress(ConnectionResetError):
                assert second.recv(1) == b""


@pytest.mark.parametrize("path", ["/config", f"{BASE}/runs"])
def test_a_length_of_a_terabyte_is_refused_at_once(server: Server, path: str) -> None:
    """The answer once came only after 16 MiB or 30 s."""
    with connected(server) as big:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key(server)}Content-Length: {10**12}\r\n\r\n"
        big.sendall(head.encode())
        answer = whole(big)
    assert json.loads(answer.split(b"\r\n\r\n")[1])["errors"] == ["body: is too long; send 16 MiB at most"]
