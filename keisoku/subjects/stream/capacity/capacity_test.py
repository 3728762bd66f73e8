"""What a client saw of a test of capacity: each status, with what its own end had to do. Plain values."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.subjects.stream.capacity.pdu import Activation, Status


@dataclass(frozen=True)
class ObservedStatus:
    """A status, and what this end had to do until then."""

    at_ns: int
    """Since the test began."""
    status: Status
    waited_ns: int
    missed_ns: int
    unsent: int
    sent: int
    """Datagrams of the load that this end sent; 0 where the far end sends."""
    dropped: int
    """Datagrams of the load for which this host's socket had no room; 0 where the far end receives."""


@dataclass(frozen=True)
class CapacityTest:
    """A test that is over."""

    parameters: Activation
    """As the server changed them."""
    seen: list[ObservedStatus]
    ipv6: bool
    silent: bool
    """Nothing came from the far end any more."""
