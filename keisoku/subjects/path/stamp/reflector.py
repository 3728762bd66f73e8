"""`keisoku path reflect`: a stateless STAMP session-reflector (RFC 8762 §4.3) with the kernel's stamps.

It answers each packet with one of the same length to where it came from, and keeps no state.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from keisoku._core import StampedSocket
from keisoku.ground.host.place import Place
from keisoku.subjects.path.stamp.clock_state import error_estimate
from keisoku.subjects.path.stamp.packet import StampFormatError, reflect

TTL = 255
"""RFC 8762 §4.2.1, so that hops can be counted."""
_LAGS = 64
_ENOUGH_LAGS = 16
"""Number of lags whose minimum is used: a transmit time later than the real one would make a delay negative."""
_ESTIMATE_S = 1.0


class Reflector:
    """Listens from the moment it is made, and answers only `peer`, if it is given. Raises EngineError if it cannot."""

    def __init__(self, place: Place, port: int, key: bytes | None = None, peer: str | None = None) -> None:
        self._peer = peer
        self._socket = StampedSocket("udp", (place.host, port), namespace=place.path)
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

        An answer must hold its transmit time, which the kernel tells only afterwards. So the least lag of earlier
        answers, from the program's reading to the kernel's timestamp, is added; no answer leaves before that.
        """
        lags: deque[int] = deque(maxlen=_LAGS)
        estimate, until_s = error_estimate(), time.monotonic() + _ESTIMATE_S
        while not self._stopped.is_set():
            packets, _ = self._socket.receive(time.monotonic_ns() + 100_000_000)
            if time.monotonic() > until_s:
                estimate, until_s = error_estimate(), time.monotonic() + _ESTIMATE_S
            for packet in packets:
                if packet.source is None or self._peer not in (None, packet.source[0]):
                    continue
                received_ns = packet.kernel_ns or packet.realtime_ns
                lag_ns = min(lags) if len(lags) >= _ENOUGH_LAGS else 0
                now_ns = time.time_ns()
                try:
                    answer = reflect(packet.data, received_ns, now_ns + lag_ns, packet.ttl or 0, estimate, self._key)
                except StampFormatError:
                    self.refused += 1
                    continue
                (sent,) = self._socket.send([(answer, packet.source, TTL)], 1_000_000)
                self.reflected += sent.error is None
                if sent.kernel_ns:
                    lags.append(sent.kernel_ns - now_ns)

    def stop(self) -> None:
        """Ends `serve` within 100 ms."""
        self._stopped.set()
