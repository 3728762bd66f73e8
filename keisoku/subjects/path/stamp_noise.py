"""Noise of this host's timestamps for each source of time, measured with packets over its own loopback.

Timestamps on a link are at least as noisy. Real drivers add more (interrupts), which arrivals in
clusters show.
"""

from __future__ import annotations

import threading
import time

import numpy as np

from keisoku._core import ReceivedPacket, SentPacket, StampedSocket
from keisoku.errors import EngineError
from keisoku.subjects.path.time_source import RESOLUTION_NS, SOURCES, stamps_of

_PACKETS = 200
_BYTES, _NAME_BYTES = 1000, 4
_GAP_S = 0.0005
_SILENCE_NS = 200_000_000
_PER_QUARTILE_RANGE = 1.349
"""Of a normal distribution."""


def stamp_noise(address: str, namespace: str | None = None) -> dict[str, float]:
    """Standard deviation of one stamp in ns for each source of time; empty where there is no loopback.

    Robust: from the interquartile range of the delays, without outliers. Half of the variance is the
    sender's, and the rounding of a source is added. The
    receiver sleeps until a packet comes, as a receiver with user timestamps does.
    """
    loopback = "::1" if ":" in address else "127.0.0.1"
    try:
        sender = StampedSocket("udp", (loopback, 0), namespace=namespace)
        receiver = StampedSocket("udp", (loopback, 0), namespace=namespace)
    except EngineError:
        return {}
    received: dict[bytes, ReceivedPacket] = {}

    def listen() -> None:
        # Asleep when a packet comes, as a program is that measures: packets that already wait cost no waking.
        while len(received) < _PACKETS:
            packets, _ = receiver.receive(time.monotonic_ns() + _SILENCE_NS)
            if not packets:
                return
            received.update({packet.data[:_NAME_BYTES]: packet for packet in packets})

    listener = threading.Thread(target=listen)
    listener.start()
    sent: dict[bytes, SentPacket] = {}
    for number in range(_PACKETS):
        name = number.to_bytes(_NAME_BYTES, "big")
        (sent[name],) = sender.send([(name + bytes(_BYTES), receiver.address, None)])
        time.sleep(_GAP_S)
    listener.join()
    both = [(sent[name], received[name]) for name in sent if name in received]
    noise: dict[str, float] = {}
    for source in SOURCES:
        stamps = [(stamps_of(left, source), stamps_of(came, source)) for left, came in both]
        delays = np.array([came - left for left, came in stamps if left and came], float)
        if len(delays) >= _PACKETS // 2:
            low, high = np.quantile(delays, [0.25, 0.75])
            spread = (high - low) / _PER_QUARTILE_RANGE / np.sqrt(2)
            noise[source] = float(np.hypot(spread, RESOLUTION_NS[source] / np.sqrt(12)))
    return noise
