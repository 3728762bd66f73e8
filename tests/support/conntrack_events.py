"""What the kernel of a lab's device announces of its connections, read by a socket of netfilter. Needs root."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.interface import set_sysctl
from keisoku.ground.lab.device.lab import Lab

NEW, DESTROY = 1, 3
_NETFILTER, _SOL_NETLINK, _ADD_MEMBERSHIP, _RCVBUFFORCE = 12, 270, 1, 33
_MESSAGE = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_FAMILY_BYTES, _NESTED = 4, 0x3FFF
_TUPLE, _TUPLE_PROTO, _DESTINATION_PORT = 1, 2, 3
_TIMESTAMP, _STOP = 20, 2
_LEARNING_PORT = 7


class ConntrackEvents:
    """Which connections were new (`NEW`), or when they ended (`DESTROY`), since it was made."""

    def __init__(self, lab: Lab, group: int) -> None:
        def opened() -> socket.socket:
            set_sysctl("netfilter/nf_conntrack_timestamp", "1")
            own = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETFILTER)
            own.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, 1 << 30)
            own.bind((0, 0))
            own.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, group)
            own.setblocking(False)
            return own

        place = lab.ports[0].dut_namespace_path
        assert place is not None
        self._socket = run_in_namespace(place, opened)

    def take(self) -> list[int]:
        """When each connection since the last call ended, in ns of the kernel; zeros for new ones. Those of learning
        frames are left out. Raises `OSError` if the kernel had more to say than its socket holds."""
        found = list[int]()
        while True:
            try:
                part = self._socket.recv(1 << 20)
            except BlockingIOError:
                return found
            for attributes in _messages(part):
                ports = _nested(attributes.get(_TUPLE, b"")).get(_TUPLE_PROTO, b"")
                port = _nested(ports).get(_DESTINATION_PORT, b"\0\0")
                if int.from_bytes(port, "big") != _LEARNING_PORT:
                    stop = _nested(attributes.get(_TIMESTAMP, b"")).get(_STOP, bytes(8))
                    found.append(int.from_bytes(stop, "big"))

    def close(self) -> None:
        """Nothing is told afterwards."""
        self._socket.close()


@contextmanager
def announced(lab: Lab, group: int) -> Iterator[ConntrackEvents]:
    """Events of this group from now on."""
    with closing(ConntrackEvents(lab, group)) as own:
        yield own


def _messages(part: bytes) -> Iterator[dict[int, bytes]]:
    place = 0
    while place < len(part):
        length = _MESSAGE.unpack_from(part, place)[0]
        yield _nested(part[place + _MESSAGE.size + _FAMILY_BYTES : place + length])
        place += (length + 3) & ~3


def _nested(part: bytes) -> dict[int, bytes]:
    found, place = {}, 0
    while place + _ATTRIBUTE.size <= len(part):
        length, kind = _ATTRIBUTE.unpack_from(part, place)
        found[kind & _NESTED] = part[place + _ATTRIBUTE.size : place + length]
        place += max(_ATTRIBUTE.size, (length + 3) & ~3)
    return found
