"""An interface is used by one process at a time: two that measure on it would count each other's frames."""

from __future__ import annotations

import errno
import socket
import struct
from contextlib import suppress
from pathlib import Path

from keisoku.ground.host.namespace import run_in_namespace


class Claim:
    """Holds an interface until it is closed, or until the process ends in whatever way.

    It is the name of a socket in the interface's network namespace (unix(7), abstract names): the kernel allows each
    name once, and frees it.
    """

    def __init__(self, interface: str, namespace: Path | None) -> None:
        """Raises InUse if another process, or another testbed of this one, holds the interface."""
        name = f"\0keisoku-port-{interface}"
        self._socket = run_in_namespace(namespace, lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            self._socket.bind(name)
            self._socket.listen(1)
        except OSError as error:
            self._socket.close()
            if error.errno != errno.EADDRINUSE:
                raise
            raise InUse(run_in_namespace(namespace, lambda: _holder(name))) from error

    def close(self) -> None:
        """Lets others use it. May be called again."""
        self._socket.close()


class InUse(Exception):
    """Another process uses the interface; `process` is its number, or 0 if it ended meanwhile."""

    def __init__(self, process: int) -> None:
        super().__init__(process)
        self.process = process


def _holder(name: str) -> int:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking, suppress(OSError):
        asking.setblocking(False)
        asking.connect(name)
        peer = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", peer)[0])
    return 0
