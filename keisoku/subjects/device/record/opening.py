"""What comes before the load of a trial of a stateful device: the connections that are opened, and what became of them.

RFC 9693 calls this phase 1: the initiator sends one frame of each connection, and the responder learns from where
it arrives. The load itself, phase 2, then uses these connections.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from keisoku.frozen import Frozen
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.subjects.device.record.counts import Ranges
from keisoku.subjects.device.record.event import Event

NONE = Ranges(count=0, ranges=[], complete=True)
Order = Literal["pseudorandom", "linear"]
Transport = Literal["udp", "tcp"]


class Opening(Frozen):
    """Connections that the first port opens to the second: each by one frame, with its own pair of ports."""

    connections: int = Field(ge=1)
    frames_per_second: float = Field(gt=0)
    """Connections a second."""
    source_ports: tuple[int, int]
    """The first and the last one. They change before the destination port does."""
    destination_ports: tuple[int, int]
    transport: Transport = "udp"
    """TCP's are half open: a SYN, and a SYN with ACK as the answer; but see `established_fps`."""
    order: Order = "pseudorandom"
    """RFC 9693: every pair of ports once, in a pseudorandom order or one after the other."""
    seed: int = DEFAULT
    """Of that order."""
    forget: Event | None = None
    """What makes the device forget all connections before; None: nothing does."""
    wait_ns: int = Field(0, ge=0)
    """Pause before the first connection, after the device was made to forget."""
    settle_ns: int = Field(0, ge=0)
    """Pause from the last connection to the load."""
    established_fps: float | None = Field(None, gt=0)
    """TCP's connections are established before the load: the responder answers so many a second, and the initiator
    acknowledges that at the rate at which it opened them. None: they stay as the first frame left them."""


class Pool(Frozen):
    """From where connections came as the responder saw them: the outer addresses and ports of a NAT."""

    addresses: int
    """How many different ones."""
    source_ports: int
    """How many different ones."""
    least_port: int
    most_port: int
    kept_ports: int
    """Connections whose source port was not changed."""
    shared: int
    """Connections that came from the same address and port, to the same port, as another one before."""


class Opened(Frozen):
    """What became of the connections, by their numbers: number n is the frame n of the opening."""

    refused: Ranges
    """Their frame did not arrive at the responder."""
    forgotten: Ranges
    """Their frame arrived, but an answer did not: the device has no state of them, or lost it to another one. Of those
    that were to be established, the last frame of TCP's handshake did not arrive, either."""
    reset: Ranges = NONE
    """Those among them of which the device told the initiator: by a reset of TCP, or by an ICMP error."""
    taken: Ranges = NONE
    """Those among the forgotten whose outer address and port the device gave to another one to the same port."""
    pool: Pool | None
    """None if no connection arrived."""
    forgot_ns: int | None = None
    """How long it took the device to forget all connections before; None if nothing made it."""
