"""What a one-packet measurement is told, with its limits."""

from __future__ import annotations

from pydantic import Field

from keisoku.run.settings import RunSettings, argument


class OnePacketSettings(RunSettings):
    """Of one measurement."""

    host: str = argument()
    """Name or IPv4 address of the host at the end of the path; HOST@NAMESPACE measures from a namespace."""
    precision_percent: float = Field(5.0, gt=0, le=100)
    """Precision at which a hop is done: half the width of its 95 % interval, as a share of every slope of it."""
    budget_s: float = Field(600.0, gt=0)
    """Time after which no more probes are sent, done or not."""
    repetitions: int = Field(8, ge=4)
    """Least number of probes of each size; with fewer than 8 a single delayed minimum can move a slope."""
    max_hops: int = Field(30, ge=1, le=64)
    """Longest path that is followed."""
    port: int = Field(33435, ge=1, le=65534)
    """UDP port of the host at which nobody listens."""
    timeout_s: float = Field(1.0, gt=0, le=60)
    """Time to wait for the first reply of a hop; then three times its longest round trip, at least 0.1 s."""
    trains: int = Field(5, ge=0, le=20)
    """Back-to-back trains to each hop; 0: hidden stages and token buckets are not looked for."""
