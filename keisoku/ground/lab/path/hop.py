"""`Hop`: one link of a path, as a plain value. It builds nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keisoku.errors import PlanError

QUEUE_BYTES = 150_000
"""Default queue in each direction: a hundred full frames."""
LEAST_MTU, MOST_MTU = 576, 9100
"""RFC 791: every host takes 576 bytes; 9100 is the jumbo frame of the studies."""
MOST_BPS = 100_000_000_000
MOST = 1_000_000_000_000
"""Upper limit of other values, in ns or bytes: the links count picoseconds in 64 bits."""

Discipline = Literal["tbf", "htb"]
Aqm = Literal["none", "codel", "pie"]
"""What drops packets of a queue before it is full (RFC 8289, RFC 8033)."""


@dataclass(frozen=True)
class Hop:
    """A link between two nodes of a path, that sends a packet of L bytes in 8·(L + overhead)/C.

    `forward_bps` is the rate away from the tester, `reverse_bps` that back (as forward if None). `stages` are the rates
    of further store-and-forward lines hidden in the hop, in both directions, as layer-2 switches are. `overhead_bytes`
    count on the line in addition to the IP packet. The queue drops packets for which it has no room, and those that
    `aqm` chooses. `jitter_ns` is the maximum of a uniform random delay; `loss` the share of packets that are lost.

    With `bucket_bytes` the hop is not such a link, but a veth pair with a token bucket of the kernel (`discipline`) of
    that burst at either end, which a single packet passes without delay.
    """

    forward_bps: int
    reverse_bps: int | None = None
    propagation_ns: int = 0
    queue_bytes: int = QUEUE_BYTES
    stages: tuple[int, ...] = ()
    overhead_bytes: int = 0
    jitter_ns: int = 0
    loss: float = 0.0
    mtu: int = 1500
    bucket_bytes: int | None = None
    discipline: Discipline = "tbf"
    aqm: Aqm = "none"

    @property
    def rates_bps(self) -> tuple[int, int]:
        """Rates of the line: forward, reverse."""
        return self.forward_bps, self.forward_bps if self.reverse_bps is None else self.reverse_bps

    def check(self, number: int) -> None:
        """Raise PlanError, naming the hop by its number from 1, if it is invalid."""
        where = f"hop {number}"
        for rate in (*self.rates_bps, *self.stages):
            if not 1000 <= rate <= MOST_BPS:
                raise PlanError(where, f"a line cannot have {rate} bit/s", "give 1k to 100G")
        if not LEAST_MTU <= self.mtu <= MOST_MTU:
            raise PlanError(where, f"an MTU of {self.mtu} bytes cannot be set", f"give {LEAST_MTU} to {MOST_MTU}")
        if not 0 <= self.loss <= 1:
            raise PlanError(where, f"{self.loss} is no share of packets", "give a loss from 0 to 1")
        counts = (self.propagation_ns, self.queue_bytes, self.overhead_bytes, self.jitter_ns)
        if not 0 <= min(counts) <= max(counts) <= MOST:
            raise PlanError(where, "a delay, a queue or an overhead is out of range", f"give 0 to {MOST:.0e}")
        if self.bucket_bytes is not None:
            self._check_bucket(where, self.bucket_bytes)

    def _check_bucket(self, where: str, bucket_bytes: int) -> None:
        if (
            self.stages
            or self.propagation_ns
            or self.jitter_ns
            or self.loss
            or self.overhead_bytes
            or self.aqm != "none"
        ):
            raise PlanError(where, "a token bucket has a rate, a burst and a queue only", "leave out the rest")
        if bucket_bytes < self.mtu + 14:
            problem = f"a bucket of {bucket_bytes} bytes never has enough tokens for a packet of {self.mtu}"
            raise PlanError(where, problem, f"give {self.mtu + 14} bytes or more")
