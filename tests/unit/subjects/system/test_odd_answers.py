"""Answers of HTTP that are odd and legal, of a real server on loopback, read by keisoku's own client."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from keisoku.subjects.system.load.own_client import OwnClient
from keisoku.subjects.system.load.target import url_aims

BODY = b"hello world\n"
LENGTH = b"Content-Length: 12\r\n"
ANSWERS = {
    "plain": b"HTTP/1.1 200 OK\r\n" + LENGTH + b"\r\n" + BODY,
    "latin1": b"HTTP/1.1 200 OK\r\nContent-Disposition: filename=r\xe9sum\xe9.txt\r\n" + LENGTH + b"\r\n" + BODY,
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n world\n\r\n0\r\n\r\n",
    "gzip-chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + b"c\r\n" + BODY + b"\r\n0\r\n\r\n",
    "early": b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\n" + LENGTH + b"\r\n" + BODY,
    "no-content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "not-modified": b"HTTP/1.1 304 Not Modified\r\n" + LENGTH + b"\r\n",
    "bare-lf": b"HTTP/1.1 200 OK\nContent-Length: 12\n\n" + BODY,
    "length-twice": b"HTTP/1.1 200 OK\r\nContent-Length: 12, 12\r\n\r\n" + BODY,
    "no-reason": b"HTTP/1.1 200\r\n" + LENGTH + b"\r\n" + BODY,
}


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A server that has nothing but this answer for who names it with its port; its port, and the hosts named."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, hosts = listener.getsockname()[1], list[bytes]()

        def serve() -> None:
            while True:
                try:
                    made, _ = listener.accept()
                except OSError:
                    return
                with made, made.makefile("rb") as lines:
                    for line in lines:
                        if line.lower().startswith(b"host:"):
                            hosts.append(line.split(b":", 1)[1].strip())
                        if line == b"\r\n":
                            right = hosts[-1] == f"127.0.0.1:{port}".encode()
                            made.sendall(answer if right else b"HTTP/1.1 421 Misdirected\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield port, hosts
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_odd_answer_is_an_answer(name: str) -> None:
    """Four of them failed or were waited for until the time was over, and the port was missing in Host."""
    with answering(ANSWERS[name]) as (port, hosts):
        (aim,) = url_aims([f"http://127.0.0.1:{port}/file"])
        client = OwnClient(aim.load(requests=5, keep_alive=True, timeout_s=5.0))
        client.begin(time.monotonic_ns())
        found = client.finish()
    assert (found.completed, found.failed) == (5, 0), found.failures
    assert set(hosts) == {f"127.0.0.1:{port}".encode()}
