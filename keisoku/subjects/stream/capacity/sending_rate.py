"""Sending rates of UDPSTP: how datagrams of the load leave (RFC 9946, sending rate structure)."""

from __future__ import annotations

import random
from dataclasses import dataclass

UDP_BYTES, IPV4_BYTES, IPV6_BYTES = 8, 20, 40
IP_BYTES = UDP_BYTES + IPV4_BYTES
"""By which a row's payloads are shorter than its packets; a sender over IPv6 shortens them by the difference."""
RANDOM = 0x80000000
"""Bit of a payload: a random length up to the rest."""
LONGEST = 9000 - IP_BYTES
"""Payload of the longest datagram of any row."""
_FAST_US = 100
_MOST_BURST = 100


@dataclass(frozen=True)
class SendingRate:
    """Two transmitters with an interval each, after which a burst of datagrams leaves; the second adds one of its own
    length. A transmitter with interval 0 sends nothing."""

    interval1_us: int = 0
    payload1: int = 0
    burst1: int = 0
    interval2_us: int = 0
    payload2: int = 0
    burst2: int = 0
    addon2: int = 0

    @property
    def bps(self) -> float:
        """The rate of IPv4 packets in bit/s, with the mean of random lengths."""
        found = 0.0
        if self.interval1_us:
            found += self.burst1 * _packet(self.payload1) / self.interval1_us
        if self.interval2_us:
            found += (self.burst2 * _packet(self.payload2) + _packet(self.addon2)) / self.interval2_us
        return 8e6 * found

    @property
    def possible(self) -> bool:
        """Whether a sender may take it from the far end: nothing longer or more often than UDPSTP has it."""
        intervals = (self.interval1_us, self.interval2_us)
        return (
            all(one == 0 or one >= _FAST_US for one in intervals)
            and all(one & ~RANDOM <= LONGEST for one in (self.payload1, self.payload2, self.addon2))
            and max(self.burst1, self.burst2) <= _MOST_BURST
        )


def length(payload: int, least: int, shorter: int, chance: random.Random) -> int:
    """Bytes of a datagram of a row's `payload`, of at least `least`; `shorter`: what IPv6's header has more."""
    longest = max((payload & ~RANDOM) - shorter, least)
    return chance.randint(least, longest) if payload & RANDOM else longest


def _packet(payload: int) -> float:
    """Bytes of an IPv4 packet; 0 if there is none."""
    if not payload:
        return 0.0
    longest = payload & ~RANDOM
    return IP_BYTES + (longest / 2 if payload & RANDOM else longest)
