"""Two PTP ports, a moment, and what a master announces: the same in every test."""

from __future__ import annotations

from keisoku.subjects.clock.reference.ptp.message import Announced, PortIdentity

MASTER = PortIdentity(bytes.fromhex("001b19fffe0a0b0c"), 0x1234)
OURS = PortIdentity(bytes.fromhex("a1a2a3a4a5a6a7a8"), 1)
NOW = 1_795_000_000_123_456_789
"""In ns since 1970; no round number in any unit."""


def announced(utc_offset_s: int = 37, clock_class: int = 6) -> Announced:
    """By a grandmaster that is synchronised to GNSS (IEEE 1588-2019, 7.6.2)."""
    return Announced(utc_offset_s, clock_class, 0x21, 0x4E5D, MASTER.clock, 0, 0x20)
