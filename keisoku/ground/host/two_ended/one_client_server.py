"""Listens for clients over TCP and answers one at a time, as two measurements at once would disturb each other."""

from __future__ import annotations

import contextlib
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from keisoku.errors import KeisokuError
from keisoku.ground.host.address import address_text
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control

_GREETING_S = 5.0
_CHANGE_S = 1.0
"""How long a client waits for one that has just closed its connection, which the server notices a little later."""


class OneClientServer(ABC):
    """Listens from the moment it is made; `serve` answers until `stop`. Raises EngineError if it cannot listen."""

    greeting: bytes
    """The greeting of clients of this kind."""

    def __init__(self, place: Place, port: int, told: Callable[[str], None] = lambda _: None) -> None:
        self._place, self._told = place, told
        self._listener = place.listen(port)
        self._busy = threading.Lock()
        self._stopped = threading.Event()

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self._listener.getsockname()[1])

    def serve(self) -> None:
        """Answers clients, each on a thread of its own; returns after `stop`."""
        while not self._stopped.is_set():
            try:
                connection, address = self._listener.accept()
            except OSError:
                if self._stopped.is_set():
                    return
                continue
            threading.Thread(target=self._attend, args=(connection, address_text(address)), daemon=True).start()

    def stop(self) -> None:
        """Ends `serve`; may be called from any thread, or twice."""
        self._stopped.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @abstractmethod
    def _answer(self, control: Control, address: str, host: str) -> None:
        """Carries out the requests of a client at `host`, which connected to `address`, until it closes the
        connection."""

    def _attend(self, connection: socket.socket, host: str) -> None:
        control = Control(connection, host, self.greeting)
        try:
            control.greet(_GREETING_S)
            if not self._busy.acquire(timeout=_CHANGE_S):
                control.send({"error": "is measuring with another client; try again later"})
                return
            try:
                self._told(f"{host} measures")
                self._answer(control, address_text(connection.getsockname()), host)
                self._told(f"{host} is done")
            finally:
                self._busy.release()
        except (KeisokuError, OSError) as error:
            self._told(f"{host}: {error}")
        finally:
            control.close()
