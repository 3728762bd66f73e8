"""The closed loop over a whole system: finds a limit, holds it, detects that the load has changed, and starts over.

A generator as a search is: it yields a `Command`, is sent the `Observation` of the interval that followed, and never
ends by itself. It does no I/O and reads no clock; it never commands a limit below the candidates' floor. The
safe state is no limit at all, which the caller restores whatever happens.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from keisoku.errors import PlanError
from keisoku.system.govern.change_watch import ALARM, ChangeWatch
from keisoku.system.govern.inference import Inference, Inferred
from keisoku.system.govern.seen_load import SeenLoad, rates, seen_load
from keisoku.system.objective import Goal, Objective
from keisoku.system.observation import Observation
from keisoku.system.search.candidate import Candidates, Limit
from keisoku.system.search.evaluation import Evaluation
from keisoku.system.search.reach import within_reach
from keisoku.system.search.search import LimitFound, SearchSettings, limit_search
from keisoku.system.state import State

PATIENCE = 1.5
"""Factor by which the next change must be larger after one that left the best limit the same, against hunting."""
MOST_PATIENT = 5.0
MEMORY = 64
"""Loads that are remembered, the latest."""
ELSE = 0.1
"""Natural logarithm by which a client's rate must differ from that seen under a limit, for its load to count as changed
before the limit was held."""


class Phase(StrEnum):
    """What a command is for."""

    SEARCH = "search"
    LOOK = "look"
    """No limit, to observe the present load."""
    HOLD = "hold"


@dataclass(frozen=True)
class Command:
    """A limit to set at the governed port until the next command (None: none), and why, in words."""

    limit: Limit
    phase: Phase
    why: str
    states: Mapping[str, Inferred] = field(default_factory=dict)
    """What the governor believes to bound each client, from the last observation."""


@dataclass(frozen=True)
class GovernorSettings:
    """How much a search may cost and how long things take to settle, in intervals."""

    search: SearchSettings = field(default_factory=lambda: SearchSettings(budget=16, first=6, blocks=3))
    settle: int = 1
    """Intervals after each change of the limit that are left out."""
    look: int = 3
    """Without a limit, to recognise a load, before a search and after it."""

    def __post_init__(self) -> None:
        if self.settle < 0 or self.look < 2:
            raise PlanError(
                "look", f"{self.look} intervals cannot distinguish a load from noise", "two at least, settle 0 or more"
            )


Governor = Generator[Command, Observation, None]


@dataclass(frozen=True)
class _Searched:
    """What is remembered of a load."""

    load: SeenLoad
    """Without a limit."""
    limit: Limit
    """That was found best."""
    under: SeenLoad
    """The load under it."""


def govern(
    objective: Objective, candidates: Candidates, settings: GovernorSettings, ports: Collection[str] = ()
) -> Governor:
    """Governs the ports towards these clients without end, all with one limit.

    Without their names, limits are searched up to line rate, even if the ports carry less. Raises PlanError where
    the objective cannot be scored.
    """
    inference = Inference()
    loop = _loop(objective, candidates, settings, inference, ports)
    command = next(loop)
    while True:
        observation = yield replace(command, states=inference.clients)
        inference.observe(observation)
        command = loop.send(observation)


def _loop(
    objective: Objective,
    candidates: Candidates,
    settings: GovernorSettings,
    inference: Inference,
    ports: Collection[str],
) -> Generator[Command, Observation, None]:
    """Observes, searches if that may help, and holds until something changes; repeats that."""
    seen: list[_Searched] = []
    current: _Searched | None = None
    latest: SeenLoad | None = None
    held: Limit = None
    alarm, searches = ALARM, 0
    why = "this system has not been observed yet"
    while True:
        shown = yield from _look(settings, why)
        load = seen_load(shown)
        known = next((one for one in reversed(seen) if one.load.alike(load)), None)
        under = load
        if _content(inference, objective, shown):
            limit, reason = None, f"a limit could only reduce rates: {inference.whole.why}"
            alarm = min(MOST_PATIENT * ALARM, PATIENCE * alarm) if limit == held else ALARM
        elif known is None:
            searches += 1
            reach = within_reach(candidates, shown, ports)
            found, after, under = yield from _search(objective, reach, settings, searches, why)
            if not after.alike(load):
                why = "the load changed during the search"
                continue
            known = _Searched(load, found.limit, under)
            seen = [*seen[1 - MEMORY :], known]
            limit, reason, alarm = found.limit, _reason(found), ALARM
        else:
            limit, reason = known.limit, "the load is one that was searched before"
            # After a false alarm the load that was seen last is the expected one.
            under = latest if known is current and latest is not None else known.under
            alarm = min(MOST_PATIENT * ALARM, PATIENCE * alarm) if limit == held else ALARM
        held, current = limit, known
        why, latest = yield from _hold(objective, settings, Command(limit, Phase.HOLD, reason), alarm, under)


def _look(settings: GovernorSettings, why: str) -> Generator[Command, Observation, list[Observation]]:
    """The observations without a limit."""
    shown = []
    for interval in range(settings.settle + settings.look):
        observation = yield Command(None, Phase.LOOK, why)
        if interval >= settings.settle:
            shown.append(observation)
    return shown


def _content(inference: Inference, objective: Objective, shown: list[Observation]) -> bool:
    """True if no client is limited by a shared resource: then no limit can raise any rate."""
    if not inference.learnt or objective.goal is Goal.WORST_P99:
        return False
    kept = all(margin >= 0 for observation in shown for margin in objective.margins(observation))
    return kept and inference.whole.state in (State.IDLE, State.CLIENT_BOUND)


def _search(
    objective: Objective, candidates: Candidates, settings: GovernorSettings, number: int, why: str
) -> Generator[Command, Observation, tuple[LimitFound, SeenLoad, SeenLoad]]:
    """A whole search, each evaluation one interval after the limit has settled; the load after it, and under the limit
    that was found."""
    plan = settings.search
    search = limit_search(candidates, replace(plan, seed=plan.seed + number))
    asked: Evaluation = next(search)
    before: Limit = None
    shown: dict[Limit, list[Observation]] = {}
    while True:
        command = Command(asked.limit, Phase.SEARCH, f"{asked.purpose}: {why}")
        for _ in range(settings.settle if asked.limit != before else 0):
            yield command
        observation = yield command
        before = asked.limit
        shown.setdefault(before, []).append(observation)
        try:
            asked = search.send(objective.score(observation))
        except StopIteration as end:
            found: LimitFound = end.value
            break
    if found.gain is None:
        load = seen_load((yield from _look(settings, "was the load the same during the search?")))
        return found, load, load
    # The confirmation went back to no limit in each of its blocks, the last two of which show the load as well as
    # another look would; and to the candidate.
    return found, seen_load(shown[None][-4:]), seen_load(shown[found.limit][-4:])


def _hold(
    objective: Objective, settings: GovernorSettings, command: Command, alarm: float, expected: SeenLoad
) -> Generator[Command, Observation, tuple[str, SeenLoad | None]]:
    """Holds a limit until something has changed; what that was, in words, and the load that was seen last.

    If the load changed just before or after this began, all observations agree but are of a load that was not searched.
    Therefore they are compared with the expected load, some intervals at a time, until the watch has a reference.
    """
    for _ in range(settings.settle):
        yield command
    watch: ChangeWatch | None = None
    latest: list[Observation] = []
    told = 0
    while True:
        observation = yield command
        latest, told = [*latest, observation][-settings.look :], told + 1
        if watch is None:
            watch = ChangeWatch(["the objective", *(client.name for client in observation.clients)], alarm=alarm)
        changed = watch.tell([objective.score(observation), *rates(observation)])
        if not changed and told <= watch.reference and told % settings.look == 0:
            least = ELSE * alarm / ALARM
            changed = None if seen_load(latest).alike(expected, least) else "the load"
        if changed:
            return f"{changed} has changed", seen_load(latest) if len(latest) > 1 else None


def _reason(found: LimitFound) -> str:
    if found.gain is None:
        return f"no limit was the best of {len(found.evaluations)} evaluations"
    bound = f"{100 * math.expm1(found.gain.lower):+.1f} %"
    if found.limit is None:
        return f"the best limit may gain nothing: {found.gain.percent:+.1f} %, lower 95 % bound {bound}"
    return f"it gains {found.gain.percent:+.1f} %, lower 95 % bound {bound}"
