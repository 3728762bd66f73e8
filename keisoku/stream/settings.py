"""What a measurement of streams is told, with its limits. It is kept as the run's settings.toml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from keisoku.stream.confidence import Confidence
from keisoku.stream.factor import apply
from keisoku.stream.factorial import setups
from keisoku.stream.session import PORT
from keisoku.stream.trial import Directions, Protocol, StreamTrial

CEILING_RUNS = 5
"""Of each cell on the bare path at most: it is a limit to be told, not a result."""
MEASURED, NONE = "measured", "none"


class StreamSettings(BaseModel):
    """Of one measurement between two ends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    protocol: Protocol
    host: str
    """Name or address of the other end, where 'keisoku stream serve' runs."""
    port: int = Field(PORT, ge=1, le=65535)
    sizes: tuple[int, ...] = Field(min_length=1)
    """Bytes of a message."""
    refinements: int = Field(2, ge=0, le=5)
    """How often sizes around the best ones are added."""
    streams: int = Field(1, ge=1)
    direction: Directions = "forward"
    duration_s: float = Field(1.0, gt=0)
    warm_up_s: float = Field(0.2, ge=0)
    bps: float | None = Field(None, gt=0)
    """Of each stream."""
    factors: dict[str, list[str]] = Field(default_factory=dict)
    """Levels by name; every combination is measured."""
    level: float = Field(0.99, gt=0, lt=1)
    half_width: float = Field(0.025, gt=0)
    least_runs: int = Field(3, ge=2)
    most_runs: int = Field(30, ge=2)
    seed: int = 1
    ceiling: str = MEASURED
    """'measured' on a bare path before, 'none', or the directory of an earlier run on a bare path."""
    cross_check: bool = False
    """By iperf3 at the best size."""

    @property
    def rule(self) -> Confidence:
        """When a cell was measured often enough."""
        return Confidence(self.level, self.half_width, self.least_runs, max(self.most_runs, self.least_runs))

    @property
    def ceiling_rule(self) -> Confidence:
        """The same on the bare path."""
        most = max(min(self.most_runs, CEILING_RUNS), self.least_runs)
        return Confidence(self.level, self.half_width, self.least_runs, most)

    def setups(self) -> list[dict[str, str]]:
        """Every combination of levels; rows name them by their place here."""
        return setups(self.factors)

    def trial(self, setup: dict[str, str], message_bytes: int) -> StreamTrial:
        """Of one cell."""
        plain = StreamTrial(
            protocol=self.protocol,
            message_bytes=message_bytes,
            streams=self.streams,
            direction=self.direction,
            duration_s=self.duration_s,
            warm_up_s=self.warm_up_s,
            bps=self.bps,
        )
        return apply(plain, setup)
