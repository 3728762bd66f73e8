"""How much the stamps of this host spread by themselves, source by source: packets over its own loopback.

What a stamp adds to a measurement on a link cannot be less. Real drivers add more (interrupts), which arrivals in
clusters show.
"""

from __future__ import annotations

import time

import numpy as np

from keisoku._core import StampedSocket
from keisoku.errors import EngineError
from keisoku.path.time_source import RESOLUTION_NS, SOURCES, stamps_of

_PACKETS = 400
_PER_QUARTILE_RANGE = 1.349
"""Of a normal distribution."""


def stamp_noise(address: str, namespace: str | None = None) -> dict[str, float]:
    """Standard deviation of one stamp in ns for each source of time; empty where there is no loopback.

    Robust: a quarter of the delays' interquartile range counts, not what hold-ups add. Half of the variance is the
    sender's, and what a source rounds off is added. User stamps wait for packets as
    a program does that sleeps until one comes.
    """
    loopback = "::1" if ":" in address else "127.0.0.1"
    try:
        sender = StampedSocket("udp", (loopback, 0), namespace=namespace)
        receiver = StampedSocket("udp", (loopback, 0), namespace=namespace)
    except EngineError:
        return {}
    sent, received = [], []
    for _ in range(_PACKETS):
        (left,) = sender.send([(bytes(1000), receiver.address, None)])
        packets, _ = receiver.receive(time.monotonic_ns() + 100_000_000)
        if left.error is None and len(packets) == 1:
            sent.append(left)
            received.append(packets[0])
    noise: dict[str, float] = {}
    for source in SOURCES:
        delays = np.array(
            [
                came - left
                for left, came in (
                    (stamps_of(a, source), stamps_of(b, source)) for a, b in zip(sent, received, strict=True)
                )
                if left and came
            ],
            float,
        )
        if len(delays) >= _PACKETS // 2:
            low, high = np.quantile(delays, [0.25, 0.75])
            spread = (high - low) / _PER_QUARTILE_RANGE / np.sqrt(2)
            noise[source] = float(np.hypot(spread, RESOLUTION_NS[source] / np.sqrt(12)))
    return noise
