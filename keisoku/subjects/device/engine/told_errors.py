"""`ToldErrors`: what a device says by itself, at the initiator's port, of connections that it does not take.

It is a reset of TCP, or an ICMP error, which quotes the headers of the frame. An ICMP error that quotes a whole test
frame is the core's instead: it ends with the frame's signature.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.subjects.device.engine.connecting import Errors

_ETH_P_ALL = 3
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE = 26, 33
_ROOM_BYTES = 1 << 28
_KEPT_BYTES = 128
_ETHERNET, _IPV6 = 14, 40
_ICMP_HEADER = 8
_TCP, _ICMP, _ICMPV6 = 6, 1, 58
_TYPE_IPV4, _TYPE_IPV6 = 0x0800, 0x86DD
_UNREACHABLE, _UNREACHABLE_V6 = 3, 1
_RESET = 4

_LOAD_HALF, _LOAD_BYTE, _LOAD_BYTE_X, _LENGTH_X, _EQUAL, _SET, _RETURN = 0x28, 0x30, 0x50, 0xB1, 0x15, 0x45, 0x06
_FILTER = (
    (_LOAD_HALF, 0, 0, 12),
    (_EQUAL, 0, 8, _TYPE_IPV4),
    (_LOAD_BYTE, 0, 0, 23),
    (_EQUAL, 0, 2, _ICMP),
    (_LOAD_BYTE, 0, 0, 34),
    (_EQUAL, 12, 13, _UNREACHABLE),
    (_EQUAL, 0, 12, _TCP),
    (_LENGTH_X, 0, 0, 14),
    (_LOAD_BYTE_X, 0, 0, 27),
    (_SET, 8, 9, _RESET),
    (_EQUAL, 0, 8, _TYPE_IPV6),
    (_LOAD_BYTE, 0, 0, 20),
    (_EQUAL, 0, 2, _ICMPV6),
    (_LOAD_BYTE, 0, 0, 54),
    (_EQUAL, 3, 4, _UNREACHABLE_V6),
    (_EQUAL, 0, 3, _TCP),
    (_LOAD_BYTE, 0, 0, 67),
    (_SET, 0, 1, _RESET),
    (_RETURN, 0, 0, _KEPT_BYTES),
    (_RETURN, 0, 0, 0),
)
"""The kernel's filter of packet sockets (BPF): resets of TCP and messages that a destination is unreachable."""


class ToldErrors:
    """Frames that arrive at an interface from now on; nothing is received in a thread of its own."""

    def __init__(self, interface: str, namespace: Path | None) -> None:
        """Raises OSError where packet sockets are refused."""
        self._socket = run_in_namespace(namespace, lambda: _open(interface))

    def drain(self) -> Errors:
        """The pairs of numbers of ports of all that have arrived, as the initiator sends them."""
        found: list[tuple[int, int]] = []
        with suppress(BlockingIOError):
            while True:
                if (pair := pair_told(self._socket.recv(_KEPT_BYTES))) is not None:
                    found.append(pair)
        pairs = np.array(found, np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def close(self) -> None:
        """Nothing is received afterwards."""
        self._socket.close()


def pair_told(frame: bytes) -> tuple[int, int] | None:
    """Source and destination port of the connection that a frame is about, as the initiator sends them; None if it is
    neither a reset nor an error about one."""
    with suppress(IndexError, struct.error):
        protocol, place = _behind_ip(frame, _ETHERNET)
        if protocol == _TCP:
            source, destination = struct.unpack_from("!HH", frame, place)
            return (destination, source) if frame[place + 13] & _RESET else None
        if protocol in (_ICMP, _ICMPV6):
            _, place = _behind_ip(frame, place + _ICMP_HEADER)
            source, destination = struct.unpack_from("!HH", frame, place)
            return source, destination
    return None


def _behind_ip(frame: bytes, place: int) -> tuple[int, int]:
    """The protocol that an IP header names, and where its header begins."""
    if frame[place] >> 4 == 6:
        return frame[place + 6], place + _IPV6
    return frame[place + 9], place + 4 * (frame[place] & 0xF)


def _open(interface: str) -> socket.socket:
    own = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in _FILTER))
    own.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", len(_FILTER), ctypes.addressof(program)))
    with suppress(PermissionError):
        own.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _ROOM_BYTES)
    own.bind((interface, _ETH_P_ALL))
    own.setblocking(False)
    return own
