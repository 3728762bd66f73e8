"""`CrossTraffic`: what other hosts must send over one hop of a path, and what they actually sent. It sends nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keisoku.errors import PlanError
from keisoku.ground.statistics.seed import DEFAULT

CrossKind = Literal["constant", "poisson", "tcp"]
MOST_PACKETS_PER_SECOND = 100_000
CrossDirection = Literal["forward", "reverse"]


@dataclass(frozen=True)
class CrossTraffic:
    """Traffic between two additional hosts, one on each side of hop `hop` (from 1), so that it crosses no other hop.

    `share` is the part of the hop's rate that it offers, on the line (with the hop's overhead). `constant` and
    `poisson` are UDP packets of `sizes_bytes` (IP bytes, drawn evenly) from a seed; `tcp` is one connection of the two
    kernels, paced to its share, or greedy at 1.
    """

    hop: int
    kind: CrossKind = "poisson"
    share: float = 0.5
    way: CrossDirection = "forward"
    sizes_bytes: tuple[int, ...] = (1000,)
    seed: int = DEFAULT

    def check(self, hops: int, mtu: int) -> None:
        """Raise PlanError if there is no such hop among so many, or its MTU is too small."""
        if not 1 <= self.hop <= hops:
            raise PlanError("cross", f"there is no hop {self.hop}", f"give 1 to {hops}")
        if not 0 < self.share <= 2 or (self.kind == "tcp" and self.share > 1):
            raise PlanError("cross", f"a share of {self.share} cannot be offered", "give up to 1, or up to 2 for UDP")
        if not self.sizes_bytes or min(self.sizes_bytes) < 28 or max(self.sizes_bytes) > mtu:
            raise PlanError("cross", f"packets of {self.sizes_bytes} bytes cannot be sent", f"give 28 to {mtu}")

    def check_rate(self, rate_bps: int, overhead_bytes: int) -> None:
        """Raise PlanError if its share of such a line is more UDP packets than the links' thread can send."""
        rate = self.packets_per_second(rate_bps, overhead_bytes)
        if self.kind != "tcp" and rate > MOST_PACKETS_PER_SECOND:
            problem = f"{rate:.0f} packets/s are more than can be sent"
            raise PlanError("cross", problem, f"choose larger packets or a share for {MOST_PACKETS_PER_SECOND} at most")

    def packets_per_second(self, rate_bps: int, overhead_bytes: int) -> float:
        """The mean rate for its share of a line."""
        mean_bytes = sum(self.sizes_bytes) / len(self.sizes_bytes)
        return self.share * rate_bps / (8 * (mean_bytes + overhead_bytes))


@dataclass(frozen=True)
class CrossTruth:
    """What one cross traffic did. TCP counts no packets, but the bytes of its stream."""

    traffic: CrossTraffic
    sent_packets: int | None
    sent_bytes: int
    received_packets: int | None
    received_bytes: int
    skipped_packets: int = 0
    """Packets that were due while the host was stopped, and that were not sent."""
