"""Sending rates of UDPSTP: how datagrams of the load leave (RFC 9946, sending rate structure), and a table of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

UDP_BYTES, IPV4_BYTES, IPV6_BYTES = 8, 20, 40
IP_BYTES = UDP_BYTES + IPV4_BYTES
"""By which a row's payloads are shorter than its packets; a sender over IPv6 shortens them by the difference."""
RANDOM = 0x80000000
"""Bit of a payload: a random length up to the rest."""
PACKET_BYTES, TRADITIONAL_PACKET_BYTES = 1250, 1500
LONGEST = 9000 - IP_BYTES
"""Payload of the longest datagram of any row."""
HIGH_SPEED = 1000
"""The row from which on the search takes single rows; row n below it is n Mb/s of IP."""
_FAST_US, _SLOW_US, _IDLE_US = 100, 1000, 50_000
_MOST_BURST = 100
_FAST_ROWS = 90
"""Above `HIGH_SPEED`, up to the longest burst that a row may have."""


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


@cache
def table(packet_bytes: int = PACKET_BYTES) -> Sequence[SendingRate]:
    """Rows in ascending order: 0 tries the path with a datagram now and then, row n up to 1000 is n Mb/s of packets of
    that length, and each further row has one datagram each 100 µs more."""
    payload = packet_bytes - IP_BYTES
    rows = [SendingRate(interval2_us=_IDLE_US, addon2=payload | RANDOM)]
    for mbps in range(1, HIGH_SPEED + 1):
        # 1 Mb/s is 125 byte in 1 ms.
        fast, rest = divmod(mbps * 125, 10 * packet_bytes)
        slow, rest = divmod(rest, packet_bytes)
        # An addon cannot be shorter than headers, nor is one of the table: 1 Mb/s is 97 byte of payload.
        rows.append(
            SendingRate(
                interval1_us=_FAST_US if fast else 0,
                payload1=payload if fast else 0,
                burst1=fast,
                interval2_us=_SLOW_US if slow or rest else 0,
                payload2=payload if slow else 0,
                burst2=slow,
                addon2=rest - IP_BYTES if rest else 0,
            )
        )
    most = HIGH_SPEED * 125 // (10 * packet_bytes)
    rows += [SendingRate(_FAST_US, payload, most + more) for more in range(1, _FAST_ROWS + 1)]
    return tuple(rows)


def _packet(payload: int) -> float:
    """Bytes of an IPv4 packet; 0 if there is none."""
    if not payload:
        return 0.0
    longest = payload & ~RANDOM
    return IP_BYTES + (longest / 2 if payload & RANDOM else longest)
