"""What a limit may cost at worst, before it was ever set: its clients get no more than the limit, and nobody gets more.

It predicts no gain; whether there is one is what a search is for.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from keisoku.subjects.system.objective import Objective
from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.search.candidate import Limit

SHAPING = 0.05
"""Share that any limit may cost, as shaping takes time of a processor."""


def expected_losses(
    limits: Sequence[Limit], objective: Objective, shown: Sequence[Observation], ports: Collection[str]
) -> list[float]:
    """For each limit of these clients' ports (none named: all), the share of the objective that it may cost.

    `shown` are intervals without a limit.
    """
    return [
        0.0 if limit is None else float(np.mean([_loss(limit, objective, at, ports) for at in shown]))
        for limit in limits
    ]


def _loss(limit: float, objective: Objective, at: Observation, ports: Collection[str]) -> float:
    clients = tuple(_under(limit, one, at.seconds) if not ports or one.name in ports else one for one in at.clients)
    lost = objective.score(at) - objective.score(replace(at, clients=clients))
    return min(1.0, SHAPING + max(0.0, -math.expm1(-lost)))


def _under(limit: float, client: ClientView, seconds: float) -> ClientView:
    share = min(1.0, limit * seconds / max(1.0, 8.0 * client.sent_bytes))
    return replace(
        client,
        sent_bytes=round(client.sent_bytes * share),
        completed=round(client.completed * share),
        p99_s=None if client.p99_s is None else client.p99_s / share,
    )
