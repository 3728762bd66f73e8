"""The closed loop over a whole system: finds a limit, holds it, detects that the load has changed, and starts over.

A generator as a search is: it yields a `Command`, is sent the `Observation` of the interval that followed, and never
ends by itself. It does no I/O and reads no clock; it never commands a limit below the candidates' floor. The
safe state is no limit at all, which the caller restores whatever happens.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from keisoku.errors import PlanError
from keisoku.ground.statistics.seed import mixed
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.system.govern.change_watch import ALARM, ChangeWatch
from keisoku.subjects.system.govern.cost_account import SHARE, WINDOW_S, CostAccount
from keisoku.subjects.system.govern.expected_loss import expected_losses
from keisoku.subjects.system.govern.inference import Inference, Inferred
from keisoku.subjects.system.govern.seen_load import SeenLoad, changed, rates, scatter, seen_load
from keisoku.subjects.system.objective import Goal, Objective
from keisoku.subjects.system.observation import Observation
from keisoku.subjects.system.search.candidate import Candidates, Limit
from keisoku.subjects.system.search.evaluation import PURPOSES, Evaluation
from keisoku.subjects.system.search.reach import within_reach
from keisoku.subjects.system.search.search import LimitFound, SearchSettings, limit_search
from keisoku.subjects.system.state import State

PATIENCE = 1.5
"""Factor by which the next change must be larger after one that left the best limit the same, against hunting."""
MOST_PATIENT = 5.0
MEMORY = 64
"""Loads that are remembered, the latest."""
LATE = 10
"""Intervals before a change is noticed whose cost is counted by the load that is there afterwards."""
ELSE = 0.1
"""Natural logarithm by which a client's rate must differ from that seen under a limit, for its load to count as changed
before the limit was held."""


class Phase(StrEnum):
    """What a command is for."""

    SEARCH = "search"
    LOOK = "look"
    """No limit, to observe the present load."""
    WAIT = "wait"
    """No limit, as searching has cost what it may for now."""
    HOLD = "hold"


DOING = {
    Phase.SEARCH: phrase("search"),
    Phase.LOOK: phrase("look"),
    Phase.WAIT: phrase("wait"),
    Phase.HOLD: phrase("hold"),
}
"""Phases in words for a reader."""


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

    search: SearchSettings = field(
        default_factory=lambda: SearchSettings(budget=16, first=6, blocks=3, most_blocks=24, settles=(1,), compared=0)
    )
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
    scatter: tuple[float, ...] = ()
    """Standard deviations of the objective and of each client's rate without a limit, throughout the search."""


def govern(
    objective: Objective, candidates: Candidates, settings: GovernorSettings, ports: Collection[str] = ()
) -> Governor:
    """Governs the ports towards these clients without end, all with one limit.

    Without their names, limits are searched up to line rate, even if the ports carry less. Raises PlanError where
    the objective cannot be scored.
    """
    inference, account = Inference(), CostAccount()
    loop = _loop(objective, candidates, settings, inference, ports, account)
    command = next(loop)
    while True:
        observation = yield replace(command, states=inference.clients)
        inference.observe(observation)
        account.passed(observation.passed_s)
        command = loop.send(observation)


