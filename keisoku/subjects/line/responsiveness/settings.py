"""Settings of a measurement of responsiveness, with their limits. They are kept as the run's plan."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import RunSettings, argument
from keisoku.subjects.stream.far_end import PORT, ToFarEnd


class ResponsivenessSettings(ToFarEnd, RunSettings):
    """Settings of one measurement."""

    host: str = argument()
    """Name or address of the other end, where 'keisoku stream serve' runs; HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP port of the server."""
    streams: int = Field(4, ge=1, le=64)
    """Number of TCP flows that load each direction."""
    congestion: str | None = Field("cubic", max_length=15, pattern=r"[a-z0-9_]+")
    """Congestion control of these flows at both ends. Only one that fills queues until they drop shows what a queue
    does about it."""
    ramp_s: float = Field(2.0, ge=0.1, le=60)
    """Time for a load to fill the path, of which no figure is made."""
    duration_s: float = Field(2.0, ge=0.1, le=30)
    """Time of probing in each condition, after the ramp."""
    repetitions: int = Field(6, ge=1, le=1000)
    """Number of rounds through all conditions; from 6 on, intervals hold whatever the distribution."""
    overload: bool = True
    """Fill the queue of each direction by UDP above its rate as well, for the queue's length and kind."""
    max_hops: int = Field(30, ge=0, le=64)
    """Greatest number of hops that are probed for the place of the queue; 0: none."""
    hop_port: int = Field(33435, ge=1, le=65534)
    """UDP port of the host on which no program listens, for the probes of hops."""
