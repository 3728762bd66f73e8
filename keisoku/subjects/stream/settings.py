"""Settings of a measurement of streams, with their limits. They are kept as the run's plan."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import RunSettings, argument
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.subjects.stream.confidence import Confidence
from keisoku.subjects.stream.factor import apply, check_factors
from keisoku.subjects.stream.factorial import setups
from keisoku.subjects.stream.far_end import PORT, ToFarEnd
from keisoku.subjects.stream.trial import MOST_MESSAGE_BYTES, MOST_S, MOST_STREAMS, Directions, Protocol, StreamTrial

CEILING_REPETITIONS = 5
"""Trials of each cell on the bare path at most, which gives a limit for comparison only."""
MEASURED, NONE = "measured", "none"
REFINE = 2
_WARM_UP_S, _WARM_UP_SHARE = 0.2, 0.25

MessageBytes = Annotated[int, Field(ge=1, le=MOST_MESSAGE_BYTES)]


def _ascending(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(set(sizes)))


class StreamSettings(ToFarEnd, RunSettings):
    """Settings of one measurement between two ends."""

    protocol: ClassVar[Protocol]
    sweep_factor: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Factors that a sweep compares by default."""

    host: str = argument()
    """Name or address of the other end, where 'keisoku stream serve' runs; HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP port of the server."""
    size_bytes: Annotated[tuple[MessageBytes, ...], AfterValidator(_ascending)] = ()
    """Sizes of the messages (default: a sweep)."""
    refine: int | None = Field(None, ge=0, le=5)
    """Number of times that sizes next to the best ones are added (default: 2 for a sweep, 0 for given sizes)."""
    streams: int = Field(1, ge=1, le=MOST_STREAMS)
    """Number of streams in each direction."""
    direction: Directions = "forward"
    """Direction of the streams; forward is towards the server."""
    rate_bps: float | None = Field(None, gt=0)
    """Rate of each stream, such as 500Mb/s (default: as fast as possible)."""
    duration_s: float = Field(1.0, gt=0, le=MOST_S)
    """Length of each trial."""
    factor: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Levels to compare, such as congestion=cubic,bbr; every combination of all factors is measured."""
    confidence_percent: float = Field(99.0, gt=0, lt=100)
    """Confidence level of the interval that decides how often each combination of size and factors is measured."""
    precision_percent: float = Field(2.5, gt=0)
    """Half-width of that interval, in percent of the mean, at which a combination was measured often enough."""
    repetitions: int = Field(3, ge=2, le=1000)
    """Least number of trials of each combination."""
    most_repetitions: int = Field(30, ge=2, le=1000)
    """Greatest number of trials of each combination."""
    seed: int = DEFAULT
    """Seed of the random order of trials."""
    ceiling: str = MEASURED
    """This machine's own limit: 'measured' (first, on a bare path), 'none', or the directory of an earlier run."""
    cross_check: Literal["iperf3"] | None = None
    """Program that measures the best combination once more, as a check."""

    @model_validator(mode="after")
    def _possible(self) -> StreamSettings:
        check_factors(self.factor, self.protocol)
        if "rate" in self.factor and self.rate_bps:
            raise PlanError("rate", "the factor 'rate' sets it already", "leave one of them out")
        for size in self.size_bytes:
            for setup in self.setups():
                self.trial(setup, size)
        return self

    @property
    def rule(self) -> Confidence:
        """The rule for the number of trials of a cell."""
        return self._rule(max(self.most_repetitions, self.repetitions))

    @property
    def ceiling_rule(self) -> Confidence:
        """The same on the bare path."""
        return self._rule(max(min(self.most_repetitions, CEILING_REPETITIONS), self.repetitions))

    def setups(self) -> list[dict[str, str]]:
        """Every combination of levels; rows name them by their place here."""
        return setups(self.factor)

    def trial(self, setup: dict[str, str], message_bytes: int) -> StreamTrial:
        """The trial of one cell. Raises PlanError for values that a trial cannot have."""
        plain = StreamTrial(
            protocol=self.protocol,
            message_bytes=message_bytes,
            streams=self.streams,
            direction=self.direction,
            duration_s=self.duration_s,
            warm_up_s=min(_WARM_UP_S, _WARM_UP_SHARE * self.duration_s),
            bps=self.rate_bps,
        )
        try:
            return apply(plain, setup)
        except ValueError as error:
            raise PlanError("factor", f"trial impossible: {error}", "see docs/stream.md for the limits") from error

    def _rule(self, most: int) -> Confidence:
        return Confidence(self.confidence_percent / 100, self.precision_percent / 100, self.repetitions, most)


class TcpSettings(StreamSettings):
    """Of 'stream tcp'."""

    protocol: ClassVar[Protocol] = "tcp"


class UdpSettings(StreamSettings):
    """Of 'stream udp'."""

    protocol: ClassVar[Protocol] = "udp"
    sweep_factor: ClassVar[dict[str, tuple[str, ...]]] = {"offload": ("off", "on")}