def _loop(
    objective: Objective,
    candidates: Candidates,
    settings: GovernorSettings,
    inference: Inference,
    ports: Collection[str],
    account: CostAccount,
) -> Generator[Command, Observation, None]:
    """Observes, searches if that may help, and holds until something changes; repeats that."""
    seen: list[_Searched] = []
    current: _Searched | None = None
    latest: SeenLoad | None = None
    held: Limit = None
    last: list[Observation] = []
    alarm, searches = ALARM, 0
    why = phrase("this system has not been observed yet")
    while True:
        shown = yield from _look(settings, why)
        load = seen_load(shown)
        # A limit may have been held still when the load had become the one that is shown now.
        account.charge(_lost_s(objective, last if held is not None else [], shown))
        known = next((one for one in reversed(seen) if one.load.alike(load)), None)
        under, sds = load, () if known is None else known.scatter
        if _content(inference, objective, shown):
            limit, reason = None, phrase("a limit could only reduce rates: {why}", why=inference.whole.why)
            alarm = min(MOST_PATIENT * ALARM, PATIENCE * alarm) if limit == held else ALARM
        elif known is None:
            searches += 1
            reach = within_reach(candidates, shown, ports)
            search = _Search(objective, settings, shown, ports, account, why)
            found, known = yield from search.run(reach, searches)
            if known is None:
                why = search.changed
                last, held = [], None
                continue
            seen = [*seen[1 - MEMORY :], known]
            limit, reason, alarm = known.limit, _reason(found), ALARM
            under, sds = known.under, known.scatter
        else:
            limit, reason = known.limit, phrase("the load is one that was searched before")
            # After a false alarm the load that was seen last is the expected one.
            under = latest if known is current and latest is not None else known.under
            alarm = min(MOST_PATIENT * ALARM, PATIENCE * alarm) if limit == held else ALARM
        held, current = limit, known
        hold = Command(limit, Phase.HOLD, reason)
        why, latest, last = yield from _hold(objective, settings, hold, alarm, under, sds)


def _lost_s(objective: Objective, under: Sequence[Observation], none: Sequence[Observation]) -> float:
    """Seconds of the figure that these intervals lost against intervals without a limit.

    Not below zero: a gain, which may be chance, pays for nothing. What was lost is a part of the mean figure; the mean
    of its logarithms is far below that where a client is answered about once in an interval.
    """
    scores = [objective.score(at) for at in none]
    best = max(scores)
    level = best + math.log(sum(math.exp(score - best) for score in scores) / len(scores))
    return max(0.0, sum(at.passed_s * -math.expm1(objective.score(at) - level) for at in under))


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


class _Search:
    """One search: each evaluation one interval after the limit has settled, and none before it may be paid for."""

    def __init__(
        self,
        objective: Objective,
        settings: GovernorSettings,
        shown: list[Observation],
        ports: Collection[str],
        account: CostAccount,
        why: str,
    ) -> None:
        self._objective, self._settings, self._ports, self._account, self._why = (
            objective,
            settings,
            ports,
            account,
            why,
        )
        self._shown = shown
        self._none = list(shown)
        """All observations without a limit, in order."""
        self._each_s = (settings.settle + 1) * sum(at.passed_s for at in shown) / len(shown)
        self.changed = phrase("the load changed during the search")
        """When the load changed, if it did."""

    def run(
        self, candidates: Candidates, number: int
    ) -> Generator[Command, Observation, tuple[LimitFound | None, _Searched | None]]:
        """What was found, and what is to be remembered; None if the load changed meanwhile."""
        plan = self._settings.search
        losses = expected_losses(candidates.limits, self._objective, self._shown, self._ports)
        space = _affordable(candidates, losses, self._account.most_s / self._each_s)
        if space is None:
            return None, self._remembered(None, self._none)
        losses = expected_losses(space.limits, self._objective, self._shown, self._ports)
        cost = dict(zip(space.limits, losses, strict=True))
        search = limit_search(space, replace(plan, seed=mixed(plan.seed, number)), losses)
        asked: Evaluation = next(search)
        before: Limit = None
        under: dict[Limit, list[Observation]] = {}
        confirmed = 0
        while True:
            while not self._account.allows(cost[asked.limit] * self._each_s):
                before = None
                if (yield from self._wait()):
                    self.changed = phrase("the load changed while the search waited")
                    return None, None
            observation = yield from self._evaluate(asked, before)
            before = asked.limit
            under.setdefault(before, []).append(observation)
            confirmed += asked.purpose == "confirm"
            # What a gain is undecided by may be that the load has changed.
            if confirmed >= 4 * plan.blocks and confirmed % 4 == 0 and changed(self._none):
                return None, None
            try:
                asked = search.send(self._objective.score(observation))
            except StopIteration as end:
                found: LimitFound = end.value
                break
        if found.gain is None:
            self._none += yield from _look(self._settings, phrase("was the load the same during the search?"))
        if changed(self._none):
            return found, None
        return found, self._remembered(found.limit, under.get(found.limit, self._none)[-4:])

    def _remembered(self, limit: Limit, under: list[Observation]) -> _Searched:
        rows = [[self._objective.score(at), *rates(at)] for at in self._none]
        sds, looks = tuple(scatter(rows)), self._settings.look
        load, held = seen_load(self._none[-4:]), seen_load(under if len(under) > 1 else self._none[-4:])
        return _Searched(load.scattering(sds[1:], looks), limit, held.scattering(sds[1:], looks), sds)

    def _evaluate(self, asked: Evaluation, before: Limit) -> Generator[Command, Observation, Observation]:
        command = Command(asked.limit, Phase.SEARCH, join_texts(": ", [PURPOSES[asked.purpose], self._why]))
        shown = []
        for _ in range((self._settings.settle if asked.limit != before else 0) + 1):
            shown.append((yield command))
        if asked.limit is None:
            self._none.append(shown[-1])
        else:
            self._account.charge(_lost_s(self._objective, shown, self._none[-4:]))
        return shown[-1]

    def _wait(self) -> Generator[Command, Observation, bool]:
        """Some intervals without a limit; True if they show another load."""
        why = phrase(
            "searching has cost {percent:g} % of the last {minutes:g} min, and goes on later",
            percent=100 * SHARE,
            minutes=WINDOW_S / 60,
        )
        seen = []
        for interval in range(self._settings.settle + self._settings.look):
            observation = yield Command(None, Phase.WAIT, why)
            if interval >= self._settings.settle:
                seen.append(observation)
        self._none += seen
        return not seen_load(seen).alike(seen_load(self._shown)) and changed(self._none)


