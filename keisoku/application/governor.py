"""The closed loop over a whole system: finds a limit, holds it, notices that the load has changed, and looks again.

A generator as a search is: it yields a `Command`, is sent the `Observation` of the interval that followed, and never
ends by itself. It does no I/O and reads no clock; it never commands a limit below the candidates' floor; and whatever
happens to it, no limit at all is the state to go back to. Whoever carries out its commands restores that.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from keisoku.application.candidate import Candidates, Limit
from keisoku.application.change_watch import ALARM, ChangeWatch
from keisoku.application.evaluation import Evaluation
from keisoku.application.objective import LEAST, Objective
from keisoku.application.observation import Observation
from keisoku.application.search import LimitFound, SearchSettings, limit_search

ALIKE = 0.08
"""Natural logarithm by which clients' rates without a limit may differ for two loads to count as the same."""
PATIENCE = 1.5
"""How much more it takes to start a search again each time one has found what was held already."""
MOST_PATIENT = 5.0


class Phase(StrEnum):
    """What a command is for."""

    SEARCH = "search"
    LOOK = "look"
    """No limit, to see which load there is."""
    HOLD = "hold"


@dataclass(frozen=True)
class Command:
    """A limit to set at the governed port until the next command (None: none), and why, in words."""

    limit: Limit
    phase: Phase
    why: str


@dataclass(frozen=True)
class GovernorSettings:
    """How much a search may cost and how long things take to settle, in intervals."""

    search: SearchSettings = field(default_factory=lambda: SearchSettings(budget=16, first=7, blocks=3))
    settle: int = 1
    """After each change of the limit, intervals in which nothing is learnt."""
    look: int = 2
    """Without a limit, to recognise a load."""


@dataclass(frozen=True)
class _Load:
    """A load that was seen, by the clients' rates without a limit, and what was best for it."""

    rates: tuple[float, ...]
    limit: Limit


Governor = Generator[Command, Observation, None]


def govern(objective: Objective, candidates: Candidates, settings: GovernorSettings) -> Governor:
    """Governs one port for ever. Raises PlanError where the objective cannot be scored."""
    seen: list[_Load] = []
    held: Limit = None
    alarm, searches = ALARM, 0
    why = "nothing is known of this system yet"
    while True:
        rates = yield from _look(settings, why)
        known = next((load for load in seen if _alike(load.rates, rates)), None)
        if known is None:
            searches += 1
            found = yield from _search(objective, candidates, settings, searches, why)
            # What was found before under this load was found again: the watch was too nervous, not the load new.
            seen.append(_Load(rates, found.limit))
            limit, reason = found.limit, _reason(found)
            alarm = ALARM
        else:
            limit, reason = known.limit, "the load is one that was searched before"
            alarm = min(MOST_PATIENT * ALARM, PATIENCE * alarm) if limit == held else ALARM
        held = limit
        why = yield from _hold(objective, settings, limit, reason, alarm)


def _look(settings: GovernorSettings, why: str) -> Generator[Command, Observation, tuple[float, ...]]:
    """The clients' rates without a limit, in natural logarithms of requests/s."""
    rows = []
    for interval in range(settings.settle + settings.look):
        observation = yield Command(None, Phase.LOOK, why)
        if interval >= settings.settle:
            rows.append(_rates(observation))
    return tuple(np.mean(rows, axis=0).tolist())


def _search(
    objective: Objective, candidates: Candidates, settings: GovernorSettings, number: int, why: str
) -> Generator[Command, Observation, LimitFound]:
    """A whole search, each evaluation one interval after the limit has settled."""
    plan = settings.search
    search = limit_search(candidates, SearchSettings(plan.budget, plan.first, plan.blocks, plan.seed + number))
    asked: Evaluation = next(search)
    before: Limit = None
    while True:
        command = Command(asked.limit, Phase.SEARCH, f"{asked.purpose}: {why}")
        for _ in range(settings.settle if asked.limit != before else 0):
            yield command
        observation = yield command
        before = asked.limit
        try:
            asked = search.send(objective.score(observation))
        except StopIteration as end:
            found: LimitFound = end.value
            return found


def _hold(
    objective: Objective, settings: GovernorSettings, limit: Limit, reason: str, alarm: float
) -> Generator[Command, Observation, str]:
    """Holds a limit until something has changed; what that was, in words."""
    command = Command(limit, Phase.HOLD, reason)
    for _ in range(settings.settle):
        observation = yield command
    watch: ChangeWatch | None = None
    while True:
        observation = yield command
        if watch is None:
            watch = ChangeWatch(["the objective", *(client.name for client in observation.clients)], alarm=alarm)
        if changed := watch.tell([objective.score(observation), *_rates(observation)]):
            return f"{changed} is no longer what it was"


def _rates(observation: Observation) -> list[float]:
    return [math.log(max(client.completed / observation.seconds, LEAST)) for client in observation.clients]


def _alike(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    return len(first) == len(second) and float(np.max(np.abs(np.subtract(first, second)))) < ALIKE


def _reason(found: LimitFound) -> str:
    if found.gain is None:
        return f"no limit was the best of {len(found.evaluations)} evaluations"
    bound = f"{100 * math.expm1(found.gain.lower):+.1f} %"
    if found.limit is None:
        return f"the best limit may gain nothing: {found.gain.percent:+.1f} %, lower 95 % bound {bound}"
    return f"it gains {found.gain.percent:+.1f} %, lower 95 % bound {bound}"
