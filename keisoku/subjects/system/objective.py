"""What to optimise for the whole system, as one number: explicit objectives and constraints.

A score is a natural logarithm of the figure of merit, so a difference of 0.02 is a gain of 2 % whatever the objective
is, and noise in proportion to the figure is the same everywhere. It knows no search.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from keisoku.errors import PlanError
from keisoku.language import phrase
from keisoku.subjects.system.observation import ClientView, Observation

_NO_REQUEST = 0.5
_NO_BITS = 256.0
"""What stands for zero, which has no logarithm: half of a request, and half of the shortest frame (64 byte), in the
interval. Fewer are as likely as not to be seen as none, so that much less would be a figure that nothing measured."""
PENALTY = 4.0
"""By how much more a broken constraint counts than the objective, for the same factor."""


class Goal(StrEnum):
    """What is summed up, and how."""

    SUM_BYTES = "sum_bytes"
    SUM_REQUESTS = "sum_requests"
    SUM_LOGS = "sum_logs"
    """Weighted mean of the logarithms of each client's rate: proportional fairness (Kelly 1998)."""
    WORST_P99 = "worst_p99"
    """The slowest client's 99th percentile, to be minimised."""


GOALS = {
    Goal.SUM_BYTES: phrase("sum bytes"),
    Goal.SUM_REQUESTS: phrase("sum requests"),
    Goal.SUM_LOGS: phrase("sum logs"),
    Goal.WORST_P99: phrase("worst p99"),
}
"""Goals in words for a reader."""


@dataclass(frozen=True)
class Objective:
    """A goal with its weights (by client's name, 1 by default) and constraints.

    `p99_s` is a ceiling on every client's 99th percentile; `floors` are least rates in bit/s by client's name.
    """

    goal: Goal = Goal.SUM_LOGS
    weights: Mapping[str, float] = field(default_factory=dict)
    p99_s: float | None = None
    floors: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if any(weight < 0 for weight in self.weights.values()):
            raise PlanError("weights", "a weight is negative", "give zero for a client that does not count")
        if any(floor <= 0 for floor in self.floors.values()):
            raise PlanError("floors", "a floor is not above zero", "leave it out instead")
        if self.p99_s is not None and self.p99_s <= 0:
            raise PlanError("p99", "a ceiling of zero cannot be met", "give a time above zero")

    def score(self, observation: Observation) -> float:
        """The natural logarithm of the goal's figure as a ratio to its unit, less what broken constraints cost. Higher
        is better."""
        return self.merit(observation) + PENALTY * sum(min(0.0, margin) for margin in self.margins(observation))

    def merit(self, observation: Observation) -> float:
        """The goal alone. Raises PlanError if no client of the observation has a weight."""
        weighted = [(self.weights.get(client.name, 1.0), client) for client in observation.clients]
        weighted = [(weight, client) for weight, client in weighted if weight]
        if not weighted:
            raise PlanError("weights", "no client that was observed has a weight", "name one of the clients")
        seconds = observation.seconds
        if self.goal is Goal.WORST_P99:
            return -math.log(max(_p99(client, seconds) for _, client in weighted))
        if self.goal is Goal.SUM_LOGS:
            total = sum(weight for weight, _ in weighted)
            return sum(weight * math.log(_bps(client, seconds)) for weight, client in weighted) / total
        requests = self.goal is Goal.SUM_REQUESTS
        amounts = (weight * (client.completed if requests else 8 * client.sent_bytes) for weight, client in weighted)
        return math.log(max(sum(amounts), _NO_REQUEST if requests else _NO_BITS) / seconds)

    def margins(self, observation: Observation) -> list[float]:
        """By what factor (natural logarithm) each constraint is kept; negative where it is broken."""
        found = []
        for client in observation.clients:
            if self.p99_s is not None:
                found.append(math.log(self.p99_s / _p99(client, observation.seconds)))
            if floor := self.floors.get(client.name):
                found.append(math.log(_bps(client, observation.seconds) / floor))
        return found


def _bps(client: ClientView, seconds: float) -> float:
    """Above zero."""
    return max(8 * client.sent_bytes, _NO_BITS) / seconds


def _p99(client: ClientView, seconds: float) -> float:
    """In seconds. If too few connections ended, the interval is used, as open ones are at least that old."""
    return client.p99_s if client.p99_s else seconds
