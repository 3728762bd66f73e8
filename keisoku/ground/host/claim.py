"""An interface is used by one process at a time: two that measure on it would count each other's frames."""

from __future__ import annotations

import errno
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Self

from keisoku.ground.host.namespace import run_in_namespace

_QUESTIONS = socket.SOMAXCONN
"""How many others can be told who holds it: nobody takes their connections, from which they read that."""


class Claim:
    """Holds an interface until all that share it have closed it, or until the process ends in whatever way.

    It is the name of a socket in the interface's network namespace (unix(7), abstract names): the kernel allows each
    name once, and frees it.
    """

    def __init__(self, interface: str, namespace: Path | None) -> None:
        """Raises InUse if another process holds the interface, or this one does, which did not share it."""
        name = f"\0keisoku-port-{interface}"
        self._socket = run_in_namespace(namespace, lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            self._socket.bind(name)
            self._socket.listen(_QUESTIONS)
        except OSError as error:
            self._socket.close()
            if error.errno != errno.EADDRINUSE:
                raise
            raise InUse(interface, run_in_namespace(namespace, lambda: _holder(name))) from error
        self._holders = 1

    def shared(self) -> Self:
        """The same for one more in this process, which uses the interface once those before no longer do."""
        self._holders += 1
        return self

    def close(self) -> None:
        """Ends the use by one of those that share it; by the last of them, others can."""
        self._holders -= 1
        if not self._holders:
            self._socket.close()


class InUse(Exception):
    """Why an interface cannot be claimed, as a clause: another keisoku uses it, with its process if that is known."""

    def __init__(self, interface: str, process: int) -> None:
        super().__init__(f"{interface} is used by another keisoku" + (f" (process {process})" if process else ""))


def _holder(name: str) -> int:
    """The number of the process; 0 if it ended meanwhile, or belongs to another namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking, suppress(OSError):
        asking.setblocking(False)
        asking.connect(name)
        peer = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", peer)[0])
    return 0