def _affordable(candidates: Candidates, losses: Sequence[float], most: float) -> Candidates | None:
    """The candidates from the lowest whose evaluation costs no more than may be spent at all; None: there are none."""
    limits = candidates.limits[:-1]
    within = [limit for limit, loss in zip(limits, losses, strict=False) if limit is not None and loss <= most]
    if not within or min(within) >= candidates.line_bps:
        return None
    return replace(candidates, floor_bps=min(within))


def _hold(
    objective: Objective,
    settings: GovernorSettings,
    command: Command,
    alarm: float,
    expected: SeenLoad,
    sds: Sequence[float] = (),
) -> Generator[Command, Observation, tuple[str, SeenLoad | None, list[Observation]]]:
    """Holds a limit until something has changed; what that was, in words, the load that was seen last, and the last
    intervals. `sds`: how the objective and each client's rate are known to scatter.

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
        latest, told = [*latest, observation][-LATE:], told + 1
        if watch is None:
            names = [phrase("the objective"), *(client.name for client in observation.clients)]
            watch = ChangeWatch(names, alarm=alarm, least=sds)
        another = watch.tell([objective.score(observation), *rates(observation)])
        if not another and told <= watch.reference and told % settings.look == 0:
            least = ELSE * alarm / ALARM
            another = None if seen_load(latest[-settings.look :]).alike(expected, least) else phrase("the load")
        if another:
            lately = latest[-settings.look :]
            return (
                phrase("{another} has changed", another=another),
                seen_load(lately) if len(lately) > 1 else None,
                latest,
            )


def _reason(found: LimitFound | None) -> str:
    if found is None:
        return phrase("no limit can be tried at a cost that is allowed: give a shorter --interval")
    if found.gain is None:
        return plural(
            "no limit was the best of {count} evaluation",
            "no limit was the best of {count} evaluations",
            count=len(found.evaluations),
        )
    bound = f"{100 * math.expm1(found.gain.lower):+.1f} %"
    if found.limit is None:
        return phrase(
            "the best limit may gain nothing: {percent:+.1f} %, lower 95 % bound {bound}",
            percent=found.gain.percent,
            bound=bound,
        )
    return phrase("it gains {percent:+.1f} %, lower 95 % bound {bound}", percent=found.gain.percent, bound=bound)
