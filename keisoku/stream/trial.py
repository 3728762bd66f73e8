"""One trial of streams: what both ends are to do for a while. It is sent to the far end as JSON and does nothing."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Protocol = Literal["tcp", "udp"]
Direction = Literal["forward", "reverse"]
Directions = Literal["forward", "reverse", "both"]

MOST_STREAMS = 256
MOST_MESSAGE_BYTES = 1 << 26
MOST_S = 600.0
MOST_SEGMENTS = 64


class StreamTrial(BaseModel):
    """`forward` is away from the tester. Every stream of a direction sends on a thread of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    protocol: Protocol
    message_bytes: int = Field(ge=1, le=MOST_MESSAGE_BYTES)
    """Of one call to send; of UDP a datagram's payload."""
    streams: int = Field(1, ge=1, le=MOST_STREAMS)
    """In each direction that is used."""
    direction: Directions = "forward"
    duration_s: float = Field(1.0, gt=0, le=MOST_S)
    """Of sending."""
    warm_up_s: float = Field(0.2, ge=0, le=MOST_S)
    """Of TCP: so long after its first byte a receiver's counts do not count."""
    bps: float | None = Field(None, gt=0)
    """Of each stream's messages; as fast as it goes if None."""
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
