"""Clients that say nothing, half of it, too much, or do not listen: the server goes on answering others."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from keisoku.otg.controller import Controller
from keisoku.otg.server import Listening, Server
from keisoku.service import body
from keisoku.service.operation import BASE

SILENT = 40
"""Connections at once that keep theirs open and say no more; the server takes 64."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(Listening(http_port=0, grpc_port=None), Controller()) as running:
        yield running


def connected(server: Server) -> socket.socket:
    where = urlsplit(server.url)
    return socket.create_connection((str(where.hostname), where.port or 0), timeout=30)


def status(server: Server, path: str = "/capabilities/version") -> int:
    where = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


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
            slow.sendall(f'POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{{"por'.encode())
        assert status(server) == 200
        assert status(server, f"{BASE}/runs") == 200
    assert status(server) == 200


def test_a_body_that_does_not_come_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "BODY_S", 0.05)
    for path in ("/config", f"{BASE}/runs"):
        with connected(server) as slow:
            slow.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{{".encode())
            answer = whole(slow)
        assert answer.startswith(b"HTTP/1.1 400") and b"did not arrive within" in answer
    assert status(server) == 200


def test_a_client_that_does_not_listen_holds_nobody_up(server: Server) -> None:
    with connected(server) as deaf:
        # Two megabytes of answers that it never reads.
        deaf.sendall(f"GET {BASE}/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 24)
        assert status(server) == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /config HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /config HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
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
        big.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {10**12}\r\n\r\n".encode())
        sent = b" " * 65536
        for _ in range(body.MOST_BODY_BYTES // len(sent) + 1):
            big.sendall(sent)
        answer = whole(big)
    assert json.loads(answer.split(b"\r\n\r\n")[1])["errors"] == ["body: is too long; send 16 MiB at most"]
    assert status(server) == 200
