"""What each client gets under the limit that was found, and without one: a total may be best where one gets nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics.uncertainty import half_width_of_sum
from keisoku.subjects.system.interval_log import KeptInterval
from keisoku.subjects.system.search.asking import SearchResult
from keisoku.subjects.system.search.search import LimitFound

STARVED = 0.25
"""Share of what a client gets without a limit below which it counts as starved, if it is surely below twice that."""


@dataclass(frozen=True)
class ClientShare:
    """Rates of one client in bit/s, one for each evaluation that confirmed."""

    name: str
    without: tuple[float, ...]
    under: tuple[float, ...]

    @property
    def share(self) -> float | None:
        """Of what it gets without a limit; None if that is nothing."""
        return float(np.mean(self.under) / np.mean(self.without)) if any(self.without) else None

    @property
    def error(self) -> float:
        """Half the width of the share's interval of 95 % (Welch), to the first order; 0: not known."""
        if len(self.under) < 2 or len(self.without) < 2 or not self.share:
            return 0.0
        under, without = float(np.mean(self.under)), float(np.mean(self.without))
        return self.share * half_width_of_sum((self.under, self.without), (1 / under, 1 / without))

    @property
    def starved(self) -> bool:
        """Whether the limit takes most from it."""
        return self.share is not None and self.share < STARVED and self.share + self.error < 2 * STARVED


def shares(evaluations: Sequence[KeptInterval], answer: SearchResult | None) -> list[ClientShare]:
    """Of every client, from the evaluations that confirmed the answer; none without such an answer."""
    if not isinstance(answer, LimitFound) or answer.gain is None:
        return []
    confirming = [kept for kept in evaluations if kept.purpose == "confirm"][-4 * answer.gain.blocks :]
    compared = [kept for kept in evaluations if kept.purpose == "compare"]
    without = [kept for kept in confirming if kept.commanded_bps is None]
    under = [kept for kept in [*confirming, *compared] if _is(kept.commanded_bps, answer.candidate)]
    names = [client.name for client in without[0].observation.clients]
    return [ClientShare(name, _rates(without, at), _rates(under, at)) for at, name in enumerate(names)]


def _rates(kept: Sequence[KeptInterval], at: int) -> tuple[float, ...]:
    observations = [one.observation for one in kept]
    return tuple(8 * one.clients[at].sent_bytes / one.seconds for one in observations)


def _is(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) < 1e-6 * other
