"""What a packet-pair measurement is told, with its limits."""

from __future__ import annotations

from pydantic import Field

from keisoku.host.two_ended.control import PORT
from keisoku.path.time_source import Source
from keisoku.run.settings import RunSettings, argument

SWEEP_SIZES = (1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 9100)
"""IP bytes: E2's figure."""


class PacketPairSettings(RunSettings):
    """Of one measurement between two ends."""

    host: str = argument()
    """Name or address of the other end, where 'keisoku path serve' runs; HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP port of the other end."""
    pairs: int = Field(50, ge=10, le=10_000)
    """Pairs to begin with; doubled until two successive values agree."""
    most_pairs: int = Field(1600, ge=10, le=10_000)
    """Most pairs that are sent of one size."""
    sweep_pairs: int = Field(30, ge=10, le=10_000)
    """Pairs of each packet size; the sweep goes up to the path's MTU."""
    stamps: Source = "kernel"
    """Source of the stamps that count; the rows keep all."""
    one_packet_bps: float | None = Field(None, gt=0)
    """Rate of the same narrow link by 'keisoku path one-packet', by which stages of layer 2 are found."""
