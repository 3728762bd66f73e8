"""Questions to the kernel over netlink (netlink(7)), where only an answer is read.

The library pyroute2, which changes interfaces for us, takes longer to load than a list of interfaces to print.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from struct import Struct

# include/uapi/linux/netlink.h
_HEADER = Struct("=IHHII")
_ATTRIBUTE = Struct("=HH")
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE = 2, 3
_KIND_MASK = 0x3FFF
_MOST_BYTES = 1 << 18


def ask(family: int, kind: int, body: bytes) -> bytes:
    """The one answer to a request, without its header. Raises OSError if the kernel refuses."""
    return next(_answers(family, kind, body, _REQUEST))


def dump(family: int, kind: int, body: bytes) -> list[bytes]:
    """Every entry of one of the kernel's tables, without headers. Raises OSError if the kernel refuses."""
    return list(_answers(family, kind, body, _REQUEST | _DUMP))


def attributes(data: bytes) -> dict[int, bytes]:
    """The values of attributes by their kind."""
    found, at = {}, 0
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < _ATTRIBUTE.size:
            break
        found[kind & _KIND_MASK] = data[at + _ATTRIBUTE.size : at + length]
        at += _padded(length)
    return found


def attribute(kind: int, value: bytes) -> bytes:
    """An attribute of a request."""
    length = _ATTRIBUTE.size + len(value)
    return _ATTRIBUTE.pack(length, kind) + value.ljust(_padded(length) - _ATTRIBUTE.size, b"\0")


def number(value: bytes | None) -> int:
    """An unsigned number of any length in the host's order of bytes; an absent one is 0."""
    return int.from_bytes(value or b"", sys.byteorder)


def _answers(family: int, kind: int, body: bytes, flags: int) -> Iterator[bytes]:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, family) as kernel:
        kernel.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body)
        while True:
            data, at = kernel.recv(_MOST_BYTES), 0
            while at < len(data):
                length, answer, *_ = _HEADER.unpack_from(data, at)
                content = data[at + _HEADER.size : at + length]
                at += _padded(length)
                if answer == _DONE:
                    return
                if answer == _ERROR:
                    code = -int.from_bytes(content[:4], sys.byteorder, signed=True)
                    raise OSError(code, os.strerror(code))
                yield content


def _padded(length: int) -> int:
    return (length + 3) & ~3
