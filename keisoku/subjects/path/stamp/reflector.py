"""`keisoku path reflect`: a stateless STAMP session-reflector (RFC 8762 §4.3) with the kernel's stamps.

It answers each packet with one of the same length to where it came from, and keeps no state.
"""

from __future__ import annotations

import threading
import time

from keisoku._core import StampedSocket
from keisoku.ground.host.place import Place
from keisoku.subjects.path.stamp.clock_state import error_estimate
from keisoku.subjects.path.stamp.packet import StampFormatError, reflect

TTL = 255
"""RFC 8762 §4.2.1, so that hops can be counted."""
_ESTIMATE_S = 1.0


class Reflector:
    """Listens from the moment it is made, and answers only `peer`, if it is given. Raises EngineError if it cannot."""

    def __init__(self, place: Place, port: int, key: bytes | None = None, peer: str | None = None) -> None:
        self._peer = peer
        self._socket = StampedSocket("udp", (place.addresses()[0], port), namespace=place.path)
        self._key = key
        self._stopped = threading.Event()
        self.reflected = 0
        self.refused = 0
        """Number of packets received that are no STAMP packets of this mode."""

    @property
    def port(self) -> int:
        """The UDP port."""
        return self._socket.address[1]

    def serve(self) -> None:
        """Answers until `stop`.

        An answer holds the time at which it is written, shortly before it leaves: what the kernel needs to send it
        counts as delay. Nothing is added for that, because an answer that needs less would leave before its time.
        """
        estimate, until_s = error_estimate(), time.monotonic() + _ESTIMATE_S
        while not self._stopped.is_set():
            packets, _ = self._socket.receive(time.monotonic_ns() + 100_000_000)
            if time.monotonic() > until_s:
                estimate, until_s = error_estimate(), time.monotonic() + _ESTIMATE_S
            for packet in packets:
                if packet.source is None or self._peer not in (None, packet.source[0]):
                    continue
                received_ns = packet.kernel_ns or packet.realtime_ns
                try:
                    answer = reflect(packet.data, received_ns, time.time_ns(), packet.ttl or 0, estimate, self._key)
                except StampFormatError:
                    self.refused += 1
                    continue
                (sent,) = self._socket.send([(answer, packet.source, TTL)], 1_000_000)
                self.reflected += sent.error is None

    def stop(self) -> None:
        """Ends `serve` within 100 ms."""
        self._stopped.set()
