"""`Passing`: packets that pass interfaces of the calling thread's namespace, chosen by a filter in the kernel."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Iterator, Sequence

Filter = Sequence[tuple[int, int, int, int]]
"""A program of classic BPF: code, jump if true, jump if false, operand."""

_ALL = 3
_ATTACH_FILTER, _RECEIVE_BUFFER_FORCE = 26, 33
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_BUFFER_BYTES = 1 << 22
"""For about 5000 packets between two questions."""


class Passing:
    """Of one interface, from now on. Raises OSError if it cannot be watched."""

    def __init__(self, interface: str, program: Filter) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # nothing arrives before it is bound
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, _BUFFER_BYTES)
            lines = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
            words = struct.pack("HL", len(program), ctypes.addressof(lines))
            self._socket.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, words)
            self._socket.bind((interface, _ALL))
        except BaseException:
            self.close()
            raise

    def frames(self) -> Iterator[tuple[bool, bytes]]:
        """Those since the last call, from their Ethernet header on, and whether the interface sent them."""
        while True:
            try:
                frame, (_, _, way, *_) = self._socket.recvfrom(0xFFFF)
            except BlockingIOError:
                return
            yield way == socket.PACKET_OUTGOING, frame

    def missed(self) -> bool:
        """Whether some came too fast since the last call."""
        _, dropped = struct.unpack("II", self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        return bool(dropped)

    def close(self) -> None:
        """Twice is no error."""
        self._socket.close()
