"""Listens at a UDP port for what a device exports, from the first trial that asks for it to the last."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from keisoku.errors import PlanError
from keisoku.ground.frame.variants import Frames
from keisoku.ground.host.address import address_text, family, socket_address
from keisoku.ground.host.place import Place, split_port
from keisoku.ground.telemetry.flow_records import RecordReader
from keisoku.subjects.device.engine.exports import Datagram, read_exports
from keisoku.subjects.device.record.exports import Exporting, Exports
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S

FIELD = "telemetry.listen"
_ROOM_BYTES = 64 << 20
_DATAGRAM_BYTES = 1 << 16
_MOST_BYTES = 256 << 20
"""Of all datagrams of a trial: what comes after them is dropped, and counted as if the socket had no room."""
_RXQ_OVFL, _RCVBUFFORCE = 40, 33
"""Linux' SO_RXQ_OVFL and SO_RCVBUFFORCE, which Python's socket module does not name."""
_LOOK_S = 0.05


class ExportListener:
    """A thread that keeps datagrams. Between trials it still learns templates, which exporters send seldom.

    Raises PlanError if the port cannot be had.
    """

    def __init__(self, asked: Exporting, usual: str | None) -> None:
        """`usual` is where a device of the lab exports to."""
        at = asked.at or usual
        if at is None:
            problem = "it is not known where the device sends its exports"
            raise PlanError(FIELD, problem, "give an address of this host with a UDP port, such as 198.51.100.1:6343")
        text, port = split_port(FIELD, at)
        place = Place.parse(text)
        try:
            self._socket = place.inside(lambda: _opened(place.host, port))
        except OSError as error:
            problem = f"nothing can listen at {at}: {error.strerror}"
            raise PlanError(
                FIELD, problem, "give an address of this host and a port that no other program has"
            ) from error
        self._lock = threading.Lock()
        self._datagrams: list[tuple[int, str, bytes]] = []
        self._readers: dict[str, RecordReader] = {}
        self._bytes = 0
        self._dropped, self._dropped_before, self._beyond = 0, 0, 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="keisoku-exports", daemon=True)
        self._thread.start()

    def begin(self, asked: Exporting, stopped: threading.Event) -> None:
        """Keeps what comes from now on, and waits for what is exported before a load."""
        self._read([], 0)
        stopped.wait(asked.before_ns / NS_PER_S)

    def complete(
        self, asked: Exporting, facts: Facts, tables: Sequence[Frames], start_ns: int, stopped: threading.Event
    ) -> Facts:
        """Waits for what is exported afterwards: the facts with all of it since `begin`. `tables` are the frames of
        each stream; the first one was due at `start_ns` (CLOCK_MONOTONIC)."""
        stopped.wait(asked.after_ns / NS_PER_S)
        return facts.model_copy(update={"exports": self._read(tables, start_ns)})

    def close(self) -> None:
        """Ends the thread and closes the port; more than once is no error."""
        self._ends.set()
        self._thread.join()
        self._socket.close()

    def _read(self, tables: Sequence[Frames], start_ns: int) -> Exports:
        with self._lock:
            kept, self._datagrams, self._bytes = self._datagrams, [], 0
            dropped, self._dropped_before = self._dropped - self._dropped_before + self._beyond, self._dropped
            self._beyond = 0
        datagrams = (Datagram(at_ns - start_ns, address, data) for at_ns, address, data in kept)
        return read_exports(datagrams, tables, self._readers, dropped)

    def _listen(self) -> None:
        self._socket.settimeout(_LOOK_S)
        while not self._ends.is_set():
            with suppress(TimeoutError):
                data, beside, _, source = self._socket.recvmsg(_DATAGRAM_BYTES, socket.CMSG_SPACE(4))
                with self._lock:
                    if self._bytes < _MOST_BYTES:
                        self._datagrams.append((time.monotonic_ns(), address_text(source), data))
                        self._bytes += len(data)
                    else:
                        self._beyond += 1
                    for level, kind, content in beside:
                        if (level, kind) == (socket.SOL_SOCKET, _RXQ_OVFL):
                            (self._dropped,) = struct.unpack("I", content)


def _opened(host: str, port: int) -> socket.socket:
    opened = socket.socket(family(host), socket.SOCK_DGRAM)
    try:
        with suppress(PermissionError):
            opened.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, _ROOM_BYTES)
        opened.setsockopt(socket.SOL_SOCKET, _RXQ_OVFL, 1)
        opened.bind(socket_address(host, port))
    except OSError:
        opened.close()
        raise
    return opened
