"""Settings of a one-packet measurement, with their limits."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import RunSettings, argument


class OnePacketSettings(RunSettings):
    """Settings of one measurement."""

    host: str = argument()
    """Name or address of the host at the end of the path; HOST@NAMESPACE measures from a namespace."""
    precision_percent: float = Field(5.0, gt=0, le=100)
    """Precision at which a hop counts as measured: half the width of the 95 % interval, relative to each slope."""
    budget_s: float = Field(600.0, gt=0)
    """Time for the whole command, its start and its answer included, even if some hops lack that precision."""
    repetitions: int = Field(8, ge=4)
    """Least number of probes of each size; with fewer than 8 a single delayed minimum can move a slope."""
    max_hops: int = Field(30, ge=1, le=64)
    """Greatest number of hops of the path."""
    port: int = Field(33435, ge=1, le=65534)
    """UDP port of the host on which no program listens."""
    timeout_s: float = Field(1.0, gt=0, le=60)
    """Timeout of the first reply of a hop; later it is three times the hop's longest round trip, at least 0.1 s."""
    trains: int = Field(5, ge=0, le=20)
    """Number of back-to-back trains to each hop; 0: no search for hidden stages and token buckets."""
