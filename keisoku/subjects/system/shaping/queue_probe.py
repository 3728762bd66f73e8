"""`QueueProbe`: how many bytes wait in each queue of a namespace, asked of the kernel (rtnetlink) at little cost.

It is read several times a second while a system is observed, so it parses no more than it needs. It changes nothing.
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import run_in_namespace

_GET_QDISC, _NEW_QDISC, _ERROR, _DONE = 38, 36, 2, 3
_REQUEST_DUMP = 0x301
_STATS2, _QUEUE = 7, 3
_HEADER, _TC = struct.Struct("=IHHII"), struct.Struct("=BxxxiIII")
ROOT = 0xFFFFFFFF
"""The parent of a device's root qdisc."""


class QueueProbe:
    """Of one namespace (None: this one). The socket stays there, whichever thread reads."""

    def __init__(self, namespace: Path | None) -> None:
        self._socket = run_in_namespace(namespace, _open)

    def read(self) -> dict[tuple[int, int, int], int]:
        """Bytes by (interface's index, handle, parent). Raises EngineError if the kernel refuses."""
        header = _HEADER.pack(_HEADER.size + _TC.size, _GET_QDISC, _REQUEST_DUMP, 1, 0)
        self._socket.send(header + _TC.pack(0, 0, 0, 0, 0))
        found: dict[tuple[int, int, int], int] = {}
        while True:
            answer = self._socket.recv(1 << 18)
            at = 0
            while at + _HEADER.size <= len(answer):
                length, kind, *_ = _HEADER.unpack_from(answer, at)
                if kind == _DONE:
                    return found
                if kind == _ERROR or length < _HEADER.size:
                    raise EngineError("the kernel does not report its queues")
                if kind == _NEW_QDISC:
                    _, index, handle, parent, _ = _TC.unpack_from(answer, at + _HEADER.size)
                    found[index, handle, parent] = backlog(answer[at + _HEADER.size + _TC.size : at + length])
                at += length + 3 & ~3

    def close(self) -> None:
        """Closing twice is no error."""
        self._socket.close()


def backlog(attributes: bytes) -> int:
    """Bytes that wait, from a qdisc's attributes; 0 where it does not count them."""
    statistics = _attribute(attributes, _STATS2)
    queue = _attribute(statistics, _QUEUE) if statistics else None
    return int(struct.unpack_from("=II", queue)[1]) if queue and len(queue) >= 8 else 0


def _attribute(attributes: bytes, wanted: int) -> bytes | None:
    at = 0
    while at + 4 <= len(attributes):
        length, kind = struct.unpack_from("=HH", attributes, at)
        if length < 4:
            return None
        if kind & 0x3FFF == wanted:
            return attributes[at + 4 : at + length]
        at += length + 3 & ~3
    return None


def _open() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
