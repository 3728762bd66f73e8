"""Markers over HTTP: whoever posts a line has it dated by when the request came.

It takes short texts for as long as a measurement runs, changes nothing else, and gives nothing away.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from keisoku.errors import EngineError
from keisoku.ground.host.address import family

_MOST_BYTES = 1000
_MOST_CLIENTS = 16
_MOST_UNREAD = 1 << 20
"""Bytes of a text that is too long which are read all the same: a client would not see why it is refused otherwise."""
_PATIENCE_S = 2.0
"""For a request to be there whole."""
_LOOK_S = 0.1

Mark = Callable[[str, int], bool]
"""Keeps a text with its time (ns of CLOCK_MONOTONIC); False if there is no room any more."""


class MarkerServer:
    """A context manager: answers on threads of its own. Raises EngineError if the port cannot be listened at."""

    def __init__(self, address: str, port: int, mark: Mark) -> None:
        try:
            self._server = _Server(address, port, mark)
        except OSError as error:
            remedy = "give another address or port to --markers-http"
            raise EngineError(f"{address} port {port} cannot be listened at: {error.strerror}; {remedy}") from error
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_LOOK_S,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 4 * _MOST_CLIENTS  # those too many are told so at once

    def __init__(self, address: str, port: int, mark: Mark) -> None:
        self.address_family = family(address)
        self.mark = mark
        self._room = threading.Semaphore(_MOST_CLIENTS)
        super().__init__((address, port), _Request)

    def verify_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> bool:
        if self._room.acquire(blocking=False):
            return True
        assert isinstance(request, socket.socket)
        request.settimeout(0)  # what fits into an empty buffer is taken at once
        request.sendall(b"HTTP/1.0 503 Service Unavailable\r\n\r\ntoo many at once; try again\n")
        return False

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """A client that goes away is no error of the measurement."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Request(BaseHTTPRequestHandler):
    server: _Server
    timeout = _PATIENCE_S
    server_version, sys_version = "keisoku", ""

    def setup(self) -> None:
        self._came_ns = time.monotonic_ns()
        super().setup()

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self.rfile.read(min(int(length), _MOST_UNREAD) if length.isdecimal() else 0)
            self._say(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a marker has a Content-Length, of at most {_MOST_BYTES} bytes"
            )
            return
        text = self.rfile.read(int(length)).decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if not lines:
            self._say(HTTPStatus.BAD_REQUEST, "a marker is a line of text; post one")
        elif all([self.server.mark(line, self._came_ns) for line in lines]):
            self._say(HTTPStatus.OK, "marked")
        else:
            self._say(HTTPStatus.INSUFFICIENT_STORAGE, "there are too many markers; this one is not kept")

    def _refuse(self) -> None:
        self._say(HTTPStatus.METHOD_NOT_ALLOWED, "only markers are taken here; POST a line of text")

    do_GET = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_HEAD = _refuse

    def _say(self, status: HTTPStatus, sentence: str) -> None:
        body = f"{sentence}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "POST")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The terminal is the measurement's."""
