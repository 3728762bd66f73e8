"""The server: its address, certificate and lifetime. Knows no path and no message."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import uvicorn

from keisoku.errors import EngineError, KeisokuError, PlanError
from keisoku.faces.otg.control.access import Tokens
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.connection import HEADERS_S, Connection
from keisoku.faces.otg.serving.http import application
from keisoku.faces.service.web.access import WebAccess
from keisoku.ground.host.text_file import read_text

if TYPE_CHECKING:
    from keisoku.faces.otg.serving.gnmi_service import GnmiServer
    from keisoku.faces.otg.serving.grpc_service import GrpcServer

HTTP_PORT = 8443
GRPC_PORT = 40051
_MOST_CONNECTIONS = 64
_END_S = 5
_LOOK_S = 0.2


@dataclass(frozen=True)
class Listening:
    """Addresses of the server, and its certificates."""

    address: str = "127.0.0.1"
    http_port: int = HTTP_PORT
    grpc_port: int | None = GRPC_PORT
    """None: no gRPC."""
    certificate: Path | None = None
    key: Path | None = None
    client_authority: Path | None = None
    """Certificates of the authorities for client certificates; None: clients need none."""
    tokens: Path | None = None
    """File of lines NAME:TOKEN; None: clients need none."""
    gnmi_port: int | None = None
    """None: no gNMI."""

    def check(self) -> None:
        """Raises PlanError for an invalid address, and for one that other hosts could use without authentication."""
        try:
            loopback = ip_address(self.address).is_loopback
        except ValueError:
            raise PlanError("listen", f"'{self.address}' is no IP address", "write it as 127.0.0.1 or ::1") from None
        if (self.certificate is None) != (self.key is None):
            raise PlanError("certificate", "a certificate needs its key, and a key its certificate", "give both")
        if self.client_authority is not None and self.certificate is None:
            raise PlanError(
                "client_ca",
                "a server without a certificate cannot ask for client certificates",
                "give --certificate and --key",
            )
        guarded = self.tokens is not None or self.client_authority is not None
        if not loopback and (self.certificate is None or not guarded):
            # Its clients can send traffic from this host.
            problem = "for other hosts the server needs TLS, and clients need a token or a certificate"
            raise PlanError("listen", problem, "give --certificate, --key and --tokens (or --client-ca)")
        plain = loopback and self.certificate is None and not guarded
        if self.grpc_port is not None and not plain:
            problem = "gRPC is offered on loopback only, without TLS and tokens"
            raise PlanError("grpc_port", problem, "give --no-grpc")


class Server:
    """A context manager: serves on a thread of its own; on exit ends traffic and closes the ports.

    Raises EngineError if it cannot listen there.
    """

    def __init__(
        self, listening: Listening, controller: Controller, settled: Callable[[], object] = lambda: None
    ) -> None:
        """`settled` is called on entry once keys, tokens and sockets are open, before there is another thread."""
        listening.check()
        self._listening, self._controller, self._settled = listening, controller, settled
        tokens = self._tokens = _tokens(listening.tokens)
        self._access = WebAccess(bool(tokens), listening.client_authority is not None)
        config = uvicorn.Config(
            application(controller, tokens, self._access),
            log_level="warning",
            access_log=False,
            lifespan="off",
            limit_concurrency=_MOST_CONNECTIONS,
            http=Connection,
            timeout_keep_alive=round(HEADERS_S),
            timeout_graceful_shutdown=_END_S,
            server_header=False,
            ssl_certfile=None if listening.certificate is None else str(listening.certificate),
            ssl_keyfile=None if listening.key is None else str(listening.key),
            ssl_ca_certs=None if listening.client_authority is None else str(listening.client_authority),
            ssl_cert_reqs=ssl.CERT_NONE if listening.client_authority is None else ssl.CERT_REQUIRED,
        )
        try:
            config.load()
        except OSError as error:  # ssl's errors are also OSError
            raise PlanError(
                "certificate", f"cannot be used: {error}", "give PEM files of a certificate and its key"
            ) from error
        self._certificates = _read(listening)
        self._server = uvicorn.Server(config)
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._grpc: GrpcServer | None = None
        self._gnmi: GnmiServer | None = None

    @property
    def grpc_location(self) -> str | None:
        """Address for gRPC clients."""
        return None if self._grpc is None else self._grpc.location

    @property
    def gnmi_location(self) -> str | None:
        """Address for gNMI clients."""
        return None if self._gnmi is None else self._gnmi.location

    @property
    def url(self) -> str:
        """For clients."""
        assert self._socket is not None, "the address exists only while it serves"
        host, port = self._socket.getsockname()[:2]
        scheme = "http" if self._listening.certificate is None else "https"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    @property
    def page(self) -> str:
        """Address for a browser, with the key without which the page is read-only; clients with tokens need no key."""
        return self.url if self._listening.tokens is not None else f"{self.url}/?key={self._access.key}"

    def __enter__(self) -> Self:
        listening = self._listening
        try:
            family = socket.AF_INET6 if ":" in listening.address else socket.AF_INET
            self._socket = socket.create_server((listening.address, listening.http_port), family=family)
        except OSError as error:
            where = f"{listening.address} port {listening.http_port}"
            reason = os.strerror(error.errno or 0)  # Python's own repeats the address
            raise EngineError(f"http_port: cannot listen on {where}: {reason}; choose another") from error
        try:
            self._settled()
        except BaseException:
            self._socket.close()
            raise
        try:
            self._listen_for_calls()
        except (KeisokuError, ModuleNotFoundError):
            self._close_calls()
            self._socket.close()
            raise
        sockets = [self._socket]
        self._thread = threading.Thread(target=self._server.run, args=(sockets,), name="keisoku-http", daemon=True)
        self._thread.start()
        return self

    def _listen_for_calls(self) -> None:
        listening = self._listening
        if listening.grpc_port is not None:
            from keisoku.faces.otg.serving.grpc_service import GrpcServer  # it loads slowly

            self._grpc = GrpcServer(self._controller, listening.address, listening.grpc_port)
        if listening.gnmi_port is not None:
            from keisoku.faces.otg.serving.gnmi_service import GnmiServer  # it needs a package that not everybody has
            from keisoku.faces.otg.serving.grpc_listening import Certificates

            certificates = None if self._certificates is None else Certificates(*self._certificates)
            where = listening.address, listening.gnmi_port
            self._gnmi = GnmiServer(self._controller, *where, certificates, self._tokens)

    def _close_calls(self) -> None:
        for server in (self._gnmi, self._grpc):
            if server is not None:
                server.close()

    def wait(self) -> None:
        """Until the server ends, or KeyboardInterrupt."""
        # Python 3.11 takes a thread for ended when a signal interrupts `join`, and its socket would be closed under it.
        while self._thread is not None and self._thread.is_alive():
            time.sleep(_LOOK_S)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._close_calls()
        if self._thread is not None:
            self._thread.join()
        if self._socket is not None:
            self._socket.close()
        self._controller.close()


def _read(listening: Listening) -> tuple[bytes, bytes, bytes | None] | None:
    """Certificate, key and authorities, as long as this process may read them; None without TLS."""
    if listening.certificate is None or listening.key is None:
        return None
    authority = listening.client_authority
    texts = [read_text("certificate", path) for path in (listening.certificate, listening.key)]
    clients = None if authority is None else read_text("client_ca", authority).encode()
    return texts[0].encode(), texts[1].encode(), clients


def _tokens(path: Path | None) -> Tokens | None:
    if path is None:
        return None
    text = read_text("tokens", path)
    if path.stat().st_mode & 0o077:
        raise PlanError("tokens", f"other users may read {path}", f"chmod 600 {path}")
    return Tokens.parse(text)
