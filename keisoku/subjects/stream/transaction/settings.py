"""Settings of a measurement of transactions, with their limits. They are kept as the run's plan."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import RunSettings, argument
from keisoku.ground.statistics.seed import DEFAULT, mixed
from keisoku.subjects.stream.far_end import PORT, ToFarEnd
from keisoku.subjects.stream.transaction.trial import (
    HEAD_BYTES,
    MOST_BYTES,
    MOST_CONNECTIONS,
    MOST_DATAGRAM_BYTES,
    MOST_S,
    TransactionTrial,
    TransactionType,
)


class TransactionSettings(ToFarEnd, RunSettings):
    """Settings of one measurement of transactions between two ends."""

    kind: ClassVar[TransactionType]

    host: str = argument()
    """Name or address of the other end, where 'keisoku stream serve' runs; HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP port of the server."""
    connections: int = Field(1, ge=1, le=MOST_CONNECTIONS)
    """Number of connections, each with one transaction at a time."""
    request_bytes: int = Field(64, ge=HEAD_BYTES, le=MOST_BYTES)
    """Length of a request."""
    response_bytes: int = Field(64, ge=HEAD_BYTES, le=MOST_BYTES)
    """Length of a response."""
    rate_rps: float | None = Field(None, gt=0, le=1e6)
    """Transactions/s of all connections together, due at times of their own (open loop; default: closed loop, the next
    one after each answer)."""
    poisson: bool = False
    """Let the transactions of an open loop fall due at random, as a Poisson process."""
    duration_s: float = Field(1.0, gt=0, le=MOST_S)
    """Length of each trial."""
    repetitions: int = Field(10, ge=1, le=1000)
    """Number of trials; from 6 on, intervals hold whatever the distribution."""
    timeout_s: float = Field(5.0, gt=0, le=MOST_S)
    """Time after which a transaction without an answer, or without a free connection, has failed."""
    stamps: bool = True
    """Ask the kernels at both ends when packets leave and arrive, to tell the hosts' share from the network's."""
    seed: int = DEFAULT
    """Seed of random times."""

    @model_validator(mode="after")
    def _possible(self) -> TransactionSettings:
        longest = max(self.request_bytes, self.response_bytes)
        if self.kind == "udp-rr" and longest > MOST_DATAGRAM_BYTES:
            problem = f"a datagram of {longest} byte cannot be sent"
            raise PlanError("request", problem, f"give at most {MOST_DATAGRAM_BYTES} for request and response")
        if self.poisson and self.rate_rps is None:
            raise PlanError("poisson", "a closed loop has no times of its own", "give a rate as well")
        return self

    def trial(self, number: int) -> TransactionTrial:
        """The trial of this number, which has random times of its own."""
        names = TransactionTrial.model_fields.keys() - {"kind", "seed"}
        values = {name: getattr(self, name) for name in names}
        return TransactionTrial(kind=self.kind, seed=mixed(self.seed, number), **values)


class RrSettings(TransactionSettings):
    """Of 'stream rr'."""

    kind: ClassVar[TransactionType] = "rr"


class CrrSettings(TransactionSettings):
    """Of 'stream crr'."""

    kind: ClassVar[TransactionType] = "crr"


class UdpRrSettings(TransactionSettings):
    """Of 'stream udp-rr'."""

    kind: ClassVar[TransactionType] = "udp-rr"
