"""One trial of streams, as a plain value. It is sent to the far end as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from keisoku.frozen import Frozen

Protocol = Literal["tcp", "udp"]
Direction = Literal["forward", "reverse"]
Directions = Literal["forward", "reverse", "both"]

MOST_STREAMS = 256
MOST_MESSAGE_BYTES = 1 << 26
MOST_S = 600.0
MOST_SEGMENTS = 64


class StreamTrial(Frozen):
    """`forward` is away from the tester. Every stream of a direction sends on a thread of its own."""

    protocol: Protocol
    message_bytes: int = Field(ge=1, le=MOST_MESSAGE_BYTES)
    """Bytes of one call to send; for UDP the payload of a datagram."""
    streams: int = Field(1, ge=1, le=MOST_STREAMS)
    """In each direction that is used."""
    direction: Directions = "forward"
    duration_s: float = Field(1.0, gt=0, le=MOST_S)
    """Of sending."""
    warm_up_s: float = Field(0.2, ge=0, le=MOST_S)
    """TCP: time after its first byte for which a receiver's counts are left out."""
    bps: float | None = Field(None, gt=0)
    """Rate of each stream's messages; None: as fast as possible."""
    segments: int = Field(1, ge=1, le=MOST_SEGMENTS)
    """UDP: datagrams in a call at most, which the kernel or the card segments, and the receiver takes together."""
    congestion: str | None = Field(None, max_length=15, pattern=r"[a-z0-9_]+")
    """TCP: the congestion control, None for the host's own."""
    buffer_bytes: int | None = Field(None, ge=1024, le=1 << 30)
    """Of sending and receiving sockets; TCP tunes its own if None, UDP has the most that the host allows."""
    no_delay: bool = False
    """TCP: small messages leave at once (TCP_NODELAY)."""
    segment_bytes: int | None = Field(None, ge=88, le=65_495)
    """TCP: longest segment (TCP_MAXSEG), as a smaller MTU would make it."""

    def directions(self) -> tuple[Direction, ...]:
        """Those in which streams go."""
        return ("forward", "reverse") if self.direction == "both" else (self.direction,)

    def flows(self) -> list[tuple[int, Direction]]:
        """Number and direction of every stream."""
        both = [direction for direction in self.directions() for _ in range(self.streams)]
        return list(enumerate(both))
