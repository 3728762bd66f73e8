"""Settings of a packet-pair measurement, with their limits."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.host.two_ended.control import PORT
from keisoku.ground.run.settings import RunSettings, argument
from keisoku.subjects.path.time_source import Source

SWEEP_SIZES = (1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 9100)
"""IP bytes of a jumbo frame, as Kitaguchi et al. (2002) used it."""


class PacketPairSettings(RunSettings):
    """Settings of one measurement between two ends."""

    host: str = argument()
    """Name or address of the other end, where 'keisoku path serve' runs; HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP port of the other end."""
    pairs: int = Field(50, ge=10, le=10_000)
    """Number of pairs at the beginning; it is doubled until two successive values agree."""
    most_pairs: int = Field(1600, ge=10, le=10_000)
    """Greatest number of pairs of one packet size."""
    sweep_pairs: int = Field(30, ge=10, le=10_000)
    """Number of pairs of each packet size in the sweep, which goes up to the path's MTU."""
    stamps: Source = "kernel"
    """Source of the timestamps that are analysed; the run keeps those of all sources."""
    one_packet_bps: float | None = Field(None, gt=0)
    """Rate of the narrow link by 'keisoku path one-packet', with which hidden stages of layer 2 are found."""
