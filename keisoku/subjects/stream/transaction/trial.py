"""One trial of transactions, as a plain value. It is sent to the far end as JSON."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from keisoku.frozen import Frozen
from keisoku.ground.statistics.seed import DEFAULT

TransactionType = Literal["rr", "crr", "udp-rr"]
"""TCP over kept connections, TCP with a connection for each transaction, UDP."""

HEAD_BYTES = 16
"""At the front of requests and responses: what tells that a response answers its request."""
MOST_BYTES = 1 << 20
MOST_DATAGRAM_BYTES = 65_507
"""Payload of the longest IPv4 datagram."""
MOST_CONNECTIONS = 10_000
MOST_S = 60.0
MOST_TRANSACTIONS = 1 << 21
"""In one trial: what both memory and a part of a table can hold."""


class TransactionTrial(Frozen):
    """What one trial does."""

    kind: TransactionType
    connections: int = Field(1, ge=1, le=MOST_CONNECTIONS)
    request_bytes: int = Field(64, ge=HEAD_BYTES, le=MOST_BYTES)
    response_bytes: int = Field(64, ge=HEAD_BYTES, le=MOST_BYTES)
    duration_s: float = Field(1.0, gt=0, le=MOST_S)
    """For which transactions are begun."""
    timeout_s: float = Field(5.0, gt=0, le=MOST_S)
    """After which a transaction without an answer has failed."""
    rate_rps: float | None = Field(None, gt=0, le=1e6)
    """Open loop: transactions a second; None: closed loop."""
    poisson: bool = False
    """Open loop: random gaps."""
    stamps: bool = True
    """Whether both kernels note when packets leave and arrive."""
    seed: int = DEFAULT

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.kind == "udp-rr" and max(self.request_bytes, self.response_bytes) > MOST_DATAGRAM_BYTES:
            raise ValueError(f"a datagram has at most {MOST_DATAGRAM_BYTES} byte")
        return self
