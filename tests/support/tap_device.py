"""A TAP device in a namespace: a network card whose other end is a file descriptor of the test.

Its driver does what drivers of cards do and a veth does not: it counts frames that an XDP program drops as dropped, and
has a ring for sent frames that can be full.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from keisoku.ground.host.namespace import run_in_namespace

_TUNSETIFF = 0x400454CA
_TAP, _NO_INFO = 0x0002, 0x1000


class TapDevice:
    """Made where the namespace at `namespace` is; gone when it is closed."""

    def __init__(self, namespace: Path, name: str) -> None:
        self.namespace, self.name = namespace, name
        self._file = run_in_namespace(namespace, self._open)

    def _open(self) -> int:
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH22x", self.name.encode(), _TAP | _NO_INFO))
        return file

    def receive(self, frame: bytes) -> None:
        """The frame arrives at the device."""
        os.write(self._file, frame)

    def sent(self) -> list[bytes]:
        """The frames that left the device and were not asked for yet."""
        frames = []
        while True:
            try:
                frames.append(os.read(self._file, 65_536))
            except BlockingIOError:
                return frames

    def close(self) -> None:
        """Removes it; may be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
