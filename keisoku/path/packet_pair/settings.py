"""What a packet-pair measurement is told, with its limits. It is kept as the run's settings.toml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from keisoku.host.two_ended.control import PORT
from keisoku.path.time_source import Source

SWEEP_SIZES = (1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 9100)
"""IP bytes: E2's figure."""


class PacketPairSettings(BaseModel):
    """Of one measurement between two ends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str
    """Name or address of the other end, where 'keisoku path serve' runs."""
    port: int = Field(PORT, ge=1, le=65535)
    """Its TCP port."""
    pairs: int = Field(50, ge=10, le=10_000)
    """To begin with; doubled until two successive values agree."""
    most_pairs: int = Field(1600, ge=10, le=10_000)
    """Sent of one size at most."""
    sweep_pairs: int = Field(30, ge=10, le=10_000)
    """Of each packet size; the sweep goes up to the path's MTU."""
    stamps: Source = "kernel"
    """Which stamps count. All are kept."""
    one_packet_bps: float | None = Field(None, gt=0)
    """Rate of the same narrow link by the one-packet method, to find stages of layer 2 by."""
