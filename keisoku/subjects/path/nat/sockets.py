"""`NatProbing`: a look at a NAT on real sockets, on a thread of its own while other things are measured."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

from keisoku.ground.host.address import family, socket_address
from keisoku.ground.host.place import Place
from keisoku.subjects.path.nat.message import Address
from keisoku.subjects.path.nat.near import NearEnd
from keisoku.subjects.path.nat.observation import Observation

_WAKE_S = 0.1
_SETTLE_S = 2.0
"""What else is measured waits no longer than this."""
_END_S = 2.0
_BUFFER_BYTES = 64
_MOST_AT_ONCE = 64
"""Datagrams that are read from one socket before another has its turn."""


class SocketWire:
    """Sockets at an address of the calling thread's namespace."""

    def __init__(self, local: str) -> None:
        self._local = local
        self._selector = selectors.DefaultSelector()
        self._sockets: dict[int, socket.socket] = {}

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def open(self, binding: int) -> Address:
        """Raises OSError if the host has no port left."""
        made = socket.socket(family(self._local), socket.SOCK_DGRAM)
        self._sockets[binding] = made
        made.setblocking(False)
        made.bind(socket_address(self._local, 0))
        self._selector.register(made, selectors.EVENT_READ, binding)
        return self._local.partition("%")[0], int(made.getsockname()[1])

    def send(self, binding: int, to: Address, data: bytes) -> None:
        """What the kernel refuses now is lost, like what the path drops."""
        with contextlib.suppress(OSError):
            self._sockets[binding].sendto(data, socket_address(*to))

    def close(self, binding: int) -> None:
        """Closes the socket."""
        made = self._sockets.pop(binding, None)
        if made is not None:
            with contextlib.suppress(KeyError):
                self._selector.unregister(made)
            made.close()

    def close_all(self) -> None:
        """Closes every socket."""
        for binding in list(self._sockets):
            self.close(binding)
        self._selector.close()

    def arrived(self, wait_s: float) -> list[tuple[int, bytes]]:
        """Binding and content of what arrives; returns as soon as anything does."""
        found = []
        for key, _ in self._selector.select(wait_s):
            for _ in range(_MOST_AT_ONCE):
                try:
                    found.append((key.data, self._sockets[key.data].recv(_BUFFER_BYTES)))
                except OSError:
                    break
        return found


class NatProbing:
    """Begins when it is made, for `longest_s`; it has to be stopped."""

    def __init__(self, place: Place, local: str, remote: str, told: Mapping[str, Any], longest_s: float) -> None:
        """`local`, `remote`: addresses of both ends; `told` is what the far end says of itself (`NatResponder.at`).

        Raises KeyError, TypeError or ValueError if it is something else.
        """
        addresses = [remote, *([str(told["other"])] if told["other"] else [])]
        self._far = [(address, int(port)) for address in addresses for port in told["ports"]]
        self._token, self._longest_s, self._local = int(told["token"]), longest_s, local
        self._rows: list[Observation] = []
        self._lock = threading.Lock()
        self._settled, self._finishing, self._stopped = (threading.Event() for _ in range(3))
        self.failure: OSError | None = None
        """What ended it early."""
        self._thread = threading.Thread(target=lambda: place.inside(self._run), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it at once."""
        self._stopped.set()
        self._thread.join()

    def settle(self) -> None:
        """Waits until all but the timeouts is known, after which a few datagrams are sent each second."""
        self._settled.wait(_SETTLE_S)

    def wait(self) -> None:
        """Until it ends by itself."""
        self._thread.join()

    def finish(self) -> None:
        """Tries what is idle now, and waits for the end."""
        self._finishing.set()
        self._thread.join(_END_S)

    def drain(self) -> list[Observation]:
        """What was seen since the last call."""
        with self._lock:
            found, self._rows = self._rows, []
        return found

    def _run(self) -> None:
        wire = SocketWire(self._local)
        try:
            end = NearEnd(wire, self._token, self._far, round(self._longest_s * 1e9))
            while not self._stopped.is_set() and not end.is_over:
                if self._finishing.is_set():
                    end.finish()
                wait_s = (end.step() - wire.now_ns()) / 1e9
                for binding, data in wire.arrived(min(max(wait_s, 0.0), _WAKE_S)):
                    end.receive(binding, data)
                with self._lock:
                    self._rows += end.rows
                end.rows.clear()
                if end.is_settled:
                    self._settled.set()
        except OSError as error:
            self.failure = error
        finally:
            self._settled.set()
            wire.close_all()
