"""What the links of a path did: exact counts for each direction, read from the engine that did it."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.lab.path.cross_traffic import CrossTruth


@dataclass(frozen=True)
class DirectionTruth:
    """One direction of a hop: `in = delivered + dropped + lost + refused + held`. Bytes are of IP packets."""

    in_packets: int
    in_bytes: int
    dropped_packets: int
    dropped_bytes: int
    lost_packets: int
    lost_bytes: int
    busy_ns: int
    """Time that the line spent, or will spend, sending what came so far."""
    delivered_packets: int
    delivered_bytes: int
    held_packets: int
    refused_packets: int
    late_packets: int
    """Delivered more than 20 µs after their time: the host was too busy to tell the truth."""
    max_late_ns: int

    @property
    def adds_up(self) -> bool:
        """Every packet that came is accounted for."""
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
    """Since the links began."""
    hops: tuple[HopTruth, ...]
    cross: tuple[CrossTruth, ...]
