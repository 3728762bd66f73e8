"""Settings of a measurement of delay, with their limits."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import RunSettings, argument
from keisoku.subjects.path.stamp.packet import PORT


class DelaySettings(RunSettings):
    """Settings of one measurement. A key is never kept, only the name of its file."""

    host: str = argument()
    """Name or address of the reflector; HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """UDP port of the reflector."""
    packets: int = Field(100, ge=1, le=10_000_000)
    """Number of packets to send."""
    interval_s: float = Field(0.01, gt=0, le=3600)
    """Time from one packet to the next."""
    size_bytes: int = Field(0, ge=0, le=65_535)
    """Length of each IP packet, padded by an Extra Padding TLV (RFC 8972 §4.1); 0: the shortest that STAMP allows."""
    wait_s: float = Field(1.0, gt=0, le=60)
    """Time to wait for an answer; a packet that is answered later counts as lost."""
    ssid: int = Field(0, ge=0, le=65_535)
    """Session identifier (RFC 8972 §3); 0: none, as a reflector of RFC 8762 expects."""
    key_file: str | None = None
    """File with the key of the authenticated mode (RFC 8762 §4.4); a line end after it does not count."""
