"""What a one-packet measurement is told, with its limits. It is kept as the run's settings.toml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class OnePacketSettings(BaseModel):
    """Of one measurement."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str
    """Name or IPv4 address."""
    precision: float = Field(0.05, gt=0, le=1)
    """A hop is done when the half-width of its 95 % interval is this share of every slope of it."""
    budget_s: float = Field(600.0, gt=0)
    """Seconds after which no more probes are sent, done or not."""
    repeats: int = Field(8, ge=4)
    """Of each size, at least; fewer than 8 let a single delayed minimum move a slope."""
    hops: int = Field(30, ge=1, le=64)
    """Longest path that is followed."""
    port: int = Field(33435, ge=1, le=65534)
    """UDP port at the host, which nobody should listen on."""
    timeout_s: float = Field(1.0, gt=0, le=60)
    """How long to wait for a reply before its hop is known; then three times its longest round trip, at least 0.1 s."""
    trains: int = Field(5, ge=0, le=20)
    """Back-to-back trains to each hop; 0: hidden stages and token buckets are not looked for."""
