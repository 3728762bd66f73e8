"""One end of a two-ended measurement: a stamped UDP socket that sends and collects trains.

The same at both ends. It sends only to the peer that it was given.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import numpy as np

from keisoku._core import StampedSocket
from keisoku.subjects.path.train.probe import (
    HELLO,
    MOST_PACKETS,
    ROW,
    Rows,
    least_ip_bytes,
    payloads,
    received_rows,
    sent_rows,
)

_LATE_S = 0.25
"""How long transmit timestamps may be late."""
APART_NS = 200_000
"""From the short packet ahead to one by itself, whose delay must not be that of the short one's handling."""
MOST_BYTES = 2_000_000
"""Bytes that a socket surely holds until they are read."""


class ProbeEnd:
    """At any free port if `port` is 0. Raises EngineError if the socket cannot be opened."""

    def __init__(self, address: str, token: bytes, namespace: str | None = None, port: int = 0) -> None:
        self._socket = StampedSocket("udp", (address, port), namespace=namespace, do_not_fragment=True)
        self._token = token
        self._of_ipv6 = ":" in address
        self._random = random.Random(token)

    @property
    def port(self) -> int:
        """The local UDP port."""
        return self._socket.address[1]

    @property
    def stamps(self) -> str:
        """The available timestamps, as text."""
        return self._socket.stamps

    @property
    def dropped(self) -> int:
        """Packets that the socket had no room for."""
        return self._socket.dropped

    def clock_steps(self) -> int:
        """How often the time of day was stepped since the socket was opened."""
        return self._socket.realtime_offset()[2]

    def send(self, peer: tuple[str, int], trains: Sequence[tuple[int, int, int]], gap_s: float) -> Rows:
        """Sends trains (number, IP bytes, packets), each packet right behind the one before, and waits a random time
        of `gap_s` on average between trains, so that nothing periodic is hit or missed each time."""
        rows: list[Rows] = []
        places: dict[int, tuple[Rows, int]] = {}
        for position, (train, ip_bytes, count) in enumerate(trains):
            if position:
                time.sleep(gap_s * self._random.uniform(0.5, 1.5))
            data = payloads(self._token, train, ip_bytes, min(count, MOST_PACKETS), self._of_ipv6)
            # A short packet goes ahead and is not evaluated: the first one after a pause finds cold caches and
            # sleeping processors on the whole path, and would be late compared with those that follow.
            data[:0] = payloads(self._token, HELLO, least_ip_bytes(self._of_ipv6), 1, self._of_ipv6)
            if count == 1:
                self._socket.send([(data.pop(0), peer, None)], 0)
                until_ns = time.monotonic_ns() + APART_NS
                while time.monotonic_ns() < until_ns:
                    pass  # a sleep would be longer, and this processor would be cold
            sent = self._socket.send([(one, peer, None) for one in data], 0)[-count:]
            rows.append(sent_rows(train, sent))
            left = [packet.id for packet in sent if packet.error is None]
            places |= {number: (rows[-1], place) for place, number in enumerate(left)}
        self._take_late(places)
        return np.concatenate(rows) if rows else np.zeros(0, ROW)

    def _take_late(self, places: dict[int, tuple[Rows, int]]) -> None:
        """A packet has its stamp when it leaves: behind a queue of this host that is long after it was sent."""
        waiting = {number for number, (rows, place) in places.items() if rows["kernel_ns"][place] == 0}
        deadline_s = time.monotonic() + _LATE_S
        while waiting and time.monotonic() < deadline_s:
            late = self._socket.late_stamps()
            for number, kernel_ns, hardware_ns in late:
                if number in waiting:
                    rows, place = places[number]
                    rows["kernel_ns"][place], rows["hardware_ns"][place] = kernel_ns or 0, hardware_ns or 0
                    waiting.discard(number)
            if not late:
                time.sleep(0.001)

    def collect(self, packets: int, wait_s: float) -> Rows:
        """Reads until so many probes came or the wait is over. Packets of others are ignored."""
        found, have = [], 0
        deadline_ns = time.monotonic_ns() + int(wait_s * 1e9)
        while True:
            arrived, _ = self._socket.receive(deadline_ns, least=max(packets - have, 1))
            rows = received_rows(self._token, arrived)
            rows = rows[rows["train"] != HELLO]
            found.append(rows)
            have += len(rows)
            if have >= packets or time.monotonic_ns() >= deadline_ns:
                return np.concatenate(found)
