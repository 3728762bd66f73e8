"""Offers a model's link to other programs: on a TCP port of the loopback address, or on a pseudo-terminal.

To the host it is a board with a slow clock: virtual time passes while a client is connected. It serves one client at a
time, and listens only on this machine.
"""

from __future__ import annotations

import ipaddress
import os
import pty
import select
import socket
import threading
import tty
from collections.abc import Callable
from types import TracebackType

from keisoku.errors import PlanError
from keisoku.ground.fpga.sim import Model

_STEP_S = 20e-6
_MOST_BYTES = 65_536


class SimServer:
    """Serves `model`'s link until closed. Use it in `with`; the model must not be used otherwise meanwhile."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._descriptors: list[int] = []
        self._listener: socket.socket | None = None

    def __enter__(self) -> SimServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def listen(self, host: str = "127.0.0.1", port: int = 0) -> tuple[str, int]:
        """Starts to serve on TCP; with port 0 on a free one. Returns address and port.

        Raises PlanError if `host` is not a loopback address, or the port is in use.
        """
        if not ipaddress.ip_address("127.0.0.1" if host == "localhost" else host).is_loopback:
            raise PlanError("host", f"{host} can be reached from other machines", "use 127.0.0.1 or ::1")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            listener.close()
            raise PlanError("port", f"{port} cannot be used ({error.strerror})", "use another one, or 0") from error
        listener.listen(1)
        self._listener = listener
        self._start(lambda: self._accept(listener))
        address = listener.getsockname()
        return str(address[0]), int(address[1])

    def open_terminal(self) -> str:
        """Starts to serve on a new pseudo-terminal; returns its path, to be opened like a serial port."""
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
        self._descriptors += [ours, theirs]  # the hosts' end stays open, so that hosts may connect again
        self._start(lambda: self._exchange(ours))
        return os.ttyname(theirs)

    def wait(self) -> None:
        """Serves until interrupted."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(1.0)

    def close(self) -> None:
        """Stops serving; twice is no error."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _start(self, serve: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while not self._stop.is_set():
            if not select.select([listener], [], [], 0.1)[0]:
                continue
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._exchange(connection.fileno())

    def _exchange(self, descriptor: int) -> None:
        while not self._stop.is_set():
            if select.select([descriptor], [], [], 0)[0]:
                try:
                    received = os.read(descriptor, _MOST_BYTES)
                except OSError:
                    return
                if not received:
                    return
                self._model.write(received)
            answer = self._model.read(max(self._model.waiting, 1), _STEP_S)
            try:
                while answer:
                    answer = answer[os.write(descriptor, answer) :]
            except OSError:
                return
