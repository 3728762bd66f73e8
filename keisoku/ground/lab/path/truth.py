"""What the links of a path did: exact counts for each direction, read from their engine."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.ground.lab.path.cross_traffic import CrossTruth


@dataclass(frozen=True)
class DirectionTruth:
    """One direction of a hop: `in = delivered + dropped + lost + refused + held`. Bytes are of IP packets."""

    in_packets: int
    in_bytes: int
    dropped_packets: int
    dropped_bytes: int
    lost_packets: int
    lost_bytes: int
    marked_packets: int
    """They arrived with CE."""
    busy_ns: int
    """Time that the line needs to send all packets that have arrived so far."""
    delivered_packets: int
    delivered_bytes: int
    held_packets: int
    refused_packets: int
    late_packets: int
    """Packets delivered more than 20 µs late: the host was too busy, and the path's truth does not hold for them."""
    max_late_ns: int

    @property
    def adds_up(self) -> bool:
        """True if every packet that arrived is accounted for."""
        went = self.delivered_packets + self.dropped_packets + self.lost_packets
        return self.in_packets == went + self.refused_packets + self.held_packets


@dataclass(frozen=True)
class BucketTruth:
    """One direction of a token bucket, as the kernel counts: frames, with their Ethernet header."""

    sent_packets: int
    sent_bytes: int
    dropped_packets: int


@dataclass(frozen=True)
class HopTruth:
    """Both directions of a hop."""

    forward: DirectionTruth | BucketTruth
    reverse: DirectionTruth | BucketTruth


@dataclass(frozen=True)
class PathTruth:
    """The whole path at one moment."""

    elapsed_ns: int
    """Time since the links began."""
    hops: tuple[HopTruth, ...]
    cross: tuple[CrossTruth, ...]
